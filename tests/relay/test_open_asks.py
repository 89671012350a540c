"""What a server wants to know, under keys: answers are checked for their form and handed on once."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from emceepee.errors import ClientFault
from emceepee.relay.open_asks import OpenAsks, unanswered
from emceepee.vocabulary.asks import Askable, Belonging, RaisedAsk
from emceepee.vocabulary.outcomes import Done, Failed, Outcome
from emceepee.vocabulary.profiles import KIND_OF
from emceepee.vocabulary.raw_json import read_value, to_raw
from tests.support.held_calls import ANSWERS, PARAMS


def ask(what: Askable, heard: list[Outcome]) -> RaisedAsk:
    return RaisedAsk(KIND_OF[what], what, to_raw(PARAMS[what]), Belonging("exact"), heard.append)


def test_keys_count_within_the_round_in_which_they_are_seen_first() -> None:
    asks = OpenAsks()
    keys = [asks.add(ask("form", []), shown_in) for shown_in in (1, 1, 2, 3, 3)]
    assert keys == ["a1.1", "a1.2", "a2.1", "a3.1", "a3.2"]
    assert asks.keys == tuple(keys)


def test_an_answer_passes_as_it_was_written() -> None:
    heard: list[Outcome] = []
    asks = OpenAsks()
    key = asks.add(ask("form", heard), 1)

    raw = Raw(b'{ "action":"accept",  "content":{"n":1.50} }')
    for one, outcome in asks.read({key: raw, "other": Raw(b"7")}).items():
        asks.settle(one, outcome)
    (outcome,) = heard
    assert isinstance(outcome, Done)
    assert bytes(outcome.payload.raw()) == bytes(raw)
    assert len(asks) == 0


@pytest.mark.shows("EB-C27")
@pytest.mark.parametrize(
    ("what", "answer"),
    [
        ("form", {"action": "yes"}),
        ("form", {}),
        ("form", "accept"),
        ("form", {"action": "accept", "content": 3}),
        ("sampling", {"role": "tool", "model": "m", "content": {}}),
        ("sampling", {"role": "assistant", "content": {}}),
        ("sampling", {"role": "assistant", "model": "m"}),
        ("roots", {"roots": {}}),
        ("roots", {"roots": [{"name": "x"}]}),
        ("roots", {}),
    ],
)
def test_what_is_no_answer_is_refused_and_answers_nothing(what: Askable, answer: Any) -> None:
    heard: list[Outcome] = []
    asks = OpenAsks()
    asks.add(ask("form", heard), 1)
    key = asks.add(ask(what, heard), 1)
    given = {"a1.1": to_raw(ANSWERS["elicitation"]), key: to_raw(answer)}
    with pytest.raises(ClientFault) as refused:
        asks.read(given)
    assert refused.value.code == -32602
    assert key in refused.value.message
    assert (heard, len(asks)) == ([], 2)


@pytest.mark.parametrize("what", ["form", "url", "sampling", "roots"])
def test_what_answers_it_is_taken(what: Askable) -> None:
    asks = OpenAsks()
    key = asks.add(ask(what, []), 1)
    assert list(asks.read({key: to_raw(ANSWERS[KIND_OF[what]])})) == [key]


def test_nobody_has_declined_what_nobody_answered() -> None:
    elicitation = unanswered("elicitation")
    assert isinstance(elicitation, Done)
    assert read_value(elicitation.payload.raw()) == {"action": "cancel"}
    codes = [failed.code for kind in ("sampling", "roots") if isinstance(failed := unanswered(kind), Failed)]
    assert codes == [-1, -32603]
