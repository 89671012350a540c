"""What a server needs before it goes on is collected, and its call made again, until it ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import Raw

from emceepee.relay.asks import BY_TOOLS, Asks
from emceepee.relay.rounds import MAX_ROUNDS, Rounds
from emceepee.runtime.ids import SystemIds, Ulids
from emceepee.sessions.workspaces import Workspaces
from emceepee.vocabulary.asks import RaisedAsk, Withdraw
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.outcomes import Answered, Done, Failed, InputNeeded, Wanted
from emceepee.vocabulary.raw_json import Fields, Payload, read_fields, read_text, read_value, to_raw
from tests.support.fake_clock import FakeClock, settle

PARAMS = Raw(b'{"message":"?"}')
FORM = Wanted("elicitation", "form", PARAMS)
URL = Wanted("elicitation", "url", to_raw({"mode": "url", "url": "https://a.example/"}))
SAMPLE = Wanted("sampling", "sampling", PARAMS)
DONE = Done(Payload.of({"content": []}))
ACCEPTED = Done(Payload.of({"action": "accept"}))


def needs(state: str | None = None, **wants: Wanted) -> InputNeeded:
    return InputNeeded({}, dict(wants), None if state is None else to_raw(state))


class Ear:
    hears = BY_TOOLS

    def __init__(self) -> None:
        self.asked: list[RaisedAsk] = []
        self.withdrawn: list[str] = []
        self.done: list[str] = []
        self.refusal: Failed | None = None

    def ask(self, ask: RaisedAsk) -> Withdraw | Failed:
        self.asked.append(ask)
        return self.refusal or self.withdrawn.append

    def completed(self, elicitation_id: str) -> None:
        self.done.append(elicitation_id)


class House:
    """A call whose server answers what the test lays down, one answer after the other."""

    def __init__(self, *answers: Answered) -> None:
        self.clock = FakeClock()
        self.ear = Ear()
        self.call = Call("tools/call", {}, Caller("s"), asks=BY_TOOLS, ear=self.ear)
        self.answers = list(answers)
        self.retries: list[tuple[Fields | None, Any]] = []
        asks = Asks(Workspaces(self.clock, Ulids(self.clock, SystemIds().slot())))
        self.rounds = Rounds(asks, self.clock, lambda: "id-1")

    async def again(self) -> Answered:
        self.retries.append((self.call.answers, read_text(self.call.state)))
        assert self.call.relays_asks
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def drive(self, needed: InputNeeded) -> asyncio.Task[Any]:
        return asyncio.ensure_future(self.rounds.drive("files", self.call, needed, self.again))


def said(outcome: Any) -> Any:
    assert isinstance(outcome, Done), outcome
    return read_value(outcome.payload.raw())


async def test_all_that_is_needed_is_asked_at_once_and_sent_at_once_with_the_state() -> None:
    house = House(DONE)
    driven = house.drive(needs("abc", a=FORM, b=SAMPLE))
    await settle()
    form, sample = house.ear.asked
    assert (form.params, sample.kind) == (PARAMS, "sampling")
    assert form.belonging.calls[0] is house.call
    sample.settle(Done(Payload(raw=Raw(b'{"model": "m"}'))))
    await settle()
    assert not house.retries
    form.settle(ACCEPTED)
    assert await driven is DONE
    assert house.retries == [({"a": Raw(b'{"action":"accept"}'), "b": Raw(b'{"model": "m"}')}, "abc")]
    assert (house.call.answers, house.call.state, house.call.relays_asks) == (None, None, False)
    assert house.ear.withdrawn == []


async def test_only_the_answers_of_this_round_are_sent_and_no_state_where_there_was_none() -> None:
    house = House(needs(None, b=FORM), DONE)
    driven = house.drive(needs("abc", a=FORM))
    for number in range(2):
        await settle()
        house.ear.asked[number].settle(ACCEPTED)
    assert await driven is DONE
    accepted = Raw(b'{"action":"accept"}')
    assert house.retries == [({"a": accepted}, "abc"), ({"b": accepted}, None)]


@pytest.mark.parametrize("refused_at_once", [False, True])
async def test_an_error_where_a_person_was_asked_means_that_he_cancelled(refused_at_once: bool) -> None:
    house = House(DONE)
    house.ear.refusal = Failed(-1, "no") if refused_at_once else None
    driven = house.drive(needs("s", a=FORM))
    await settle()
    if not refused_at_once:
        house.ear.asked[0].settle(Failed(-1, "no"))
    assert await driven is DONE
    assert house.retries == [({"a": Raw(b'{"action":"cancel"}')}, "s")]


@pytest.mark.parametrize("method", ["tools/call", "prompts/get"])
async def test_an_error_where_a_model_was_asked_ends_the_call_and_takes_the_rest_back(method: str) -> None:
    house = House(DONE)
    house.call.method = method
    driven = house.drive(needs("s", a=FORM, b=SAMPLE))
    await settle()
    house.ear.asked[1].settle(Failed(-1, "User rejected sampling"))
    outcome = await driven
    if method == "tools/call":
        assert said(outcome)["isError"] is True
        assert said(outcome)["content"][0]["text"] == "User rejected sampling"
    else:
        assert (outcome.code, outcome.message) == (-32603, "User rejected sampling")
    assert house.retries == []
    assert house.ear.withdrawn == ["the call needs no answer any more"]


async def test_a_server_that_asks_for_ever_is_asked_no_more() -> None:
    house = House(needs("s", a=FORM))
    driven = house.drive(needs("s", a=FORM))
    for number in range(MAX_ROUNDS):
        await settle()
        house.ear.asked[number].settle(ACCEPTED)
    outcome = await driven
    assert said(outcome)["isError"] is True
    assert "too many rounds" in said(outcome)["content"][0]["text"]
    assert len(house.retries) == MAX_ROUNDS


async def test_a_server_that_only_wants_its_state_back_is_called_again_ever_more_slowly() -> None:
    house = House(needs("s2"), needs("s3"), needs("s4"), DONE)
    driven = house.drive(needs("s1"))
    for wait in (0.05, 0.1, 0.2, 0.25):
        await settle()
        before = len(house.retries)
        await house.clock.advance(wait - 0.01)
        assert len(house.retries) == before
        await house.clock.advance(0.01)
        assert len(house.retries) == before + 1
    assert await driven is DONE
    assert house.retries == [(None, f"s{number}") for number in (1, 2, 3, 4)]


async def test_who_was_sent_to_an_address_is_told_under_its_id_when_the_server_went_on() -> None:
    house = House(DONE)
    driven = house.drive(needs("s", a=URL))
    await settle()
    (ask,) = house.ear.asked
    assert read_fields(ask.params)["elicitationId"] == Raw(b'"id-1"')
    ask.settle(ACCEPTED)
    assert house.ear.done == []
    await driven
    assert house.ear.done == ["id-1"]


async def test_called_off_it_takes_back_what_is_asked() -> None:
    house = House(DONE)
    driven = house.drive(needs("s", a=FORM, b=SAMPLE))
    await settle()
    driven.cancel()
    await settle()
    assert driven.cancelled()
    assert len(house.ear.withdrawn) == 2
    house.ear.asked[0].settle(ACCEPTED)
    assert house.retries == []
