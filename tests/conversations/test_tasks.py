"""A call that outlives its time-out goes on as a task: told, asked about, fetched, cancelled, and never made twice."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from tests.conversations.house import House, let_run
from tests.conversations.meta_client import MetaClient, meta
from tests.support.scripted_backend import SILENT, Fail, Late, ScriptedBackend

DONE = {"content": [{"type": "text", "text": '"finished"'}], "structuredContent": {"n": 1}}
SLOW = {"server": "files", "tool": "slow", "args": {"q": "x"}}


def slowly(result: Any = None) -> tuple[ScriptedBackend, asyncio.Event]:
    go = asyncio.Event()
    return ScriptedBackend(answers={"tools/call": Late(result or DONE, go)}), go


async def promoted(house: House, client: MetaClient, **more: Any) -> Any:
    """The answer to a call that was not waited for."""
    return (await client.use("execute_tool", **SLOW, timeout_ms=0, **more)).said


@pytest.mark.shows(
    "A-EXE-01", "A-EXE-03", "A-EXE-04", "A-EXE-05", "A-EXE-06", "A-EXE-08", "X-CON-26", "A-TST-06", "A-TOOL-20",
    "A-TSK-19", "X-PY-01", "A-EVT-06", "A-EVT-07",
)  # fmt: skip
async def test_after_two_minutes_a_call_goes_on_as_a_task_whose_result_can_be_fetched() -> None:
    backend, go = slowly()
    house = House({"files": backend})
    client = await meta(house)
    call = client.start("execute_tool", **SLOW)
    await let_run()
    await house.clock.advance(119.9)
    assert call.complete is False
    await house.clock.advance(0.2)
    told = await client.told(call)
    said = told.said
    assert said["timeout"] is True
    task = said["task"]
    assert (task["toolName"], task["status"], task["ttl"], task["toolArgs"]) == ("slow", "working", 300_000, {"q": "x"})
    brief = {"taskId": task["taskId"], "toolName": "slow", "status": "working"}
    assert said["server_pending"] == {"server": "files", "working_tasks": [brief]}
    assert said["note"] == "Showing pending state for server 'files' only. Use await_activity for all servers."
    assert told.kinds == ["server_connected", "task_created"]
    assert told.events[1]["data"] == {"taskId": task["taskId"], "toolName": "slow", "ttl": 300_000}
    go.set()
    await let_run()
    finished = await client.use("get_task_result", task_id=task["taskId"])
    assert finished.own == ["finished"]
    assert finished.kinds == ["task_completed"]
    assert finished.events[0]["data"] == {"taskId": task["taskId"], "toolName": "slow"}
    assert backend.methods().count("tools/call") == 1
    assert backend.cancelled == []
    await house.close()


@pytest.mark.shows("A-EXE-02", "A-TSK-19")
async def test_a_fast_call_leaves_no_task_no_event_and_no_timer() -> None:
    house = House({"files": ScriptedBackend()})
    client = await meta(house)
    await client.use("list_tools", server="files")
    timers = house.clock.waiting
    told = await client.use("execute_tool", server="files", tool="echo", args={})
    assert (len(told.blocks), house.clock.waiting) == (1, timers)
    assert (await client.use("list_tasks", include_completed=True)).said == {"tasks": []}
    await house.close()


@pytest.mark.shows("A-EXE-20", "A-EXE-05", "A-TOOL-18", "A-TOOL-19", "A-TOOL-23", "A-DEL-14", "A-TST-08")
async def test_calls_run_side_by_side_each_with_its_own_task() -> None:
    (files, go), other = slowly(), ScriptedBackend(answers={"tools/call": SILENT})
    house = House({"files": files, "other": other})
    client = await meta(house)
    first, second = [(await promoted(house, client))["task"]["taskId"] for _ in range(2)]
    elsewhere = (await client.use("execute_tool", server="other", tool="slow", timeout_ms=0)).said
    assert [one["taskId"] for one in elsewhere["server_pending"]["working_tasks"]] == [elsewhere["task"]["taskId"]]
    third = await promoted(house, client)
    assert [one["taskId"] for one in third["server_pending"]["working_tasks"]] == [
        first,
        second,
        third["task"]["taskId"],
    ]
    listed = (await client.use("list_tasks", server="files")).said["tasks"]
    assert [task["taskId"] for task in listed] == [first, second, third["task"]["taskId"]]
    assert (await client.use("get_task", task_id=first)).said["pending_elicitations"] == []
    status = (await client.use("get_server_status", server="files")).said
    assert [one["taskId"] for one in status["working_tasks"]] == [first, second, third["task"]["taskId"]]
    assert "working_tasks" not in str((await client.use("list_servers")).blocks)
    go.set()
    await let_run()
    assert (await client.use("list_tasks", server="files")).said == {"tasks": []}
    done = (await client.use("list_tasks", server="files", status="completed")).said["tasks"]
    assert len(done) == 3
    await house.close()


@pytest.mark.shows("A-TOOL-21", "X-BUG-21", "A-EXE-10", "A-RACE-03", "A-TSK-13", "A-EVT-09")
async def test_cancelling_reaches_the_server_and_its_late_answer_changes_nothing() -> None:
    backend, go = slowly()
    house = House({"files": backend})
    client = await meta(house)
    task_id = (await promoted(house, client))["task"]["taskId"]
    told = await client.use("cancel_task", task_id=task_id)
    assert told.said["success"] is True
    assert told.kinds == ["task_cancelled"]
    await let_run()
    assert len(backend.cancelled) == 1
    go.set()
    await let_run()
    again = await client.use("cancel_task", task_id=task_id)
    assert (again.said["success"], again.events) == (False, [])
    error = await client.use("get_task_result", task_id=task_id)
    assert error.is_error
    assert error.said["error"]["details"]["task"]["status"] == "cancelled"
    await house.close()


@pytest.mark.shows("A-TSK-14", "X-BUG-21", "A-EVT-10", "A-EXE-11", "A-ACT-17")
async def test_a_task_past_its_ttl_wakes_the_client_and_ends_the_call() -> None:
    backend = ScriptedBackend(answers={"tools/call": SILENT})
    house = House({"files": backend})
    client = await meta(house)
    await promoted(house, client, task_ttl_ms=20_000)
    wait = client.start("await_activity")
    await let_run()
    await house.clock.advance(20)
    said = (await client.told(wait)).said
    assert said["triggers"] == [{"type": "event", "server": "files", "eventType": "task_expired"}]
    assert said["events"][0]["events"][0]["data"]["ttl"] == 20_000
    await let_run()
    assert len(backend.cancelled) == 1
    await house.close()


@pytest.mark.shows("A-EXE-09", "X-BUG-23", "A-EVT-08")
@pytest.mark.parametrize("answer", [Fail(-32000, "busy"), {"content": [], "isError": True}])
async def test_a_task_whose_call_fails_is_failed(answer: Any) -> None:
    go = asyncio.Event()

    async def late(turn: Any) -> Any:
        await go.wait()
        return answer

    house = House({"files": ScriptedBackend(answers={"tools/call": late})})
    client = await meta(house)
    task_id = (await promoted(house, client))["task"]["taskId"]
    go.set()
    await let_run()
    told = await client.use("get_task_result", task_id=task_id)
    assert told.is_error
    assert told.kinds == ["task_failed"]
    assert (await client.use("get_task", task_id=task_id)).said["task"]["status"] == "failed"
    await house.close()


@pytest.mark.shows("X-GAP-01", "A-TOOL-20")
async def test_a_result_can_be_waited_for() -> None:
    backend, go = slowly()
    house = House({"files": backend})
    client = await meta(house)
    task_id = (await promoted(house, client))["task"]["taskId"]
    patient = client.start("get_task_result", task_id=task_id, timeout_ms=10_000)
    await let_run()
    await house.clock.advance(10)
    assert (await client.told(patient)).said["task"]["status"] == "working"
    patient = client.start("get_task_result", task_id=task_id, timeout_ms=10_000)
    await let_run()
    go.set()
    assert (await client.told(patient)).own == ["finished"]
    await house.close()


@pytest.mark.shows("X-GAP-07", "A-DEL-16")
async def test_a_result_whose_response_was_lost_can_be_had_as_a_task() -> None:
    backend, go = slowly()
    house = House({"files": backend})
    client = await meta(house)
    call = client.start("execute_tool", **SLOW)
    await let_run()
    call.leave()
    go.set()
    await call.done()
    await let_run()
    told = await client.use("list_servers")
    assert told.kinds == ["server_connected", "task_created", "task_completed"]
    task_id = told.events[2]["data"]["taskId"]
    assert (await client.use("get_task_result", task_id=task_id)).own == ["finished"]
    assert backend.methods().count("tools/call") == 1
    await house.close()


@pytest.mark.shows("X-GAP-07")
async def test_a_call_that_the_client_cancels_is_cancelled_at_the_server_and_leaves_no_task() -> None:
    backend = ScriptedBackend(answers={"tools/call": SILENT})
    house = House({"files": backend})
    client = await meta(house)
    call = client.client.start("tools/call", {"name": "execute_tool", "arguments": SLOW}, request_id=77)
    await let_run()
    await client.client.tell("notifications/cancelled", {"requestId": 77})  # type: ignore[union-attr]
    await call.done()
    await let_run()
    assert len(backend.cancelled) == 1
    assert (await client.use("list_tasks", include_completed=True)).said == {"tasks": []}
    await house.close()


@pytest.mark.shows("A-SES-19", "A-SES-26", "X-CON-07", "X-BUG-26", "A-SES-16", "X-BUG-21")
async def test_the_end_of_a_session_cancels_its_tasks_at_their_servers_before_their_connections_close() -> None:
    backend = ScriptedBackend(answers={"tools/call": SILENT})
    house = House({"files": backend})
    client = await meta(house)
    await promoted(house, client)
    await client.client.delete()  # type: ignore[union-attr]
    await let_run()
    assert len(backend.cancelled) == 1
    assert len(house.gateway.workspaces) == 0
    await house.close()


@pytest.mark.shows("X-BUG-25", "A-EXE-18")
async def test_a_call_that_nobody_promoted_ends_with_its_server() -> None:
    backend = ScriptedBackend(answers={"tools/call": SILENT})
    house = House({"files": backend})
    client = await meta(house)
    call = client.start("execute_tool", **SLOW)
    await let_run()
    backend.exit()
    told = await client.told(call)
    assert told.said["error"]["code"] == "TOOL_ERR_SERVER_DISCONNECTED"
    assert (await client.use("list_tasks", include_completed=True)).said == {"tasks": []}
    await house.close()


@pytest.mark.shows("A-LOG-10", "A-LOG-11")
async def test_a_call_that_goes_on_is_logged_when_it_does_and_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "emceepee")
    backend, go = slowly()
    house = House({"files": backend})
    client = await meta(house)
    task_id = (await promoted(house, client))["task"]["taskId"]
    go.set()
    await let_run()
    about = {"server": "files", "tool": "slow", "taskId": task_id}
    said = [(one.levelname, one.message, one.data) for one in caplog.records if _is_of(one)]  # type: ignore[attr-defined]
    assert said == [("INFO", "tool_execution_timeout", about), ("INFO", "task_completed", about)]
    await house.close()


def _is_of(record: logging.LogRecord) -> bool:
    return record.message.startswith(("tool_execution_timeout", "task_"))
