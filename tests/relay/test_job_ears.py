"""The ears of a call that belongs to its workspace: whose time a question takes, and what a task is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.errors import ClientFault
from emceepee.relay.job_ears import CountedEar, TaskEar
from emceepee.vocabulary.asks import AskProfile, Belonging, RaisedAsk, Withdraw
from emceepee.vocabulary.notices import MadeTask
from emceepee.vocabulary.outcomes import Done, Failed, Outcome
from emceepee.vocabulary.raw_json import Payload, to_raw
from tests.support.fake_clock import FakeClock

FORM: AskProfile = frozenset(("form",))
ACCEPT = to_raw({"action": "accept"})


def form(heard: list[Outcome]) -> RaisedAsk:
    return RaisedAsk("elicitation", "form", to_raw({"message": "?"}), Belonging("exact"), heard.append)


class Client:
    """A client's own ear."""

    hears = FORM

    def __init__(self, refuses: bool = False) -> None:
        self.asked: list[RaisedAsk] = []
        self.withdrawn: list[str] = []
        self.done: list[str] = []
        self._refuses = refuses

    def ask(self, ask: RaisedAsk) -> Withdraw | Failed:
        self.asked.append(ask)
        return Failed(-1, "no") if self._refuses else self.withdrawn.append

    def completed(self, elicitation_id: str) -> None:
        self.done.append(elicitation_id)


def test_whoever_waits_is_told_from_the_first_question_to_the_last_answer() -> None:
    client, told = Client(), list[bool]()
    ear = CountedEar(client, told.append)
    heard: list[Outcome] = []
    ear.ask(form(heard))
    withdraw = ear.ask(form(heard))
    assert (ear.hears, told) == (FORM, [True])
    client.asked[0].settle(Done(Payload.of({"action": "cancel"})))
    assert (len(heard), told) == (1, [True])
    assert callable(withdraw)
    withdraw("gone")
    withdraw("gone")
    assert (client.withdrawn, told) == (["gone", "gone"], [True, False])
    ear.completed("e")
    assert client.done == ["e"]


def test_what_is_refused_takes_no_time() -> None:
    told: list[bool] = []
    assert isinstance(CountedEar(Client(refuses=True), told.append).ask(form([])), Failed)
    assert told == [True, False]


def task_ear(clock: FakeClock, told: list[MadeTask]) -> TaskEar:
    return TaskEar(FORM, clock, 0.03, told.append)


async def test_questions_that_come_together_are_told_together_and_answered_by_their_keys() -> None:
    clock, told = FakeClock(), list[MadeTask]()
    ear, heard = task_ear(clock, told), list[Outcome]()
    for _ in range(2):
        ear.ask(form(heard))
    assert told == []
    await clock.advance(0.03)
    (made,) = told
    assert list(made.asks) == ["a1.1", "a1.2"]
    assert made.answer is not None
    await made.answer({"a1.2": ACCEPT, "other": ACCEPT})
    assert (len(heard), list(told[-1].asks)) == (1, ["a1.1"])
    ear.ask(form(heard))
    await clock.advance(0.03)
    assert list(told[-1].asks) == ["a1.1", "a2.1"]
    with pytest.raises(ClientFault):
        await made.answer({"a1.1": ACCEPT, "a2.1": to_raw({"action": "yes"})})
    assert len(heard) == 1


async def test_what_its_server_takes_back_is_told_too_and_what_is_left_open_gets_an_end() -> None:
    clock, told = FakeClock(), list[MadeTask]()
    ear, heard = task_ear(clock, told), list[Outcome]()
    taken: Any = ear.ask(form(heard))
    ear.ask(form(heard))
    await clock.advance(0.03)
    taken("cancelled by server")
    taken("cancelled by server")
    assert list(told[-1].asks) == ["a1.2"]
    assert len(told) == 2
    ear.ask(form(heard))
    ear.completed("e")
    ear.close()
    assert (len(heard), len(ear), clock.waiting) == (2, 0, 0)
