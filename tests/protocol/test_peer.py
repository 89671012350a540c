"""One conversation between two peers: how asks end, what is answered, and what is ignored."""

from __future__ import annotations

import tracemalloc

import pytest
from msgspec import Raw

from emceepee.framing.json_text import Limits, read_message
from emceepee.protocol.events import CancelledByPeer, Ended, Owed, ProgressFor, Refused, Stray, Told
from emceepee.protocol.messages import ErrorObject, Failure, Notification, Request, Result
from emceepee.protocol.outbound import Lost, RemoteCancelled
from emceepee.protocol.peer import Peer, PeerClosed
from tests.support.peer_pair import PeerPair

EMPTY = Raw(b"{}")


def _progress(token: str, number: int) -> Notification:
    params = f'{{"progressToken":"{token}","progress":{number}}}'
    return Notification("notifications/progress", Raw(params.encode()))


def _cancelled(identity: str) -> Notification:
    return Notification("notifications/cancelled", Raw(f'{{"requestId":{identity},"reason":"theirs"}}'.encode()))


@pytest.mark.shows("C-DISP-01", "C-DISP-09")
def test_an_ask_ends_with_the_raw_result_of_its_answer() -> None:
    pair = PeerPair()
    asked = pair.left.ask("tools/call", {"name": "echo"})
    pair.flow()
    [owed] = pair.right.heard(Owed)
    assert (owed.owed.method, bytes(owed.owed.params or b"")) == ("tools/call", b'{"name":"echo"}')
    assert pair.right.answer(owed.owed, {"content": [], "unknownToUs": {"kept": True}})
    pair.flow()
    [answer] = pair.left.endings(asked)
    assert bytes(answer.result) == b'{"content":[],"unknownToUs":{"kept":true}}'
    assert pair.left.events == [Ended(asked, answer)]
    assert len(pair.left.peer) == 0


@pytest.mark.shows("C-DISP-02", "X-BUG-65")
def test_an_error_answer_ends_the_ask_at_once_with_code_message_and_data() -> None:
    pair = PeerPair()
    asked = pair.left.ask("tools/call", deadline=60.0)
    pair.flow()
    pair.right.refuse(pair.right.heard(Owed)[0].owed, -32002, "not found", {"uri": "a:b"})
    pair.flow()
    [answer] = pair.left.endings(asked)
    assert (answer.error.code, answer.error.message) == (-32002, "not found")
    assert bytes(answer.error.data) == b'{"uri":"a:b"}'
    assert pair.left.peer.next_deadline() is None


@pytest.mark.shows("X-BUG-65")
def test_an_answer_that_cannot_be_read_still_ends_its_ask() -> None:
    peer = Peer("g-")
    malformed, ambiguous = peer.open("a", 60.0), peer.open("b", 60.0)
    message = read_message(b'{"jsonrpc":"2.0","id":"g-1","error":"it broke"}', Limits())
    [ended] = peer.receive(message)
    assert isinstance(ended, Ended)
    assert ended.asked is malformed
    with pytest.raises(ValueError, match="both") as caught:
        read_message(b'{"jsonrpc":"2.0","id":"g-2","result":{},"error":{"code":1,"message":""}}', Limits())
    [ended] = peer.receive(caught.value.as_answer())  # type: ignore[attr-defined]
    assert isinstance(ended, Ended)
    assert ended.asked is ambiguous


@pytest.mark.shows("C-DISP-03")
def test_a_notification_needs_no_answer_and_leaves_nothing_pending() -> None:
    pair = PeerPair()
    pair.left.tell("notifications/roots/list_changed")
    pair.flow()
    assert pair.right.events == [Told("notifications/roots/list_changed", pair.right.events[0].params, "right")]  # type: ignore[union-attr]
    assert len(pair.left.peer) == pair.right.peer.owing == 0


@pytest.mark.shows("C-DISP-06")
def test_an_answer_that_comes_while_the_write_is_still_going_on_is_not_lost() -> None:
    peer = Peer("g-")
    asked = peer.open("ping", None)
    [event] = peer.receive(Result(asked.id, EMPTY))
    assert isinstance(event, Ended)
    assert event.asked is asked
    peer.sent(asked)
    peer.failed_to_send(asked)
    assert peer.abandon(asked, "late") is None


