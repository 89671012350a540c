"""A tool that a legacy server runs as a task or not at all is called so, once, and its task is not left behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conversations.house import House, Json, let_run
from tests.conversations.meta_client import meta
from tests.support.scripted_backend import SILENT, Fail, ScriptedBackend, Turn

TASKS: Json = {"tasks": {"requests": {"tools": {"call": {}}}, "cancel": {}}, "tools": {"listChanged": True}}
REQUIRED: Json = {"name": "slow", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}
PLAIN: Json = {"name": "slow", "inputSchema": {"type": "object"}}
RELATED = "io.modelcontextprotocol/related-task"
DONE: Json = {"content": [{"type": "text", "text": "finished"}], "_meta": {RELATED: {"taskId": "far-1"}}}
FORM: Json = {"message": "Sure?", "requestedSchema": {"type": "object"}}
ENTRY: Json = {"taskId": "far-1", "status": "working", "createdAt": "t", "lastUpdatedAt": "t", "ttl": 60_000}
REFUSED = Fail(-32601, "Tool slow requires task augmentation")


def call(turn: Turn) -> Any:
    return {"task": ENTRY} if "task" in turn.params else REFUSED


def server(tool: Json = REQUIRED, **answers: Any) -> ScriptedBackend:
    scripted: Any = {"tools/call": call, "tasks/get": ENTRY, "tasks/result": DONE, "tasks/cancel": {}}
    return ScriptedBackend("legacy", scripted | answers, [tool], TASKS)


@pytest.mark.shows("EB-G6")
@pytest.mark.parametrize("failed", [False, True])
async def test_a_client_that_takes_tasks_has_one_that_completes_whatever_the_tool_says(failed: bool) -> None:
    result = DONE | ({"isError": True} if failed else {})
    backend = server(**{"tasks/result": result})
    house = House({"far": backend})
    client = house.modern_client("/servers/far/mcp", {"extensions": {"io.modelcontextprotocol/tasks": {}}})
    created = await client.result("tools/call", {"name": "slow", "arguments": {"q": "x"}})
    assert created["resultType"] == "task"
    await let_run()
    found = await client.result("tasks/get", {"taskId": created["taskId"]})
    assert (found["status"], found["result"]["content"]) == ("completed", DONE["content"])
    assert found["result"].get("isError", False) == failed
    assert RELATED not in str(found), "an id of that connection only"
    (asked,) = backend.params("tools/call")
    assert asked["task"]["ttl"] > 0
    assert asked["arguments"] == {"q": "x"}
    assert backend.params("tasks/get") == backend.params("tasks/result") == [{"taskId": "far-1"}]
    await house.close()


@pytest.mark.parametrize("path", ["/servers/far/mcp", "/direct/mcp"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_client_that_knows_no_tasks_waits_for_the_result(path: str, era: str) -> None:
    house = House({"far": server()})
    client = house.modern_client(path) if era == "modern" else await house.legacy_client(path)
    name = "far__slow" if path == "/direct/mcp" else "slow"
    assert (await client.result("tools/call", {"name": name, "arguments": {}}))["content"] == DONE["content"]
    await house.close()


async def test_one_that_was_not_listed_as_such_is_called_again_when_it_was_refused_and_only_once() -> None:
    for answers, times in (({}, 2), ({"tools/call": REFUSED}, 2)):
        backend = server(PLAIN, **answers)
        house = House({"far": backend})
        client = await house.legacy_client("/servers/far/mcp")
        response = await client.call("tools/call", {"name": "slow", "arguments": {}})
        assert ("result" in response) == (not answers)
        asked = backend.params("tools/call")
        assert ["task" in params for params in asked] == [False, True]
        assert len(asked) == times
        await house.close()


async def test_a_server_that_runs_no_tools_as_tasks_is_asked_nothing_of_the_kind() -> None:
    backend = server()
    backend.capabilities = {"tools": {}}
    house = House({"far": backend})
    client = await house.legacy_client("/servers/far/mcp")
    assert (await client.call("tools/call", {"name": "slow", "arguments": {}}))["error"]["code"] == -32601
    assert backend.methods().count("tools/call") == 1
    assert "tools/list" not in backend.methods()
    await house.close()


async def test_the_list_is_read_once_and_again_when_it_has_changed() -> None:
    backend = server()
    house = House({"far": backend})
    client = await house.legacy_client("/servers/far/mcp")
    for changes in (False, False, True):
        if changes:
            backend.notify("notifications/tools/list_changed")
        before = backend.methods().count("tools/list")
        await client.result("tools/call", {"name": "slow", "arguments": {}})
        read = backend.methods().count("tools/list") - before
        assert read == (1 if changes or not before else 0)
    await house.close()


async def test_what_its_task_asks_finds_the_call() -> None:
    async def result(turn: Turn) -> Any:
        await turn.ask("elicitation/create", FORM, "ask-1")
        return DONE

    backend = server(**{"tasks/result": result})
    house = House({"far": backend})
    client = await meta(house)
    told = await client.use("execute_tool", server="far", tool="slow")
    assert told.pending is not None
    (question,) = told.pending["elicitations"]
    await client.use("respond_to_elicitation", request_id=question["requestId"], action="accept", content={})
    ended = await client.use("get_task_result", task_id=told.said["task"]["taskId"], timeout_ms=1000)
    assert ended.said["text"] == "finished"
    await house.close()


async def test_a_call_that_is_given_up_has_its_task_cancelled() -> None:
    backend = server(**{"tasks/result": SILENT})
    house = House({"far": backend})
    client = await meta(house)
    task = (await client.use("execute_tool", server="far", tool="slow", timeout_ms=0)).said["task"]["taskId"]
    await backend.saw("tasks/result")
    await client.use("cancel_task", task_id=task)
    assert (await backend.saw("tasks/cancel")) == {"taskId": "far-1"}
    await house.close()


@pytest.mark.shows("EB-D6")
async def test_what_names_a_task_belongs_to_it_whatever_else_runs() -> None:
    """Asked beside all streams, while another call runs that was begun later."""

    later = asyncio.Event()

    async def result(turn: Turn) -> Any:
        await later.wait()
        await turn.ask("elicitation/create", FORM | {"_meta": {RELATED: {"taskId": "far-1"}}}, "ask-1", beside=True)
        return DONE

    def either(turn: Turn) -> Any:
        return call(turn) if turn.params["name"] == "slow" else SILENT

    other: Json = {"name": "other", "inputSchema": {"type": "object"}}
    backend = server(**{"tasks/result": result, "tools/call": either})
    backend.tools.append(other)
    house = House({"far": backend})
    able: Json = {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
    client = house.modern_client("/servers/far/mcp", able)
    created = await client.result("tools/call", {"name": "slow", "arguments": {}})
    await let_run()
    running = client.start("tools/call", {"name": "other", "arguments": {}})
    await let_run()
    later.set()
    await let_run()
    await house.clock.advance(0.03)
    found = await client.result("tasks/get", {"taskId": created["taskId"]})
    assert found["status"] == "input_required"
    ((key, asked),) = found["inputRequests"].items()
    assert asked["params"]["message"] == "Sure?", "and no word of calls that it may belong to"
    assert not running.complete
    await client.result("tasks/update", {"taskId": created["taskId"], "inputResponses": {key: {"action": "decline"}}})
    await let_run()
    assert (await client.result("tasks/get", {"taskId": created["taskId"]}))["status"] == "completed"
    running.leave()
    await house.close()
