"""What we owe: one answer for each request, or none when it was cancelled."""

from __future__ import annotations

import pytest

from emceepee.errors import ClientFault, LimitReached
from emceepee.framing.json_text import Limits, read_message
from emceepee.protocol.inbound import Owing
from emceepee.protocol.messages import Failure, Request, Result

PING = "ping"


def test_a_request_is_answered_once_and_then_forgotten() -> None:
    owing = Owing()
    debt = owing.owed(Request(7, PING), "here")
    assert (debt.id, debt.method, debt.params, debt.origin) == (7, PING, None, "here")
    assert 7 in owing
    assert owing.answer(debt, b'{"a":1}') == b'{"jsonrpc":"2.0","id":7,"result":{"a":1}}'
    assert owing.answer(debt, b"{}") is None
    assert owing.refuse(debt, -1, "late") is None
    assert not owing.settle(debt)
    assert len(owing) == 0


def test_a_refusal_is_an_answer_too_and_carries_code_message_and_data() -> None:
    owing = Owing()
    debt = owing.owed(Request("a", PING), None)
    written = owing.refuse(debt, -32601, "no such method", {"method": PING})
    assert written is not None
    message = read_message(written, Limits())
    assert isinstance(message, Failure)
    assert (message.id, message.error.code, message.error.message) == ("a", -32601, "no such method")
    assert message.error.data is not None
    assert bytes(message.error.data) == b'{"method":"ping"}'
    assert owing.answer(debt, b"{}") is None


@pytest.mark.shows("X-BUG-67")
def test_the_number_1_and_the_text_1_are_two_requests_each_answered_with_its_own_id() -> None:
    owing = Owing()
    number, text = owing.owed(Request(1, PING), None), owing.owed(Request("1", PING), None)
    for debt, identity in ((text, "1"), (number, 1)):
        written = owing.answer(debt, b"{}")
        assert written is not None
        message = read_message(written, Limits())
        assert isinstance(message, Result)
        assert (message.id, type(message.id)) == (identity, type(identity))


def test_an_id_still_open_is_refused_and_the_first_request_is_not_harmed() -> None:
    owing = Owing()
    first = owing.owed(Request(7, PING), "first")
    with pytest.raises(ClientFault) as caught:
        owing.owed(Request(7, "other"), "second")
    assert caught.value.code == -32600
    assert len(owing) == 1
    assert owing.answer(first, b"{}") is not None


def test_an_id_may_come_again_once_its_request_is_answered() -> None:
    owing = Owing()
    owing.answer(owing.owed(Request(7, PING), None), b"{}")
    assert owing.answer(owing.owed(Request(7, PING), None), b"{}") is not None


def test_a_cancelled_request_is_handed_over_once_and_never_answered() -> None:
    owing = Owing()
    debt = owing.owed(Request(7, "tools/call"), None)
    assert owing.cancelled("7", "another type") is None
    assert owing.cancelled(7, "changed my mind") is debt
    assert owing.cancelled(7, "again") is None
    assert owing.answer(debt, b"{}") is None
    assert owing.refuse(debt, -1, "cancelled") is None
    assert len(owing) == 0


def test_a_late_answer_does_not_take_away_a_newer_request_of_the_same_id() -> None:
    owing = Owing()
    old = owing.owed(Request(7, PING), None)
    owing.cancelled(7, "")
    new = owing.owed(Request(7, PING), None)
    assert owing.answer(old, b"{}") is None
    assert 7 in owing
    assert owing.answer(new, b"{}") is not None


def test_initialize_cannot_be_cancelled() -> None:
    owing = Owing()
    debt = owing.owed(Request(0, "initialize"), None)
    assert owing.cancelled(0, "too slow") is None
    assert owing.answer(debt, b"{}") is not None


def test_open_requests_are_bounded_and_the_refusal_names_the_bound() -> None:
    owing = Owing(limit=2)
    first = owing.owed(Request(1, PING), None)
    owing.owed(Request(2, PING), None)
    with pytest.raises(LimitReached, match="open requests: the limit is 2"):
        owing.owed(Request(3, PING), None)
    owing.answer(first, b"{}")
    assert owing.owed(Request(3, PING), None).id == 3


def test_closing_hands_over_what_was_open_and_answers_nothing_more() -> None:
    owing = Owing()
    debts = [owing.owed(Request(number, PING), None) for number in range(3)]
    assert owing.close() == debts
    assert owing.close() == []
    assert [owing.answer(debt, b"{}") for debt in debts] == [None, None, None]


def test_a_caller_that_writes_its_own_response_settles_first() -> None:
    owing = Owing()
    debt = owing.owed(Request(1, PING), None)
    assert owing.settle(debt)
    assert not owing.settle(debt)
    assert repr(debt) == "Debt(1, 'ping', settled)"