@pytest.mark.shows("C-DISP-09")
def test_what_they_ask_and_what_they_answer_never_meet_even_under_equal_numbers() -> None:
    pair = PeerPair()
    ours = pair.left.ask("sampling/createMessage")
    theirs = pair.right.ask("tools/call")
    pair.flow()
    assert [type(event) for event in pair.left.events] == [Owed]
    pair.left.answer(pair.left.heard(Owed)[0].owed, {"for": "right"})
    pair.flow()
    assert pair.left.endings(ours) == []
    assert len(pair.right.endings(theirs)) == 1


@pytest.mark.shows("C-DISP-10", "C-TST-01", "C-TST-09")
def test_answers_in_another_order_each_reach_their_ask() -> None:
    pair = PeerPair()
    first, second = pair.left.ask("a"), pair.left.ask("b")
    pair.flow()
    one, two = pair.right.heard(Owed)
    pair.right.answer(two.owed, {"is": "second"})
    pair.right.answer(one.owed, {"is": "first"})
    pair.flow()
    assert [bytes(answer.result) for answer in pair.left.endings(first)] == [b'{"is":"first"}']
    assert [bytes(answer.result) for answer in pair.left.endings(second)] == [b'{"is":"second"}']


@pytest.mark.shows("C-DISP-11", "X-CON-51")
@pytest.mark.parametrize("identity", [1, "1", "g-2", "other-1", None])
def test_an_answer_to_nothing_we_asked_is_ignored_and_the_peer_stays_usable(identity: int | str | None) -> None:
    peer = Peer("g-")
    asked = peer.open("ping", None)
    [stray] = peer.receive(Failure(identity, ErrorObject(-32700, "secret text")))
    assert isinstance(stray, Stray)
    assert "secret" not in stray.detail
    [ended] = peer.receive(Result("g-1", EMPTY))
    assert isinstance(ended, Ended)
    assert ended.asked is asked


@pytest.mark.shows("C-DISP-13")
def test_a_second_answer_is_ignored() -> None:
    peer = Peer("g-")
    asked = peer.open("ping", None)
    assert isinstance(peer.receive(Result(asked.id, EMPTY))[0], Ended)
    assert isinstance(peer.receive(Result(asked.id, EMPTY))[0], Stray)
    assert isinstance(peer.receive(Failure(asked.id, ErrorObject(1, "")))[0], Stray)


@pytest.mark.shows("C-DISP-14", "C-DISP-16", "C-TST-04", "X-BUG-66")
def test_closing_ends_every_ask_once_with_the_reason() -> None:
    peer = Peer("g-")
    asks = [peer.open("x", 5.0), peer.open("y", None)]
    peer.sent(asks[0])
    assert [(ended.asked, ended.answer) for ended in peer.close("end of input")] == [
        (asks[0], Lost("end of input")),
        (asks[1], Lost("end of input")),
    ]
    assert peer.close("again") == []
    assert peer.expire(1e9) == []
    assert [peer.abandon(asked, "late") for asked in asks] == [None, None]
    assert (len(peer), peer.closed, peer.next_deadline()) == (0, True, None)


@pytest.mark.shows("C-DISP-15", "C-TST-04")
def test_nothing_can_be_asked_after_closing_and_what_still_comes_is_ignored() -> None:
    peer = Peer("g-")
    [event] = peer.receive(Request(1, "tools/call"))
    assert isinstance(event, Owed)
    peer.close("over")
    with pytest.raises(PeerClosed):
        peer.open("ping", None)
    assert peer.answer(event.owed, b"{}") is None
    for message in (Request(2, "x"), Notification("y"), Result("g-1", EMPTY), _cancelled("1")):
        assert isinstance(peer.receive(message)[0], Stray)
    assert peer.owing == 0


@pytest.mark.shows("C-DISP-17", "X-BUG-66")
def test_a_failed_write_takes_the_entry_away() -> None:
    peer = Peer("g-")
    asked = peer.open("ping", 5.0)
    peer.sent(asked)
    peer.failed_to_send(asked)
    assert (len(peer), peer.next_deadline()) == (0, None)
    assert isinstance(peer.receive(Result(asked.id, EMPTY))[0], Stray)
    assert peer.close("over") == []


