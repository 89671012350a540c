"""What servers ask: answered once, by one, or expired or rejected with both sides told."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from msgspec import Raw

from emceepee.errors import ClientFault, LimitReached
from emceepee.state.pending_requests import Ask, PendingKind, PendingRequests
from emceepee.state.settings import AskSettings
from emceepee.vocabulary.outcomes import Done, Failed, Outcome
from emceepee.vocabulary.raw_json import read_value
from tests.state.conftest import Recorded, moment
from tests.support.fake_clock import FakeClock

SCHEMA = Raw(
    b'{"message":"Which one?","requestedSchema":{"type":"object","properties":{"pick":{"type":"string"}},'
    b'"required":["pick"]}}'
)
PICKED = {"action": "accept", "content": {"pick": "a"}}
SAMPLED = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}
KINDS: list[PendingKind] = ["elicitation", "sampling"]
ANSWER: dict[PendingKind, dict[str, Any]] = {"elicitation": PICKED, "sampling": SAMPLED}


class House:
    """A table, and what servers got from it."""

    def __init__(self, clock: FakeClock, settings: AskSettings | None = None) -> None:
        self.clock = clock
        self.recorded = Recorded()
        self.asks = PendingRequests(self.recorded, settings)
        self.got: list[tuple[str, Outcome]] = []

    def ask(self, name: str = "A1", kind: PendingKind = "elicitation", server: str = "files") -> Ask:
        return self.asks.add(
            name, kind, server, SCHEMA, moment(self.clock), lambda outcome: self.got.append((name, outcome))
        )


@pytest.fixture
def house(clock: FakeClock) -> House:
    return House(clock)


@pytest.mark.shows("A-PRQ-01", "X-BUG-17", "X-PY-08")
def test_a_request_lives_ten_minutes_unless_said_otherwise(house: House, clock: FakeClock) -> None:
    assert house.ask().deadline == clock.now() + 600
    assert house.asks.next_deadline() == clock.now() + 600
    unset = house.asks.add("A2", "sampling", "files", SCHEMA, moment(clock), lambda outcome: None, timeout_ms=None)
    assert unset.timeout_ms == 600_000


@pytest.mark.shows("A-PRQ-03", "A-EVT-02", "A-EVT-04")
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_one_is_told_and_listed_at_once(house: House, kind: PendingKind) -> None:
    house.ask(kind=kind)
    assert house.recorded.events == [(f"{kind}_request", "files", {"requestId": "A1", "params": SCHEMA})]
    assert [ask.id for ask in house.asks.open(kind)] == ["A1"]


@pytest.mark.shows("A-PRQ-04", "A-PRQ-05", "A-EVT-03", "A-EVT-05", "X-GAP-13", "A-TST-04")
@pytest.mark.parametrize("kind", KINDS)
async def test_one_that_nobody_answers_expires_and_both_sides_are_told(
    house: House, clock: FakeClock, kind: PendingKind
) -> None:
    house.ask(kind=kind)
    await clock.advance(600)
    house.asks.expire(moment(clock))
    assert house.recorded.events[1:] == [
        (f"{kind}_expired", "files", {"requestId": "A1", "reason": "Timed out after 600000ms"})
    ]
    ((_, outcome),) = house.got
    assert isinstance(outcome, Failed)
    text = f"{kind.capitalize()} request timed out after 600000ms"
    assert (outcome.code, outcome.message) == (-32001, text)
    assert outcome.data is not None
    assert read_value(outcome.data) == {"reason": text}
    assert house.asks.open() == []


@pytest.mark.shows("A-PRQ-06", "A-PRQ-07")
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_reaches_the_server_and_closes_the_request(house: House, kind: PendingKind) -> None:
    house.ask(kind=kind)
    house.asks.answer(kind, "A1", ANSWER[kind], moment(house.clock))
    ((_, outcome),) = house.got
    assert isinstance(outcome, Done)
    assert read_value(outcome.payload.raw()) == ANSWER[kind]
    assert house.asks.next_deadline() is None


@pytest.mark.shows("A-PRQ-08", "A-PRQ-09", "A-PRQ-15", "A-PRQ-16")
@pytest.mark.parametrize("kind", KINDS)
def test_a_second_answer_and_one_of_the_wrong_kind_find_nothing(house: House, kind: PendingKind) -> None:
    other: PendingKind = "sampling" if kind == "elicitation" else "elicitation"
    house.ask(kind=kind)
    with pytest.raises(ClientFault, match=f"^{other.capitalize()} request 'A1' not found or already completed$"):
        house.asks.answer(other, "A1", ANSWER[other], moment(house.clock))
    house.asks.answer(kind, "A1", ANSWER[kind], moment(house.clock))
    with pytest.raises(ClientFault, match=f"^{kind.capitalize()} request 'A1' not found or already completed$"):
        house.asks.answer(kind, "A1", ANSWER[kind], moment(house.clock))
    assert len(house.got) == 1


@pytest.mark.shows("A-RACE-04", "A-TST-16")
async def test_an_answer_at_the_moment_of_expiry_has_one_outcome(house: House, clock: FakeClock) -> None:
    house.ask("A1")
    house.ask("A2")
    await clock.advance(600)
    house.asks.answer("elicitation", "A1", PICKED, moment(house.clock))
    house.asks.expire(moment(clock))
    with pytest.raises(ClientFault):
        house.asks.answer("elicitation", "A2", PICKED, moment(house.clock))
    assert [(name, type(outcome)) for name, outcome in house.got] == [("A1", Done), ("A2", Failed)]


@pytest.mark.shows("A-PRQ-10", "A-DEL-10", "A-DEL-11", "X-CON-25", "A-DEL-04")
def test_a_listed_one_shows_what_is_needed_to_answer_and_no_callback(house: House) -> None:
    ask = house.ask()
    assert set(ask.shown()) == {"requestId", "server", "timestamp", "params"}
    house.ask("A2", "sampling")
    assert house.asks.reminders() == {
        "elicitations": [
            {
                "requestId": "A1",
                "server": "files",
                "message": "Which one?",
                "schema": {"type": "object", "properties": {"pick": {"type": "string"}}, "required": ["pick"]},
            }
        ],
        "sampling_requests": [{"requestId": "A2", "server": "files"}],
    }


@pytest.mark.shows("A-PRQ-11", "A-PRQ-12")
def test_they_are_listed_per_server_and_known_to_be_there(house: House) -> None:
    assert not house.asks.has_pending_requests
    assert house.asks.reminders() is None
    house.ask("A1", server="a")
    house.ask("A2", "sampling", server="b")
    assert [ask.id for ask in house.asks.open(server="b")] == ["A2"]
    assert house.asks.has_pending_requests


@pytest.mark.shows("A-PRQ-13", "X-BUG-51", "X-GAP-13")
def test_rejecting_a_server_touches_that_server_only(house: House) -> None:
    for name, server in (("A1", "a"), ("A2", "b"), ("A3", "a")):
        house.ask(name, server=server)
    house.asks.reject_server("a", "Server removed")
    assert [ask.id for ask in house.asks.open()] == ["A2"]
    assert [(kind, data["reason"]) for kind, _, data in house.recorded.events[3:]] == [
        ("elicitation_expired", "Server removed"),
        ("elicitation_expired", "Server removed"),
    ]
    assert [(name, getattr(out, "code", 0), getattr(out, "message", "")) for name, out in house.got] == [
        ("A1", -32603, "Server removed"),
        ("A3", -32603, "Server removed"),
    ]


@pytest.mark.shows("A-PRQ-14")
def test_closing_rejects_everything_without_events_and_takes_no_more(house: House) -> None:
    house.ask("A1")
    house.asks.close()
    ((_, outcome),) = house.got
    assert isinstance(outcome, Failed)
    assert outcome.message == "PendingRequestsManager shutting down"
    assert house.recorded.kinds == ["elicitation_request"]
    with pytest.raises(LimitReached):
        house.ask("A2")


@pytest.mark.shows("X-BUG-54")
def test_one_that_the_server_takes_back_is_gone_and_gets_no_answer(house: House) -> None:
    house.ask()
    assert house.asks.withdraw("A1")
    assert not house.asks.withdraw("A1")
    assert house.recorded.events[1:] == [
        ("elicitation_expired", "files", {"requestId": "A1", "reason": "cancelled by server"})
    ]
    assert house.got == []


@pytest.mark.shows("X-BUG-55")
@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("elicitation", {"action": "maybe"}),
        ("elicitation", {"action": "accept", "content": {}}),
        ("elicitation", {"action": "accept", "content": {"pick": 7}}),
        ("sampling", {"role": "assistant", "content": {"type": "text", "text": "hi"}}),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_and_the_request_stays_open(
    house: House, kind: PendingKind, answer: dict[str, Any]
) -> None:
    house.ask(kind=kind)
    with pytest.raises(ClientFault, match=r"^The answer does not fit: "):
        house.asks.answer(kind, "A1", answer, moment(house.clock))
    assert house.got == []
    house.asks.answer(kind, "A1", ANSWER[kind], moment(house.clock))
    assert len(house.got) == 1


def test_open_questions_are_bounded(clock: FakeClock) -> None:
    house = House(clock, AskSettings(max_pending=1))
    house.ask("A1")
    with pytest.raises(LimitReached, match="max_pending"):
        house.ask("A2")


def test_a_server_that_asks_is_known_to_ask_until_its_last_question_ends(house: House, clock: FakeClock) -> None:
    assert house.asks.open_until("files") is None
    house.ask()
    assert house.asks.open_until("files") == clock.now() + 600


@pytest.mark.shows("X-GAP-23", "X-GAP-18", "A-LOG-13", "A-LOG-14", "A-LOG-15")
@pytest.mark.parametrize("kind", KINDS)
async def test_each_step_is_logged_by_the_seeds_names_without_contents(
    house: House, clock: FakeClock, caplog: pytest.LogCaptureFixture, kind: PendingKind
) -> None:
    caplog.set_level(logging.INFO, "emceepee.state")
    for name in ("A1", "A2"):
        house.ask(name, kind)
    await clock.advance(1.5)
    house.asks.answer(kind, "A1", ANSWER[kind], moment(clock))
    await clock.advance(600)
    house.asks.expire(moment(clock))
    assert [(one.levelname, one.message, one.data) for one in caplog.records] == [  # type: ignore[attr-defined]
        ("INFO", f"{kind}_received", {"requestId": "A1", "server": "files"}),
        ("INFO", f"{kind}_received", {"requestId": "A2", "server": "files"}),
        ("INFO", f"{kind}_responded", {"requestId": "A1", "server": "files", "durationMs": 1500}),
        ("WARNING", f"{kind}_timeout", {"requestId": "A2", "server": "files"}),
    ]
    assert "Which one?" not in caplog.text
