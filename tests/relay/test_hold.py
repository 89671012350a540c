"""A held call between a server that asks and a client that goes away and comes back."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from emceepee.errors import ClientFault, OutcomeUnknown
from emceepee.relay.asks import Asks
from emceepee.relay.settings import RelaySettings
from emceepee.vocabulary.asks import Belonging, RaisedAsk
from emceepee.vocabulary.notices import LogLine, Notice, Progress
from emceepee.vocabulary.outcomes import Done, Failed, InputNeeded, Outcome
from emceepee.vocabulary.raw_json import Payload, read_value, to_raw
from tests.support.fake_clock import settle
from tests.support.held_calls import Stage, answers_to

RESULT = {"content": [{"type": "text", "text": "x"}]}


def progress(value: float) -> Progress:
    return Progress(value, {"progress": to_raw(value)})


async def test_what_is_asked_at_once_is_told_at_once() -> None:
    stage = Stage()
    told, served = await stage.parked("form", "sampling", "roots")
    assert list(told.requests) == ["a1.1", "a1.2", "a1.3"]
    assert [read_value(raw)["method"] for raw in told.requests.values()] == [
        "elicitation/create",
        "sampling/createMessage",
        "roots/list",
    ]
    sent = stage.send(stage.call(told, answers_to(told)))
    await settle()
    assert [len(ask.heard) for ask in served.asked] == [1, 1, 1]
    served.ends(Done(Payload.of(RESULT)))
    outcome = await sent
    assert isinstance(outcome, Done)
    assert read_value(outcome.payload.raw()) == RESULT
    await stage.close()


async def test_a_call_whose_server_asks_nothing_leaves_nothing() -> None:
    stage = Stage()
    sent, served = await stage.begin()
    assert (len(stage.holds), stage.holds.remembered) == (0, 0)
    served.ends()
    assert isinstance(await sent, Done)
    assert (len(stage.holds), stage.holds.remembered, stage.clock.waiting) == (0, 0, 0)
    await stage.close()


async def test_a_call_that_is_begun_without_a_task_leaves_nothing_either_and_is_held_when_its_server_asks() -> None:
    stage = Stage(at_once=True)
    sent, served = await stage.begin()
    assert len(stage.tasks) == 0
    served.ends(Done(Payload.of(RESULT)))
    assert isinstance(await sent, Done)
    assert (len(stage.holds), stage.holds.remembered, stage.clock.waiting) == (0, 0, 0)
    told, served = await stage.parked()
    sent = stage.send(stage.call(told, answers_to(told)))
    await settle()
    assert [len(ask.heard) for ask in served.asked] == [1]
    served.ends(Done(Payload.of(RESULT)))
    assert isinstance(await sent, Done)
    await stage.close()


@pytest.mark.parametrize("at_once", [False, True])
async def test_whoever_leaves_before_he_was_told_anything_has_cancelled(at_once: bool) -> None:
    stage = Stage(at_once=at_once)
    sent, served = await stage.begin()
    sent.cancel()
    await settle()
    assert served.cancelled
    await stage.close()


async def test_what_cannot_be_begun_at_once_goes_the_ordinary_way() -> None:
    stage = Stage(at_once=True)
    stage.surface.beginning = None
    call = stage.call()
    assert stage.coming.begin(stage.surface, call, None, lambda told: None) is None
    assert call.ear is None
    told, _ = await Stage().parked()
    assert stage.coming.begin(stage.surface, stage.call(told), None, lambda told: None) is None
    await stage.close()


async def test_an_ask_that_is_withdrawn_before_anybody_was_told_is_never_told() -> None:
    stage = Stage()
    sent, served = await stage.begin()
    ask = served.asks()
    assert callable(ask.taken)
    ask.taken("cancelled by server")
    await stage.clock.advance(1)
    assert not sent.done()
    served.ends()
    assert isinstance(await sent, Done)
    assert ask.heard == []
    await stage.close()


async def test_an_ask_left_open_by_a_call_that_ends_gets_an_end() -> None:
    stage = Stage()
    sent, served = await stage.begin()
    ask = served.asks()
    served.ends()
    assert isinstance(await sent, Done)
    assert ask.answer == {"action": "cancel"}
    await stage.close()


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("end", ["answered", "cancelled"])
async def test_a_question_that_may_be_anothers_goes_to_that_one_when_the_call_it_was_shown_with_ends(
    end: str, at_once: bool
) -> None:
    stage = Stage(at_once=at_once)
    dig, digging = await stage.begin(name="dig")
    craft, crafting = await stage.begin(name="craft")
    running = [digging.call, crafting.call]
    heard: list[Outcome] = []
    raised = RaisedAsk(
        "elicitation", "form", to_raw({"message": "?"}), Belonging("ambiguous", (*running,)), heard.append
    )
    asks = Asks(stage.workspaces)
    taken = asks.take("shop", {"p"}, replace(raised, running=lambda: running))
    assert not isinstance(taken, Failed)
    del running[1]
    if end == "answered":
        crafting.ends()
        assert isinstance(await craft, Done)
    else:
        craft.cancel()
        await settle()
        assert crafting.cancelled
    assert heard == [], "the call that it was shown with has ended, and another one runs that it may belong to"
    await stage.clock.advance(stage.holds.settings.coalesce)
    assert dig.done()
    told = await dig
    assert isinstance(told, InputNeeded)
    assert read_value(told.requests["a1.1"])["params"]["message"] == "?"
    del running[0]
    again = stage.send(stage.call(told, answers_to(told), name="dig"))
    await settle()
    assert [read_value(one.payload.raw())["action"] for one in heard if isinstance(one, Done)] == ["accept"]
    digging.ends()
    assert isinstance(await again, Done)
    assert (len(heard), len(stage.holds)) == (1, 0)
    await stage.close()


async def test_it_gets_its_end_with_the_last_of_them_and_is_withdrawn_where_it_is() -> None:
    for withdrawn in (False, True):
        stage = Stage()
        dig, digging = await stage.begin(name="dig")
        craft, crafting = await stage.begin(name="craft")
        running = [digging.call, crafting.call]
        heard: list[Outcome] = []
        belonging = Belonging("probable", (crafting.call,), (digging.call,))
        raised = RaisedAsk("elicitation", "form", to_raw({"message": "?"}), belonging, heard.append)
        taken = Asks(stage.workspaces).take("shop", {"p"}, replace(raised, running=lambda running=running: running))  # type: ignore[misc]
        assert not isinstance(taken, Failed)
        del running[1]
        crafting.ends()
        await craft
        if withdrawn:
            taken("cancelled by server")
        del running[0]
        digging.ends()
        assert isinstance(await dig, Done)
        answers = [read_value(one.payload.raw()) for one in heard if isinstance(one, Done)]
        assert answers == ([] if withdrawn else [{"action": "cancel"}])
        await stage.close()


async def test_what_happens_while_nobody_listens_is_told_to_whoever_comes_back() -> None:
    stage = Stage(RelaySettings(hold_log_lines=3))
    told, served = await stage.parked()
    for value in range(4):
        served.says(progress(value))
        served.says(LogLine("info", {"data": to_raw(value)}))
    heard: list[Notice] = []
    sent = stage.send(stage.call(told, answers_to(told)), heard)
    await settle()
    lines = [LogLine("info", {"data": to_raw(value)}) for value in (1, 2, 3)]
    assert heard == [*lines, progress(3)]
    served.says(progress(5))
    assert heard[-1] == progress(5)
    served.ends()
    await sent
    await stage.close()


async def test_no_held_call_lives_longer_than_the_cap_however_often_its_client_asks() -> None:
    stage = Stage(RelaySettings(hold_ttl=10, hold_cap=25))
    told, served = await stage.parked()
    for _ in range(2):
        await stage.clock.advance(9)
        again = await stage.send(stage.call(told))
        assert isinstance(again, InputNeeded)
        assert again.state == told.state
    await stage.clock.advance(8)
    assert served.asked[0].answer == {"action": "cancel"}
    await stage.close()


@pytest.mark.parametrize(("what", "heard"), [("sampling", -1), ("roots", -32603)])
async def test_what_cannot_be_declined_in_words_expires_sooner(what: str, heard: int) -> None:
    stage = Stage()
    _, served = await stage.parked(what)  # type: ignore[arg-type]
    await stage.clock.advance(120)
    assert served.asked[0].answer == heard
    await stage.close()


async def test_a_lost_connection_is_told_and_told_again() -> None:
    stage = Stage()
    told, served = await stage.parked()
    served.ends(OutcomeUnknown("shop", "the stream broke"))
    await settle()
    for _ in range(2):
        outcome = await stage.send(stage.call(told, answers_to(told)))
        assert isinstance(outcome, Failed)
        assert outcome.data is not None
        assert read_value(outcome.data)["reason"] == "outcome_unknown"
    await stage.close()


async def test_a_question_of_a_call_that_is_over_is_refused() -> None:
    stage = Stage()
    sent, served = await stage.begin()
    ear = served.call.ear
    served.ends()
    await sent
    served.call.ear = ear
    assert isinstance(served.asks().taken, Failed)
    await stage.close()


async def test_so_many_questions_may_be_open_in_one_call() -> None:
    stage = Stage(RelaySettings(max_asks_per_call=2))
    _, served = await stage.parked("form", "form")
    assert isinstance(served.asks().taken, Failed)
    await stage.close()


async def test_an_answer_that_nobody_came_for_is_said_to_be_lost() -> None:
    class Receipt:
        told: list[str]

        def __init__(self) -> None:
            self.told = []

        def committed(self) -> None:
            self.told.append("committed")

        def lost(self) -> None:
            self.told.append("lost")

    stage, receipt = Stage(), Receipt()
    _, served = await stage.parked()
    served.ends(Done(Payload.of(RESULT), delivery=receipt))
    await stage.clock.advance(600)
    assert receipt.told == ["lost"]
    await stage.close()


async def test_only_the_first_of_several_who_are_told_the_end_carries_its_receipt() -> None:
    class Receipt:
        def committed(self) -> None: ...

        def lost(self) -> None: ...

    stage = Stage()
    told, served = await stage.parked()
    sent = [stage.send(stage.call(told, answers_to(told))) for _ in range(3)]
    await settle()
    served.ends(Done(Payload.of(RESULT), delivery=Receipt()))
    outcomes = await asyncio.gather(*sent)
    again = await stage.send(stage.call(told, answers_to(told)))
    receipts = [isinstance(one, Done) and one.delivery is not None for one in (*outcomes, again)]
    assert receipts == [True, False, False, False]
    await stage.close()


async def test_whoever_cannot_have_got_the_state_is_waited_for_a_moment_only() -> None:
    stage = Stage()
    sent, served = await stage.begin()
    ask = served.asks()
    (hold,) = stage.holds._held.values()
    hold._coalesced()
    sent.cancel()
    await settle()
    await stage.clock.advance(15)
    assert ask.answer == {"action": "cancel"}
    await stage.clock.advance(5)
    assert served.cancelled
    await stage.close()


async def test_a_bug_behind_a_held_call_reaches_the_wall_and_leaves_nobody_waiting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage()
    sent, served = await stage.begin()
    served.end.set_exception(KeyError("bug"))
    with pytest.raises(KeyError):
        await sent
    assert "task_failed_unexpectedly" in caplog.text
    await stage.close()


async def test_a_state_of_a_round_that_never_was_is_nobodys() -> None:
    stage = Stage()
    told, _ = await stage.parked()
    (hold,) = stage.holds._held.values()
    for known in (0, 2, -1):
        with pytest.raises(ClientFault):
            await hold.again(known, stage.call(told), None)
    assert isinstance(await hold.again(1, stage.call(told), None), InputNeeded)
    await stage.close()
