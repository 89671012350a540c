"""Tasks in the words of each revision: given to clients that take them, asked about, followed, cancelled, one id
everywhere."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conversations.house import SUBSCRIPTION, House, Json, LegacyClient, ModernClient, let_run, response_of
from tests.conversations.meta_client import MetaClient
from tests.support.scripted_backend import SILENT, Fail, ScriptedBackend

EXTENSION = "io.modelcontextprotocol/tasks"
TAKES = {"extensions": {EXTENSION: {}}}
RELATED = "io.modelcontextprotocol/related-task"
DONE = {"content": [{"type": "text", "text": "finished"}], "structuredContent": {"n": 1}}
FAILED = {"content": [{"type": "text", "text": "no such file"}], "isError": True}
SLOW = {"name": "slow", "arguments": {"q": "x"}}
EXECUTE = {"name": "execute_tool", "arguments": {"server": "files", "tool": "slow", "args": {"q": "x"}}}
LISTED = {"name": "slow", "inputSchema": {"type": "object"}}

SURFACES = {
    "/mcp": EXECUTE,
    "/direct/mcp": {"name": "files__slow", "arguments": {"q": "x"}},
    "/servers/files/mcp": SLOW,
}


def slowly(answer: Any = None) -> tuple[ScriptedBackend, asyncio.Event]:
    go = asyncio.Event()

    async def late(turn: Any) -> Any:
        await go.wait()
        return DONE if answer is None else answer

    return ScriptedBackend(answers={"tools/call": late}, tools=[LISTED]), go


async def given(house: House, client: ModernClient, path: str = "/servers/files/mcp") -> Json:
    """The task that a slow call became."""
    call = client.start("tools/call", SURFACES[path])
    await let_run()
    await house.clock.advance(45)
    created: Json = response_of(await call.done())["result"]
    assert created["resultType"] == "task", created
    return created


async def asked_for(client: LegacyClient, task: Json | None = None, what: Json = SLOW) -> Json:
    created = await client.result("tools/call", {**what, "task": task or {}})
    found: Json = created["task"]
    return found


@pytest.mark.shows("EB-G1", "X-CON-26")
@pytest.mark.parametrize("path", SURFACES)
async def test_a_client_that_takes_tasks_is_given_one_for_a_slow_call(path: str) -> None:
    backend, go = slowly()
    house = House({"files": backend})
    client = house.modern_client(path, TAKES)
    call = client.start("tools/call", SURFACES[path])
    await let_run()
    await house.clock.advance(44.9)
    assert call.complete is False
    await house.clock.advance(0.2)
    created = response_of(await call.done())["result"]
    assert (created["resultType"], created["status"], created["ttlMs"]) == ("task", "working", 300_000)
    assert created["createdAt"].endswith("Z")
    assert created.keys() >= {"taskId", "lastUpdatedAt", "pollIntervalMs"}
    assert not created.keys() & {"task", "result", "content", "ttl", "pollInterval", "requestState"}
    working = await client.result("tasks/get", {"taskId": created["taskId"]})
    assert (working["resultType"], working["status"], "result" in working) == ("complete", "working", False)
    go.set()
    await let_run()
    ended = await client.result("tasks/get", {"taskId": created["taskId"]})
    assert (ended["status"], ended["result"]) == ("completed", DONE)
    assert backend.methods().count("tools/call") == 1
    await house.close()


@pytest.mark.shows("EB-G2")
@pytest.mark.parametrize("path", ["/direct/mcp", "/servers/files/mcp"])
async def test_a_client_that_takes_none_waits(path: str) -> None:
    backend, go = slowly()
    house = House({"files": backend})
    call = house.modern_client(path).start("tools/call", {**SURFACES[path], "task": {"ttl": 5}})
    await let_run()
    await house.clock.advance(300)
    assert call.complete is False
    assert call.body.count(b":") > 0, "kept alive by comments"
    go.set()
    assert response_of(await call.done())["result"]["content"] == DONE["content"]
    await house.close()


async def test_a_fast_call_of_a_client_that_takes_tasks_is_answered_and_leaves_none() -> None:
    house = House({"files": ScriptedBackend()})
    client = house.modern_client("/servers/files/mcp", TAKES)
    answer = await client.result("tools/call", {"name": "echo", "arguments": {}})
    assert (answer["resultType"], "taskId" in answer) == ("complete", False)
    assert (await house.modern_client("/mcp").result("tools/call", {"name": "list_tasks"}))["content"][0]["text"] == (
        '{"tasks":[]}'
    )
    await house.close()


async def test_the_same_task_is_seen_through_the_tools_under_the_same_id() -> None:
    backend, go = slowly()
    house = House({"files": backend})
    task_id = (await given(house, house.modern_client("/servers/files/mcp", TAKES)))["taskId"]
    meta = MetaClient(house.modern_client("/mcp"))
    listed = (await meta.use("list_tasks")).said["tasks"]
    assert [task["taskId"] for task in listed] == [task_id]
    waiting = meta.start("await_activity", timeout_ms=10_000)
    await let_run()
    go.set()
    said = (await meta.told(waiting)).said
    assert said["triggers"][0]["eventType"] == "task_completed"
    assert (await meta.use("get_task_result", task_id=task_id)).own[0] == {"type": "text", "text": "finished"}
    await house.close()


async def test_a_task_made_by_the_tools_is_there_for_whoever_speaks_of_tasks() -> None:
    backend, _go = slowly()
    house = House({"files": backend})
    meta = MetaClient(house.modern_client("/mcp"))
    task_id = (await meta.use("execute_tool", **EXECUTE["arguments"], timeout_ms=0)).said["task"]["taskId"]
    client = house.modern_client("/mcp", TAKES)
    assert (await client.result("tasks/get", {"taskId": task_id}))["status"] == "working"
    assert (await meta.use("cancel_task", task_id=task_id)).said["success"] is True
    assert (await client.result("tasks/get", {"taskId": task_id}))["status"] == "cancelled"
    await house.close()


@pytest.mark.shows("EB-G4")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_who_does_not_declare_the_extension_is_refused_by_name(method: str) -> None:
    house = House({"files": ScriptedBackend()})
    answer = await house.modern_client("/mcp").start(method, {"taskId": "T", "inputResponses": {}}).done()
    assert (answer.status, answer.json["error"]["code"]) == (400, -32021)
    assert answer.json["error"]["data"] == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
    await house.close()


@pytest.mark.shows("EB-G8")
async def test_an_unknown_task_a_foreign_one_and_a_malformed_id_are_invalid_params() -> None:
    backend, _go = slowly()
    house = House({"files": backend})
    session = await house.legacy_client("/servers/files/mcp")
    foreign = (await asked_for(session))["taskId"]
    client = house.modern_client("/mcp", TAKES)
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        errors = [
            (await client.call(method, {"taskId": task_id, "inputResponses": {}}))["error"]
            for task_id in ("01ARZ3NDEKTSV4RRFFQ69G5FAV", foreign)
        ]
        assert [error["code"] for error in errors] == [-32602, -32602]
        assert errors[1]["message"] == f"Task '{foreign}' not found"
        assert (await client.call(method, {"inputResponses": {}}))["error"]["code"] == -32602
    other = await house.legacy_client("/servers/files/mcp")
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert (await other.call(method, {"taskId": foreign}))["error"]["code"] == -32602
    assert await other.result("tasks/list") == {"tasks": []}
    await house.close()


async def test_cancelling_is_acknowledged_reaches_the_server_and_may_be_repeated() -> None:
    backend = ScriptedBackend(answers={"tools/call": SILENT})
    house = House({"files": backend})
    client = house.modern_client("/servers/files/mcp", TAKES)
    task_id = (await given(house, client))["taskId"]
    for _ in range(2):
        acknowledged = await client.result("tasks/cancel", {"taskId": task_id})
        assert acknowledged.keys() == {"resultType", "_meta"}
    await let_run()
    assert len(backend.cancelled) == 1
    assert (await client.result("tasks/get", {"taskId": task_id}))["status"] == "cancelled"
    await house.close()


@pytest.mark.parametrize(
    ("answer", "status"), [(FAILED, "completed"), (Fail(-32602, "no such tool", {"near": "slaw"}), "failed")]
)
async def test_a_tool_that_fails_has_completed_and_a_call_that_fails_has_failed(answer: Any, status: str) -> None:
    backend, go = slowly(answer)
    house = House({"files": backend})
    client = house.modern_client("/servers/files/mcp", TAKES)
    task_id = (await given(house, client))["taskId"]
    go.set()
    await let_run()
    ended = await client.result("tasks/get", {"taskId": task_id})
    assert ended["status"] == status
    if status == "completed":
        assert ended["result"] == FAILED
    else:
        assert ended["error"] == {"code": -32602, "message": "no such tool", "data": {"near": "slaw"}}
    await house.close()


async def test_a_task_that_ran_out_of_time_has_failed_with_the_reason_and_is_forgotten_later() -> None:
    house = House({"files": ScriptedBackend(answers={"tools/call": SILENT})})
    client = house.modern_client("/servers/files/mcp", TAKES)
    task_id = (await given(house, client))["taskId"]
    await house.clock.advance(300)
    ended = await client.result("tasks/get", {"taskId": task_id})
    assert (ended["status"], ended["error"]["code"]) == ("failed", -32603)
    assert ended["error"]["message"] == ended["statusMessage"] == "Task expired after 300000ms TTL"
    assert ended["error"]["data"]["reason"] == "task_expired"
    await house.clock.advance(1_800)
    assert (await client.call("tasks/get", {"taskId": task_id}))["error"]["message"] == f"Task '{task_id}' not found"
    await house.close()


async def test_a_listener_hears_how_its_task_ends_and_of_no_other() -> None:
    backend, go = slowly()
    house = House({"files": backend})
    client = house.modern_client("/servers/files/mcp", TAKES)
    mine, other = (await given(house, client))["taskId"], (await given(house, client))["taskId"]
    stream = await client.listen(taskIds=[mine, "unknown"])
    assert stream.events[0]["params"]["notifications"] == {"taskIds": [mine]}
    await client.result("tasks/cancel", {"taskId": other})
    go.set()
    await stream.until(lambda: len(stream.events) > 1)
    told = stream.events[1]
    assert told["method"] == "notifications/tasks"
    assert told["params"]["_meta"] == {SUBSCRIPTION: "listen-1"}
    got = await client.result("tasks/get", {"taskId": mine})
    assert {**told["params"], "_meta": 0, "resultType": "complete"} == {**got, "_meta": 0}
    await house.close()


async def test_who_listens_too_late_is_told_at_once() -> None:
    backend, go = slowly()
    house = House({"files": backend})
    client = house.modern_client("/servers/files/mcp", TAKES)
    task_id = (await given(house, client))["taskId"]
    go.set()
    await let_run()
    stream = await client.listen(taskIds=[task_id])
    await stream.until(lambda: len(stream.events) > 1)
    assert [one["method"] for one in stream.events] == [
        "notifications/subscriptions/acknowledged",
        "notifications/tasks",
    ]
    assert stream.events[1]["params"]["result"] == DONE
    await house.close()


# -- 2025-11-25


@pytest.mark.parametrize("path", SURFACES)
async def test_a_legacy_client_that_asks_for_a_task_has_it_at_once(path: str) -> None:
    backend, go = slowly()
    house = House({"files": backend})
    client = await house.legacy_client(path)
    assert client.welcome["capabilities"]["tasks"] == {
        "list": {}, "cancel": {}, "requests": {"tools": {"call": {}}},
    }  # fmt: skip
    task = await asked_for(client, {"ttl": 60_000}, SURFACES[path])
    assert (task["status"], task["ttl"], task.keys() >= {"createdAt", "lastUpdatedAt", "pollInterval"}) == (
        "working", 60_000, True,
    )  # fmt: skip
    assert await client.result("tasks/get", {"taskId": task["taskId"]}) == task
    assert [one["taskId"] for one in (await client.result("tasks/list"))["tasks"]] == [task["taskId"]]
    waiting = client.start("tasks/result", {"taskId": task["taskId"]})
    await let_run()
    assert waiting.complete is False
    go.set()
    result = response_of(await waiting.done())["result"]
    assert result == DONE | {"_meta": {RELATED: {"taskId": task["taskId"]}}}
    assert (await client.result("tasks/get", {"taskId": task["taskId"]}))["status"] == "completed"
    assert "task" not in backend.params("tools/call")[0]
    await house.close()


async def test_a_legacy_client_hears_of_the_tasks_it_asked_for() -> None:
    backend, go = slowly()
    house = House({"files": backend})
    client = await house.legacy_client("/servers/files/mcp")
    stream = await client.get()
    task = await asked_for(client)
    go.set()
    await stream.until(lambda: bool(stream.events))
    assert stream.events[0]["method"] == "notifications/tasks/status"
    assert stream.events[0]["params"] == await client.result("tasks/get", {"taskId": task["taskId"]})
    await house.close()


@pytest.mark.parametrize("answer", [FAILED, Fail(-32602, "no such tool", {"near": "slaw"})])
async def test_a_legacy_client_gets_the_failure_as_the_call_would_have_given_it(answer: Any) -> None:
    backend, go = slowly(answer)
    house = House({"files": backend})
    client = await house.legacy_client("/servers/files/mcp")
    task_id = (await asked_for(client))["taskId"]
    go.set()
    response = await client.call("tasks/result", {"taskId": task_id})
    assert (await client.result("tasks/get", {"taskId": task_id}))["status"] == "failed"
    if isinstance(answer, Fail):
        assert response["error"] == {"code": -32602, "message": "no such tool", "data": {"near": "slaw"}}
    else:
        assert response["result"]["isError"] is True
    await house.close()


async def test_cancelling_in_the_legacy_era_tells_the_task_and_only_once() -> None:
    backend = ScriptedBackend(answers={"tools/call": SILENT})
    house = House({"files": backend})
    client = await house.legacy_client("/servers/files/mcp")
    task_id = (await asked_for(client))["taskId"]
    waiting = client.start("tasks/result", {"taskId": task_id})
    await let_run()
    assert (await client.result("tasks/cancel", {"taskId": task_id}))["status"] == "cancelled"
    error = (await client.call("tasks/cancel", {"taskId": task_id}))["error"]
    assert error["code"] == -32602
    assert error["message"] == f"Cannot cancel task '{task_id}': it has ended already (status: cancelled)"
    ended = response_of(await waiting.done())["error"]
    assert (ended["code"], ended["data"]["reason"]) == (-32603, "task_cancelled")
    assert len(backend.cancelled) == 1
    await house.close()


@pytest.mark.parametrize("task", [5, [], {"ttl": 0}, {"ttl": -1}, {"ttl": 1.5}, {"ttl": "long"}, {"ttl": True}])
async def test_a_wish_for_a_task_that_makes_no_sense_is_refused_and_nothing_is_called(task: Any) -> None:
    backend = ScriptedBackend()
    house = House({"files": backend})
    client = await house.legacy_client("/servers/files/mcp")
    error = (await client.call("tools/call", {**SLOW, "task": task}))["error"]
    assert error["code"] == -32602
    assert "milliseconds above 0" in error["message"]
    assert "tools/call" not in backend.methods()
    await house.close()


@pytest.mark.shows("A-TSK-05")
async def test_an_absurd_ttl_is_cut_to_the_longest_there_is() -> None:
    house = House({"files": ScriptedBackend(answers={"tools/call": SILENT})})
    client = await house.legacy_client("/servers/files/mcp")
    assert (await asked_for(client, {"ttl": 10**15}))["ttl"] == 1_800_000
    await house.close()


async def test_a_tool_of_ours_that_is_never_a_task_says_so() -> None:
    house = House({})
    client = await house.legacy_client("/mcp")
    error = (await client.call("tools/call", {"name": "list_servers", "task": {}}))["error"]
    assert (error["code"], "never run as a task" in error["message"]) == (-32601, True)
    listed = {tool["name"]: tool for tool in (await client.result("tools/list"))["tools"]}
    assert listed["execute_tool"]["execution"] == {"taskSupport": "optional"}
    assert "execution" not in listed["list_servers"]
    await house.close()


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18"])
async def test_older_revisions_know_nothing_of_tasks(revision: str) -> None:
    house = House({"files": ScriptedBackend()})
    client = await house.legacy_client("/servers/files/mcp", revision)
    assert "tasks" not in client.welcome["capabilities"]
    for method in ("tasks/get", "tasks/result", "tasks/list", "tasks/cancel"):
        assert (await client.call(method, {"taskId": "T"}))["error"]["code"] == -32601
    answer = await client.result("tools/call", {"name": "echo", "arguments": {}, "task": {}})
    assert "content" in answer
    await house.close()


async def test_a_cursor_of_the_list_of_tasks_is_refused() -> None:
    house = House({"files": ScriptedBackend()})
    client = await house.legacy_client("/servers/files/mcp")
    assert (await client.call("tasks/list", {"cursor": "x"}))["error"]["code"] == -32602
    await house.close()


async def test_the_end_of_a_session_ends_the_tasks_it_asked_for() -> None:
    backend = ScriptedBackend(answers={"tools/call": SILENT})
    house = House({"files": backend})
    client = await house.legacy_client("/servers/files/mcp")
    await asked_for(client)
    await let_run()
    await client.delete()
    await let_run()
    assert len(backend.cancelled) == 1
    await house.close()