@pytest.mark.shows("C-CAN-01", "C-CAN-02", "C-CAN-03", "C-TST-02", "X-CON-53")
def test_giving_up_tells_them_which_one_and_why_and_the_late_answer_is_ignored() -> None:
    pair = PeerPair()
    kept, dropped = pair.left.ask("a"), pair.left.ask("b")
    pair.flow()
    assert pair.left.abandon(dropped, "the user left")
    assert not pair.left.abandon(dropped, "twice")
    assert len(pair.left.peer) == 1
    late = pair.right.heard(Owed)[1].owed
    assert pair.right.answer(late, {"too": "late"})
    pair.flow()
    assert pair.left.endings(dropped) == []
    assert isinstance(pair.left.events[-1], Stray)
    assert '"params":{"requestId":"l-2","reason":"the user left"}' in repr(pair)
    assert not kept.ended


@pytest.mark.shows("C-CAN-01")
def test_a_cancelled_request_is_stopped_and_never_answered() -> None:
    pair = PeerPair()
    asked = pair.left.ask("tools/call")
    pair.flow()
    pair.left.abandon(asked, "the user left")
    pair.flow()
    [stopped] = pair.right.heard(CancelledByPeer)
    assert (stopped.owed.id, stopped.reason) == (asked.id, "the user left")
    assert not pair.right.answer(stopped.owed, {})
    assert not pair.right.refuse(stopped.owed, -32800, "cancelled")


@pytest.mark.shows("C-CAN-04")
def test_what_was_never_sent_is_given_up_in_silence() -> None:
    peer = Peer("g-")
    assert peer.abandon(peer.open("a", None), "x") is None
    peer.open("b", 1.0)
    [(asked, notice)] = peer.expire(1.0)
    assert (asked.method, notice) == ("b", None)
    assert len(peer) == 0


@pytest.mark.shows("X-BUG-64", "X-BUG-66")
def test_a_silent_peer_costs_a_deadline_and_is_told() -> None:
    pair = PeerPair()
    silent, patient = pair.left.ask("slow", deadline=60.0), pair.left.ask("slow", deadline=61.0)
    pair.flow()
    assert pair.left.peer.next_deadline() == 60.0
    assert pair.left.expire(60.0) == [silent]
    assert pair.left.peer.next_deadline() == 61.0
    pair.flow()
    [stopped] = pair.right.heard(CancelledByPeer)
    assert (stopped.owed.id, stopped.reason) == (silent.id, "the request timed out")
    assert not patient.ended


def test_initialize_is_given_up_without_a_cancellation() -> None:
    peer = Peer("g-")
    asked = peer.open("initialize", 1.0)
    peer.sent(asked)
    assert peer.expire(1.0) == [(asked, None)]


@pytest.mark.shows("C-CAN-05", "C-TST-03", "X-CON-52")
def test_they_may_cancel_what_we_asked_of_them() -> None:
    peer = Peer("g-")
    asked = peer.open("subscriptions/listen", None)
    assert peer.receive(_cancelled('"g-1"')) == [Ended(asked, RemoteCancelled("theirs"))]
    assert len(peer) == 0
    assert isinstance(peer.receive(Result("g-1", EMPTY))[0], Stray)


@pytest.mark.shows("X-CON-52")
def test_a_cancellation_means_their_own_request_before_any_of_ours() -> None:
    peer = Peer("g-")
    ours = peer.open("sampling/createMessage", None)
    [event] = peer.receive(Request("g-1", "tools/call"))
    assert isinstance(event, Owed)
    assert peer.receive(_cancelled('"g-1"')) == [CancelledByPeer(event.owed, "theirs")]
    assert not ours.ended


@pytest.mark.shows("X-CON-52", "X-BUG-67")
def test_their_cancelling_of_a_number_never_means_our_ask() -> None:
    peer = Peer("3")
    ours = [peer.open("a", None) for _ in range(3)]
    [event] = peer.receive(Request(31, "tools/call"))
    assert isinstance(event, Owed)
    assert [asked.id for asked in ours] == ["31", "32", "33"]
    assert peer.receive(_cancelled("31")) == [CancelledByPeer(event.owed, "theirs")]
    assert isinstance(peer.receive(_cancelled("32"))[0], Stray)
    assert not any(asked.ended for asked in ours)


@pytest.mark.shows("C-CAN-06")
@pytest.mark.parametrize("params", [Raw(b'{"requestId":"nobody"}'), Raw(b"{}"), Raw(b'{"requestId":[1]}'), None])
def test_a_cancellation_of_nothing_is_ignored(params: Raw | None) -> None:
    peer = Peer("g-")
    asked = peer.open("a", None)
    [event] = peer.receive(Notification("notifications/cancelled", params))
    assert isinstance(event, Stray)
    assert not asked.ended


