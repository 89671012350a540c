"""The gateway goes down: everybody is told, nothing is left, and what hangs holds up nothing else."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from msgspec import Raw

from tests.conversations.house import House, let_run
from tests.conversations.meta_client import meta
from tests.support.scripted_backend import SILENT, ScriptedBackend, Turn

ECHO = {"name": "echo", "arguments": {}}


def said(caplog: pytest.LogCaptureFixture, *events: str) -> list[tuple[str, str, Any]]:
    return [
        (one.msg, one.levelname, getattr(one, "data", None))
        for one in caplog.records
        if not events or one.msg in events
    ]


@pytest.mark.shows("A-SHD-01", "A-LOG-17", "A-LOG-18", "X-CON-37", "A-SES-15", "X-CON-43")
async def test_a_stop_says_how_much_it_ends_and_when_it_has_ended_it(caplog: pytest.LogCaptureFixture) -> None:
    house = House({"files": ScriptedBackend(), "other": ScriptedBackend()})
    await meta(house)
    await meta(house)
    await meta(house)
    caplog.set_level(logging.INFO, "emceepee")
    caplog.clear()
    await house.close()
    start, complete = "session_manager_shutdown_start", "session_manager_shutdown_complete"
    ours = said(caplog, start, complete, "session_destroying", "session_destroyed")
    assert not [record for record in caplog.records if record.message.startswith("registry_")]
    assert ours[0] == (start, "INFO", {"sessionCount": 3, "serverCount": 2})
    assert ours[-1] == (complete, "INFO", None)
    assert [event for event, _, _ in ours[1:-1]] == ["session_destroying"] * 3 + ["session_destroyed"] * 3


@pytest.mark.shows("A-SHD-02", "A-SES-16", "A-SES-21")
async def test_a_stop_ends_calls_before_connections_and_takes_no_new_session_meanwhile() -> None:
    go = asyncio.Event()

    async def slow_to_hear(turn: Turn) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await go.wait()
        return SILENT

    backend = ScriptedBackend(answers={"tools/call": slow_to_hear})
    house = House({"files": backend})
    house.gateway.start()
    client = await meta(house)
    await client.use("execute_tool", server="files", tool="slow", timeout_ms=0)
    closing = asyncio.create_task(house.gateway.close())
    await let_run()
    assert backend.methods()[-1] == "notifications/cancelled"
    refused = (
        await house.http("/mcp").post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}, {}).done()
    )
    assert (refused.status, len(house.gateway.directory)) == (503, 0)
    go.set()
    await closing
    assert (len(house.gateway.pool), house.gateway.pool.handles, len(house.gateway.workspaces)) == (0, 0, 0)
    assert house.clock.waiting == 0
    await house.close()


@pytest.mark.shows("A-SHD-03", "A-TST-15", "A-SES-17", "A-SES-18", "A-SES-19")
async def test_after_a_stop_each_question_was_rejected_and_no_timer_task_or_connection_is_left() -> None:
    before = asyncio.all_tasks()
    house = House({"files": ScriptedBackend(answers={"tools/call": SILENT})})
    house.gateway.start()
    client = await meta(house)
    await client.use("execute_tool", server="files", tool="slow", timeout_ms=0)
    workspace = house.gateway.workspaces.at(client.scope)
    settled: list[Any] = []
    workspace.begin_ask("elicitation", "files", Raw(b"{}"), settled.append)
    workspace.begin_ask("sampling", "files", Raw(b"{}"), settled.append)
    (task,) = workspace.tasks.views()
    await house.close()
    assert [outcome.message for outcome in settled] == ["PendingRequestsManager shutting down"] * 2
    assert (workspace.tasks.views(), len(workspace.asks), len(workspace.events)) == ([], 0, 0)
    assert workspace.tasks.get(task.id).status == "cancelled"
    await let_run()
    assert (house.clock.waiting, len(house.gateway.pool)) == (0, 0)
    assert asyncio.all_tasks() == before


@pytest.mark.shows("X-BUG-43")
async def test_a_server_that_will_not_end_holds_up_the_closing_of_no_other() -> None:
    """A session's own connection and a shared one, both deaf: each is told to end before the other has."""
    told = {"legacy": 0, "modern": 0}
    both = asyncio.Event()

    async def deaf(turn: Turn) -> Any:
        era = turn.connection.backend.era
        while not both.is_set():
            try:
                await both.wait()
            except asyncio.CancelledError:
                told[era] += 1
                # The legacy one hears first that its call is not wanted any more, and then that it is to end.
                if told["legacy"] >= 2 and told["modern"] >= 1:
                    both.set()
        return SILENT

    house = House({era: ScriptedBackend(era, {"tools/call": deaf}) for era in ("legacy", "modern")})
    session = await house.legacy_client("/servers/legacy/mcp")
    session.start("tools/call", ECHO)
    house.modern_client("/servers/modern/mcp").start("tools/call", ECHO)
    for backend in house.backends.values():
        await backend.saw("tools/call")
    async with asyncio.timeout(3):
        await house.gateway.close()
    assert both.is_set()
    await house.close()
