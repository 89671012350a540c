"""Which workspaces there are: made on use, told apart, told together, swept when idle, ended once."""

from __future__ import annotations

import asyncio
import logging

import pytest

from emceepee.errors import LimitReached
from emceepee.runtime.ids import Ulids
from emceepee.sessions.settings import SessionSettings
from emceepee.sessions.workspace import Workspace
from emceepee.sessions.workspaces import Workspaces
from emceepee.state.settings import StateSettings
from emceepee.vocabulary.names import scope_label
from emceepee.vocabulary.raw_json import read_value
from tests.support.fake_clock import FakeClock, settle


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def made(clock: FakeClock, state: StateSettings | None = None, **bounds: float) -> Workspaces:
    return Workspaces(clock, Ulids(clock, "0n0de001"), state, SessionSettings(**bounds))  # type: ignore[arg-type]


def told(workspace: Workspace) -> list[tuple[str, dict[str, object]]]:
    return [(event.type, read_value(event.data)) for event in workspace.events.all()]


@pytest.mark.shows("A-SES-08", "A-SES-30")
def test_a_scope_has_one_workspace_and_nobody_else_sees_into_it(clock: FakeClock) -> None:
    all_of_them = made(clock)
    assert all_of_them.find("a") is None
    here = all_of_them.at("a")
    assert all_of_them.at("a") is here
    here.record("server_connected", "files", {})
    assert len(all_of_them.at("b").events) == 0


@pytest.mark.shows("A-EVT-11", "X-BUG-47", "X-CON-11")
def test_an_added_server_is_told_to_all_but_the_one_who_added_it(clock: FakeClock) -> None:
    all_of_them = made(clock)
    secret, other = all_of_them.at("slot.SECRET"), all_of_them.at("b")
    all_of_them.server_added("files", "http://f.test", by="slot.SECRET")
    assert told(secret) == []
    label = scope_label("slot.SECRET")
    assert told(other) == [("server_added", {"name": "files", "url": "http://f.test", "addedBy": label})]
    assert "SECRET" not in label


@pytest.mark.shows("A-EVT-12", "X-CON-10", "A-CFG-26")
def test_a_removed_server_is_told_to_all_each_with_an_event_of_its_own(clock: FakeClock) -> None:
    all_of_them = made(clock)
    workspaces = [all_of_them.at(scope) for scope in "abc"]
    workspaces[0].begin_task(("files", "t", None), None)
    all_of_them.server_removed("files", by="12345678")
    for workspace in workspaces:
        assert told(workspace)[-1] == ("server_removed", {"name": "files", "removedBy": "12345678"})
    assert [kind for kind, _ in told(workspaces[0])] == ["task_created", "task_failed", "server_removed"]
    ids = {event.id for workspace in workspaces for event in workspace.events.all()}
    assert len(ids) == 5


@pytest.mark.shows("A-EVT-36")
def test_the_cap_over_all_of_them_holds(clock: FakeClock) -> None:
    all_of_them = made(clock, StateSettings(max_total_events=50))
    for number in range(120):
        all_of_them.at("ab"[number % 2]).record("server_connected", "files", {})
    assert all_of_them.total_events <= 50


async def test_one_that_is_idle_is_ended_once_and_one_in_use_stays(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    all_of_them = made(clock)
    all_of_them.watch_idle(lambda scope: scope == "in a session")
    idle = all_of_them.at("idle")
    all_of_them.at("in a session")
    all_of_them.at("working").jobs.spawn(asyncio.Event().wait(), "call")  # type: ignore[arg-type]
    with caplog.at_level(logging.INFO, "emceepee.sessions"):
        await clock.advance(1_800)
        await settle()
    assert idle.closed
    assert sorted(all_of_them.scopes()) == ["in a session", "working"]
    assert [one.message for one in caplog.records] == ["workspace_timeout_cleanup"]
    await all_of_them.close()
    assert (len(all_of_them), clock.waiting) == (0, 0)


async def test_there_are_only_so_many_and_none_after_the_end(clock: FakeClock) -> None:
    all_of_them = made(clock, max_sessions=2)
    all_of_them.at("a")
    all_of_them.at("b")
    with pytest.raises(LimitReached, match="workspaces"):
        all_of_them.at("c")
    await all_of_them.end("a")
    await all_of_them.end("unknown")
    all_of_them.at("c")
    await all_of_them.close()
    with pytest.raises(LimitReached):
        all_of_them.at("d")


@pytest.mark.shows("X-BUG-43")
async def test_one_that_is_slow_to_end_holds_up_the_end_of_no_other(clock: FakeClock) -> None:
    all_of_them, both, ended = made(clock), asyncio.Event(), []

    async def deaf(scope: str) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(scope)
            if len(ended) == 2:
                both.set()
            await both.wait()

    for scope in ("a", "b"):
        all_of_them.at(scope).jobs.spawn(deaf(scope), "call")
    await settle()
    async with asyncio.timeout(3):
        await all_of_them.close()
    assert sorted(ended) == ["a", "b"]
