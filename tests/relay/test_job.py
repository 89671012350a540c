"""A call that belongs to its workspace: waited for, promoted, stopped, and reachable when its response is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from emceepee.errors import ClientFault, OutcomeUnknown
from emceepee.relay.job import Job
from emceepee.vocabulary.notices import LogLine, Notice, Progress
from emceepee.vocabulary.outcomes import Done, Outcome
from emceepee.vocabulary.raw_json import Payload
from tests.support.fake_backends import FakeServer, House, call, make_house
from tests.support.fake_clock import settle

DONE = {"content": []}


class Held:
    """A server's answer that the test gives when it likes."""

    def __init__(self) -> None:
        self.outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.on_notice: Any = None
        self.stopped = False

    async def __call__(self, asked: Any, on_notice: Any) -> Outcome:
        self.on_notice = on_notice
        try:
            return await asyncio.shield(self.outcome)
        except asyncio.CancelledError:
            self.stopped = True
            raise


async def begun(held: Held, heard: list[Notice] | None = None) -> tuple[House, Job]:
    house = make_house(a=FakeServer(answer=held))
    workspace = house.middle.workspaces.at("s")
    asked = call("tools/call", "s", name="slow", arguments={"q": "x"})
    on_notice = None if heard is None else heard.append
    job = Job(workspace, "a", asked, on_notice, house.middle.news.told)
    job.start(house.middle.calls, await house.middle.reach.connection("a", "s"), 5)
    await settle()
    return house, job


def kinds(house: House) -> list[str]:
    return [event.type for event in house.middle.workspaces.at("s").events.all()]


@pytest.mark.shows("X-PY-01", "A-EXE-03", "A-EXE-08")
async def test_impatience_does_not_end_the_call_and_the_answer_goes_to_the_task() -> None:
    held = Held()
    house, job = await begun(held)
    waiting = asyncio.ensure_future(job.wait(5))
    await house.clock.advance(5)
    assert await waiting is False
    task = job.promote()
    held.outcome.set_result(Done(Payload.of(DONE)))
    await settle()
    assert not held.stopped
    assert house.middle.workspaces.at("s").tasks.get(task.id).status == "completed"
    job.lost()
    assert kinds(house) == ["task_created", "task_completed"]
    await house.middle.forget("s")


@pytest.mark.parametrize("arrives", [True, False])
async def test_what_ended_in_time_makes_a_task_only_if_its_response_is_lost(arrives: bool) -> None:
    held = Held()
    house, job = await begun(held)
    held.outcome.set_result(Done(Payload.of(DONE)))
    assert await job.wait(5)
    assert isinstance(job.answer(), Done)
    if arrives:
        job.committed()
    else:
        job.lost()
    assert kinds(house) == ([] if arrives else ["task_created", "task_completed"])
    await house.middle.forget("s")


async def test_a_fault_is_raised_to_who_waits_and_kept_for_who_asks_later() -> None:
    held = Held()
    house, job = await begun(held)
    held.outcome.set_exception(OutcomeUnknown("a", "the stream ended"))
    assert await job.wait(5)
    with pytest.raises(OutcomeUnknown):
        job.answer()
    job.lost()
    assert kinds(house) == ["task_created", "task_failed"]
    await house.middle.forget("s")


@pytest.mark.shows("X-GAP-07", "X-BUG-21")
async def test_cancelling_the_wait_or_the_task_stops_the_call() -> None:
    for how in ("wait", "task"):
        held = Held()
        house, job = await begun(held)
        waiting = asyncio.ensure_future(job.wait(5))
        await settle()
        if how == "wait":
            waiting.cancel()
        else:
            workspace = house.middle.workspaces.at("s")
            workspace.tasks.cancel(job.promote().id, workspace.now())
        await settle()
        assert held.stopped
        await house.middle.forget("s")


@pytest.mark.shows("A-DEL-16")
async def test_an_answer_that_was_there_when_the_wait_was_called_off_is_kept_as_a_task() -> None:
    held = Held()
    house = make_house(a=FakeServer(answer=held))
    calls_off: list[asyncio.Task[bool]] = []

    def at_the_same_moment(answer: Done) -> None:
        # Before whoever waits comes to run.
        asyncio.get_running_loop().call_soon(calls_off[0].cancel)

    workspace = house.middle.workspaces.at("s")
    asked = call("tools/call", "s", name="slow")
    job = Job(workspace, "a", asked, None, house.middle.news.told, at_the_same_moment)
    job.start(house.middle.calls, await house.middle.reach.connection("a", "s"), 5)
    calls_off.append(asyncio.create_task(job.wait(5)))
    await settle()
    held.outcome.set_result(Done(Payload.of(DONE)))
    await settle()
    assert calls_off[0].cancelled()
    assert not held.stopped
    assert kinds(house) == ["task_created", "task_completed"]
    await house.middle.forget("s")


@pytest.mark.shows("X-BUG-26")
async def test_the_end_of_the_session_ends_the_call() -> None:
    held = Held()
    house, job = await begun(held)
    await house.middle.forget("s")
    assert held.stopped
    with pytest.raises(ClientFault):
        job.answer()
    job.lost()


async def test_log_lines_are_kept_and_nobody_is_told_of_progress_once_nobody_waits() -> None:
    held, heard = Held(), list[Notice]()
    house, job = await begun(held, heard)
    held.on_notice(Progress(1.0, {}))
    held.on_notice(LogLine("info", {}))
    job.promote()
    held.on_notice(Progress(2.0, {}))
    held.on_notice(LogLine("info", {}))
    assert len(heard) == 2
    assert len(house.middle.workspaces.at("s").logs) == 2
    await house.middle.forget("s")


async def test_a_call_stopped_before_its_first_step_keeps_nobody_waiting() -> None:
    house = make_house(a=FakeServer(answer=Held()))
    workspace = house.middle.workspaces.at("s")
    job = Job(workspace, "a", call("tools/call", "s", name="slow"), None, house.middle.news.told)
    job.start(house.middle.calls, await house.middle.reach.connection("a", "s"), 5)
    job.stop()
    async with asyncio.timeout(5):
        assert await job.wait(5)
    with pytest.raises(ClientFault, match="session ended"):
        job.answer()
    await house.middle.forget("s")
