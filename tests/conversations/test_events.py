"""What happens is told to the right workspaces, once, with the next response: events across sessions."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec import Raw

from emceepee.vocabulary.names import scope_label
from emceepee.vocabulary.outcomes import Outcome
from tests.conversations.house import House, let_run
from tests.conversations.meta_client import MetaClient, meta
from tests.support.asgi_client import AsgiAnswer
from tests.support.fake_clock import settle
from tests.support.http_backend import HttpBackend, mcp_legacy
from tests.support.scripted_backend import SILENT, ScriptedBackend, Turn


async def waiting(client: MetaClient, **arguments: Any) -> AsgiAnswer:
    """An `await_activity` that has begun to wait."""
    answer = client.start("await_activity", **arguments)
    await settle(50)
    assert answer.status == 0
    return answer


@pytest.mark.shows("A-CFG-07", "A-CFG-08", "A-CFG-09", "A-CFG-26", "A-EVT-11", "A-EVT-13", "A-CON-02", "X-BUG-47")
async def test_an_added_server_is_connected_for_its_adder_and_told_to_everybody_else() -> None:
    async with HttpBackend(mcp_legacy()) as backend:
        house = House({})
        adder, second, third = [await meta(house) for _ in range(3)]
        told = await adder.use("add_server", name="files", url=backend.url)
        assert told.said["status"] == "connected"
        ((event),) = told.events
        assert (event["type"], event["server"], event["data"]["name"]) == ("server_connected", "files", "files")
        assert event["data"]["capabilities"] == told.said["capabilities"]
        seen = [(await other.use("list_servers")).events for other in (second, third)]
        for ((event),) in seen:
            label = scope_label(adder.scope)
            assert event["type"] == "server_added"
            assert event["data"] == {"name": "files", "url": backend.url, "addedBy": label}
        assert seen[0][0]["id"] != seen[1][0]["id"]
        assert adder.scope not in str(seen)
        await house.close()


@pytest.mark.shows("A-CFG-10", "X-BUG-46", "X-BUG-45")
async def test_a_new_address_is_told_as_removed_and_added_and_a_failed_add_is_not_told() -> None:
    async with HttpBackend(mcp_legacy()) as first, HttpBackend(mcp_legacy()) as second:
        house = House({})
        adder, other = await meta(house), await meta(house)
        await adder.use("add_server", name="nobody", url="http://127.0.0.1:9/mcp")
        await adder.use("add_server", name="files", url=first.url)
        await adder.use("add_server", name="files", url=first.url)
        assert (await other.use("list_servers")).kinds == ["server_added"]
        await adder.use("add_server", name="files", url=second.url)
        assert (await other.use("list_servers")).kinds == ["server_removed", "server_added"]
        await house.close()


@pytest.mark.shows("A-CFG-17", "A-CFG-18", "A-CFG-19", "A-CFG-20", "A-CFG-21", "A-CFG-26", "A-EVT-12", "X-CON-10")
async def test_removing_a_server_ends_its_tasks_and_questions_everywhere_and_wakes_who_waits() -> None:
    house = House({"files": ScriptedBackend(answers={"tools/call": SILENT}), "other": ScriptedBackend()})
    remover, owner = await meta(house), await meta(house)
    task = (await owner.use("execute_tool", server="files", tool="slow", timeout_ms=0)).said["task"]
    got: list[Outcome] = []
    workspace = house.gateway.workspaces.at(owner.scope)
    asks = [workspace.begin_ask(kind, "files", Raw(b"{}"), got.append) for kind in ("elicitation", "sampling")]
    await owner.use("list_servers")
    wait = await waiting(owner)
    removed = await remover.use("remove_server", name="files")
    assert removed.kinds == ["server_removed"]
    said = (await owner.told(wait)).said
    ((of_files),) = said["events"]
    assert [event["type"] for event in of_files["events"]] == [
        "task_failed",
        "elicitation_expired",
        "sampling_expired",
        "server_removed",
    ]
    failed, *expired, gone = [event["data"] for event in of_files["events"]]
    assert (failed["taskId"], failed["error"]) == (task["taskId"], "Server removed")
    assert expired == [{"requestId": ask.id, "reason": "Server removed"} for ask in asks]
    assert gone == {"name": "files", "removedBy": scope_label(remover.scope)}
    assert {"type": "event", "server": "files", "eventType": "server_removed"} in said["triggers"]
    assert len(got) == 2
    assert "server_disconnected" not in str(said)
    await house.close()


@pytest.mark.shows("A-CON-15", "A-CON-16", "A-CON-18", "A-ACT-06", "X-BUG-09", "X-CON-09", "A-EVT-14", "A-CON-19")
async def test_a_lost_server_fails_its_tasks_and_wakes_its_own_session_only() -> None:
    backend = ScriptedBackend(answers={"tools/call": SILENT})
    house = House({"files": backend})
    bystander, owner = await meta(house), await meta(house)
    await bystander.use("list_tools", server="files")
    await owner.use("execute_tool", server="files", tool="slow", timeout_ms=0)
    await owner.use("list_servers")
    wait = await waiting(owner)
    backend.exit()
    said = (await owner.told(wait)).said
    assert {"type": "server_disconnected", "server": "files"} in said["triggers"]
    ((of_files),) = said["events"]
    kinds = {event["type"]: event["data"] for event in of_files["events"]}
    assert kinds["task_failed"]["error"] == "Server disconnected"
    assert kinds["server_disconnected"] == {
        "name": "files",
        "reason": "exited with code 1",
        "invalidatedTasks": 1,
        "invalidatedElicitations": 0,
        "invalidatedSampling": 0,
    }
    assert said["pending_server"] == []
    assert "server_disconnected" not in (await bystander.use("list_servers")).kinds
    await house.close()


@pytest.mark.shows("A-DEL-02", "A-DEL-05", "A-DEL-06", "A-DEL-07", "A-DEL-15", "X-CON-27", "A-DEL-01")
async def test_events_ride_on_the_next_response_once_also_on_an_error() -> None:
    house = House({"files": ScriptedBackend()})
    client = await meta(house)
    assert len((await client.use("list_servers")).blocks) == 1
    told = await client.use("execute_tool", server="files", tool="echo", args={"text": "hi"})
    assert told.blocks[0] == {"text": "hi"}
    assert told.kinds == ["server_connected"]
    assert set(told.events[0]) == {"id", "type", "server", "data"}
    assert re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", told.events[0]["id"])
    assert len((await client.use("list_servers")).blocks) == 1
    house.gateway.workspaces.at(client.scope).record("server_added", "b", {})
    error = await client.use("get_task", task_id="nothing")
    assert error.is_error
    assert error.said["error"]["code"] == "TOOL_ERR_TASK_NOT_FOUND"
    assert error.kinds == ["server_added"]
    await house.close()


@pytest.mark.shows("A-DEL-03", "A-DEL-04", "A-DEL-09", "A-DEL-12", "A-DEL-10", "A-DEL-11")
async def test_open_questions_are_in_every_response_until_they_are_answered() -> None:
    house = House({"files": ScriptedBackend()})
    client = await meta(house)
    workspace = house.gateway.workspaces.at(client.scope)
    schema = {"type": "object", "properties": {}}
    params = Raw(b'{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}')
    ask = workspace.begin_ask("elicitation", "files", params, lambda outcome: None)
    item = {"requestId": ask.id, "server": "files", "message": "Sure?", "schema": schema}
    first, again = await client.use("list_servers"), await client.use("list_servers")
    assert first.pending == again.pending == {"elicitations": [item], "sampling_requests": []}
    assert [next(iter(block)) for block in first.blocks[1:]] == ["events_since_last_response", "pending_client_action"]
    assert (first.kinds, again.kinds) == (["elicitation_request"], [])
    workspace.answer_ask("elicitation", ask.id, {"action": "decline"})
    assert (await client.use("list_servers")).pending is None
    await house.close()


@pytest.mark.shows("A-DEL-16", "EB-G13", "X-BUG-06", "X-CON-22")
async def test_events_of_a_response_that_was_lost_come_again_with_the_same_ids() -> None:
    house = House({"files": ScriptedBackend()})
    client = await meta(house)
    workspace = house.gateway.workspaces.at(client.scope)
    event_id = workspace.record("server_added", "b", {})
    lost = client.start("list_servers")
    lost.leave()
    await lost.done()
    await let_run()
    assert [event["id"] for event in (await client.use("list_servers")).events] == [event_id]
    assert (await client.use("list_servers")).events == []
    await house.close()


@pytest.mark.shows("A-DEL-08", "A-RACE-01", "A-TST-18", "EB-G14", "X-BUG-07", "A-TST-09")
async def test_of_several_who_wait_one_gets_the_event_and_the_others_go_on_waiting() -> None:
    house = House({})
    client = await meta(house)
    workspace = house.gateway.workspaces.at(client.scope)
    waits = [await waiting(client) for _ in range(3)]
    event_id = workspace.record("server_added", "b", {})
    await let_run()
    answered = [wait for wait in waits if wait.complete]
    assert len(answered) == 1
    (of_b,) = (await client.told(answered[0])).said["events"]
    assert [event["id"] for event in of_b["events"]] == [event_id]
    assert (await client.use("list_servers")).events == []
    await house.clock.advance(30)
    rest = [(await client.told(wait)).said for wait in waits if wait is not answered[0]]
    assert [said["triggers"] for said in rest] == [[{"type": "timeout"}]] * 2
    await house.close()


@pytest.mark.shows("A-RACE-05", "A-TST-19", "X-BUG-02")
async def test_eviction_while_somebody_waits_loses_nothing_silently() -> None:
    house = House({})
    client = await meta(house)
    workspace = house.gateway.workspaces.at(client.scope)
    wait = await waiting(client)
    made = [workspace.record("server_added", "b", {}) for _ in range(1005)]
    (of_b,) = (await client.told(wait)).said["events"]
    kept = [event["id"] for event in of_b["events"]]
    assert kept == made[100:]
    assert workspace.events.given_id == made[-1]
    await house.close()


@pytest.mark.shows("A-CON-09", "A-EVT-01")
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_what_a_server_says_unasked_reaches_a_client_that_has_only_tools(era: Any) -> None:
    backend = ScriptedBackend(era, {"tools/list": {"tools": []}})
    house = House({"files": backend, "other": ScriptedBackend(era)})
    bystander, client = await meta(house), await meta(house)
    await bystander.use("list_tools", server="other")
    await client.use("list_tools", server="files")
    wait = await waiting(client)
    backend.notify("notifications/tools/list_changed")
    said = (await client.told(wait)).said
    ((event),) = said["events"][0]["events"]
    assert (event["type"], event["data"]["method"]) == ("notification", "notifications/tools/list_changed")
    kept = (await client.use("get_notifications")).said["notifications"]
    assert [(one["server"], one["method"]) for one in kept] == [("files", "notifications/tools/list_changed")]
    assert (await bystander.use("get_notifications")).said == {"notifications": []}
    await house.close()


def logs(turn: Turn) -> Any:
    for level, text in (("debug", "a"), ("warning", "b"), ("error", "c")):
        turn.notify("notifications/message", {"level": level, "logger": "disk", "data": {"message": text}})
    return {"content": []}


@pytest.mark.shows("A-CON-10", "A-TOOL-12", "A-TOOL-13", "A-DEL-13", "A-ACT-16", "X-CON-04", "A-BUF-07")
async def test_log_lines_come_only_when_asked_for_and_only_what_was_asked_for() -> None:
    house = House({"files": ScriptedBackend(answers={"tools/call": logs})})
    client = await meta(house)
    told = await client.use("execute_tool", server="files", tool="chat")
    assert told.kinds == ["server_connected"]
    severe = (await client.use("get_logs", level="warn", limit=1)).said
    assert [(line["level"], line["message"], line["server"]) for line in severe["logs"]] == [("error", "c", "files")]
    assert severe["left"] == 1
    assert (await client.use("get_logs", server="nobody")).said == {"logs": []}
    assert [line["message"] for line in (await client.use("get_logs")).said["logs"]] == ["a", "b"]
    assert (await client.use("get_logs")).said == {"logs": []}
    assert (await client.use("get_logs", level="loud")).is_error
    await house.close()