def test_their_initialize_cannot_be_cancelled() -> None:
    peer = Peer("g-")
    [event] = peer.receive(Request(0, "initialize"))
    assert isinstance(event, Owed)
    assert isinstance(peer.receive(_cancelled("0"))[0], Stray)
    assert peer.answer(event.owed, b"{}") is not None


@pytest.mark.shows("C-CAN-07")
def test_progress_reaches_its_ask_and_nothing_else() -> None:
    peer = Peer("g-")
    one, two = peer.open("a", None), peer.open("b", None)
    [event] = peer.receive(_progress("g-2", 1))
    assert isinstance(event, ProgressFor)
    assert event.asked is two
    assert bytes(event.params) == b'{"progressToken":"g-2","progress":1}'
    for nobody in (_progress("g-3", 1), _progress("x", 1), Notification("notifications/progress")):
        assert peer.receive(nobody) == []
    assert peer.receive(Notification("notifications/progress", Raw(b'{"progressToken":1}'))) == []
    assert not one.ended


@pytest.mark.shows("C-CAN-07")
@pytest.mark.parametrize("ending", ["answered", "abandoned", "expired", "closed"])
def test_progress_after_the_end_is_dropped(ending: str) -> None:
    peer = Peer("g-")
    asked = peer.open("a", 1.0)
    match ending:
        case "answered":
            peer.receive(Result(asked.id, EMPTY))
        case "abandoned":
            peer.abandon(asked, "x")
        case "expired":
            peer.expire(1.0)
        case "closed":
            peer.close("x")
    assert not any(isinstance(event, ProgressFor) for event in peer.receive(_progress(asked.id, 1)))


@pytest.mark.shows("C-CAN-08")
def test_floods_leave_no_memory_behind() -> None:
    peer = Peer("g-", max_owed=50)
    waiting = peer.open("a", 1.0)

    def flood(rounds: int) -> None:
        for number in range(rounds):
            peer.receive(_progress(waiting.id, number))
            peer.receive(_progress(f"nobody-{number}", number))
            peer.receive(Result(f"nobody-{number}", EMPTY))
            peer.receive(_cancelled(f'"nobody-{number}"'))
            peer.receive(Request(number, "never answered"))

    flood(100)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    flood(2000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20_000
    assert (len(peer), peer.owing) == (1, 50)


def test_a_request_under_an_open_id_is_refused_without_naming_it_so_that_the_first_lives() -> None:
    pair = PeerPair()
    pair.right.hear(b'{"jsonrpc":"2.0","id":7,"method":"first"}\n{"jsonrpc":"2.0","id":7,"method":"second"}\n')
    [owed] = pair.right.heard(Owed)
    [refused] = pair.right.heard(Refused)
    assert refused.request.method == "second"
    reply = read_message(refused.reply, Limits())
    assert isinstance(reply, Failure)
    assert (reply.id, reply.error.code) == (None, -32600)
    assert pair.right.answer(owed.owed, {"still": "answered"})


def test_too_many_open_requests_are_refused_each_by_its_id_and_the_bound_is_named() -> None:
    peer = Peer("g-", max_owed=1)
    [owed] = peer.receive(Request(1, "a"))
    assert isinstance(owed, Owed)
    [refused] = peer.receive(Request(2, "b"))
    assert isinstance(refused, Refused)
    reply = read_message(refused.reply, Limits())
    assert isinstance(reply, Failure)
    assert (reply.id, reply.error.code) == (2, -32603)
    assert "limit is 1" in reply.error.message
    peer.answer(owed.owed, b"{}")
    assert isinstance(peer.receive(Request(2, "b"))[0], Owed)


def test_an_event_carries_where_its_message_came_from() -> None:
    peer, origin = Peer("g-"), object()
    [owed] = peer.receive(Request(1, "a"), origin)
    [told] = peer.receive(Notification("b"), origin)
    assert isinstance(owed, Owed)
    assert isinstance(told, Told)
    assert owed.owed.origin is told.origin is origin


def test_an_answer_can_be_taken_without_an_event_and_ends_its_ask_all_the_same() -> None:
    peer = Peer("g")
    asked = peer.open("tools/call", None)
    answer = Result(asked.id, Raw(b"{}"))
    assert peer.answered(answer) is asked
    assert (asked.ended, len(peer), peer.answered(answer)) == (True, 0, None)
