"""A server that comes back, seen from its clients: what is lost, once; what changed; what is there again by itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from emceepee.backends.definition import HttpEndpoint, ServerDefinition
from emceepee.sessions.session import label
from tests.conversations.house import House, LegacyClient, let_run, response_of
from tests.conversations.meta_client import MetaClient, meta
from tests.support.fake_clock import settle
from tests.support.forgetful_server import ForgetfulServer
from tests.support.http_backend import HttpBackend, mcp_modern
from tests.support.scripted_backend import EXIT, SILENT, Late, ScriptedBackend, Turn

CALL_UNKNOWN = "Server reconnected - tool call state unknown"
REQUEST_UNKNOWN = "Server reconnected - request state unknown"
GONE = {"invalidatedTasks": 0, "invalidatedElicitations": 0, "invalidatedSampling": 0}


class Stage:
    """One server over HTTP behind a gateway, and its first client."""

    def __init__(self, server: ForgetfulServer, backend: HttpBackend, house: House, client: MetaClient) -> None:
        self.server = server
        self.backend = backend
        self.house = house
        self.client = client
        self.seen: list[Any] = []

    async def events(self, kind: str, times: int = 1, client: MetaClient | None = None) -> list[Any]:
        """All events so far, once there are so many of a kind."""
        scope = (client or self.client).scope
        log = self.house.gateway.workspaces.at(scope).events
        async with asyncio.timeout(5):
            while [event.type for event in log.all()].count(kind) < times:  # type: ignore[comparison-overlap]
                await settle()
        told = (await (client or self.client).use("await_activity", since_event_id="0" * 26, timeout_ms=0)).said
        found = [event for of_server in told["events"] for event in of_server["events"]]
        return sorted(found, key=lambda event: str(event["id"]))

    async def promoted(self, tool: str, client: MetaClient | None = None) -> str:
        """The id of a task whose tool never answers."""
        told = await (client or self.client).use("execute_tool", server="far", tool=tool, timeout_ms=0)
        for _ in range(100):
            await settle()
        task: str = told.said["task"]["taskId"]
        return task

    async def call(self, client: MetaClient | None = None) -> str:
        told = await (client or self.client).use("execute_tool", server="far", tool="echo")
        text: str = told.blocks[0]["text"]
        return text


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    server = ForgetfulServer()
    async with HttpBackend(server.answer) as backend:
        house = House({}, (ServerDefinition("far", HttpEndpoint(backend.url)),))
        yield Stage(server, backend, house, await meta(house))
        await house.close()


def of_kind(events: list[Any], kind: str) -> list[Any]:
    return [event["data"] for event in events if event["type"] == kind]


@pytest.mark.shows(
    "A-REC-14", "A-REC-15", "A-REC-18", "A-REC-19", "A-REC-20", "A-REC-23", "A-REC-24", "A-REC-25", "A-EVT-15",
    "X-CON-14", "X-CON-15", "X-CON-16", "A-REC-11", "A-TST-12", "A-TST-13", "A-TST-14",
)  # fmt: skip
async def test_a_restart_that_nobody_noticed_ends_what_was_open_once_and_is_told_last(stage: Stage) -> None:
    client, server = stage.client, stage.server
    for tool in ("wait", "elicitation/create", "sampling/createMessage"):
        await stage.promoted(tool)
    await stage.events("sampling_request")
    server.forget(version="2")
    assert await stage.call() == "by version 2"
    events = await stage.events("server_reconnected")
    failed = of_kind(events, "task_failed")
    assert [task["error"] for task in failed] == [task["reason"] for task in failed] == [CALL_UNKNOWN] * 3
    assert [ask["reason"] for ask in of_kind(events, "elicitation_expired")] == [REQUEST_UNKNOWN]
    assert [ask["reason"] for ask in of_kind(events, "sampling_expired")] == [REQUEST_UNKNOWN]
    assert events[-1]["type"] == "server_reconnected"
    assert events[-1]["data"] == {
        "name": "far",
        "type": "restart",
        "previous": {"name": "forgetful", "version": "1", "protocolVersion": "2025-11-25"},
        "refreshedTools": True,
        "refreshedResources": True,
        "refreshedPrompts": True,
        "invalidatedTasks": 3,
        "invalidatedElicitations": 1,
        "invalidatedSampling": 1,
    }
    for method in ("tools/list", "resources/list", "prompts/list"):
        assert method in server.methods()
    assert (await client.use("list_tasks")).said["tasks"] == []


@pytest.mark.shows("A-REC-24", "X-BUG-39", "A-REC-25", "X-CON-14", "A-EVT-14", "A-EVT-15")
async def test_over_a_whole_cycle_each_item_ends_once_and_is_counted_at_the_loss_and_at_the_return() -> None:
    backend = ScriptedBackend(answers={"tools/call": "silent"})
    house = House({"files": backend})
    client = await meta(house)
    for _ in range(2):
        await client.use("execute_tool", server="files", tool="slow", timeout_ms=0)
    backend.exit()
    await house.clock.advance(2)
    told = (await client.use("await_activity", since_event_id="0" * 26, timeout_ms=0)).said
    events = [event for of_server in told["events"] for event in of_server["events"]]
    kinds = [event["type"] for event in events]
    assert kinds[-4:] == ["task_failed", "task_failed", "server_disconnected", "server_reconnected"]
    assert {task["error"] for task in of_kind(events, "task_failed")} == {"Server disconnected"}
    why = {"reason": "exited with code 1"}
    assert of_kind(events, "server_disconnected") == [{"name": "files"} | why | GONE | {"invalidatedTasks": 2}]
    assert of_kind(events, "server_reconnected")[0].items() >= {"invalidatedTasks": 2}.items()
    backend.exit()
    await house.clock.advance(4)
    assert (await client.use("list_servers")).events[-1]["data"].items() >= GONE.items()
    await house.close()


@pytest.mark.shows("A-REC-14")
async def test_what_one_session_lost_is_no_affair_of_another(stage: Stage) -> None:
    other = await meta(stage.house)
    theirs = await stage.promoted("wait", other)
    mine = await stage.promoted("wait")
    stage.server.sessions.discard("session-2")
    await stage.call()
    await stage.events("server_reconnected")
    assert (await stage.client.use("get_task", task_id=mine)).said["task"]["status"] == "failed"
    assert (await other.use("get_task", task_id=theirs)).said["task"]["status"] == "working"
    assert "server_reconnected" not in (await other.use("list_servers")).kinds


@pytest.mark.shows("A-REC-16", "A-REC-17", "X-BUG-36")
async def test_lists_that_fail_are_said_and_save_nothing_of_the_old_connection(stage: Stage) -> None:
    client, server = stage.client, stage.server
    task = await stage.promoted("wait")
    server.refused = {"tools/list", "prompts/list"}
    server.capabilities = {"tools": {}, "prompts": {}}
    server.forget()
    await stage.call()
    (told,) = of_kind(await stage.events("server_reconnected"), "server_reconnected")
    assert (told["refreshedTools"], told["refreshedResources"], told["refreshedPrompts"]) == (False, False, False)
    assert (await client.use("get_task", task_id=task)).said["task"]["error"] == CALL_UNKNOWN
    assert server.methods().count("resources/list") == 0, "it does not offer any"
    assert await stage.call() == "by version 1"


@pytest.mark.shows("A-REC-22", "A-CON-19", "A-REC-21")
async def test_what_had_ended_before_is_kept_and_nobody_asks_what_the_server_still_knows(stage: Stage) -> None:
    client = stage.client
    told = await client.use("execute_tool", server="far", tool="echo", timeout_ms=0)
    done = told.said["task"]["taskId"]
    await stage.events("task_completed")
    stage.server.forget(version="2")
    await stage.call()
    await stage.events("server_reconnected")
    assert (await client.use("get_task_result", task_id=done)).own[0]["text"] == "by version 1"
    asked = {method for method in stage.server.methods() if not method.startswith("notifications/")}
    assert asked <= {"tools/call", "tools/list", "resources/list", "prompts/list"}


@pytest.mark.shows("A-REC-26", "A-CON-02", "A-CON-18", "X-CON-38")
async def test_each_step_is_logged_with_its_session(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "emceepee.relay"):
        await stage.promoted("wait")
        stage.server.forget()
        await stage.call()
        await stage.events("server_reconnected")
    lines = {record.message: record.data for record in caplog.records if hasattr(record, "data")}
    whose = {"sessionId": label(stage.client.scope), "server": "far"}
    assert lines["session_server_connected"] == whose
    assert lines["session_server_reconnect"] == whose | {"type": "restart"}
    assert lines["session_server_reconciliation_complete"] == whose | {
        "refreshedTools": True,
        "refreshedResources": True,
        "refreshedPrompts": True,
        "invalidatedTasks": 1,
        "invalidatedElicitations": 0,
        "invalidatedSampling": 0,
    }


@pytest.mark.shows("A-CON-03", "A-CON-18", "X-CON-38")
async def test_a_server_that_cannot_be_had_is_logged_with_its_session(caplog: pytest.LogCaptureFixture) -> None:
    backend = ScriptedBackend()
    house = House({"files": backend})
    client = await meta(house)
    await client.use("list_tools", server="files")
    with caplog.at_level(logging.INFO, "emceepee.relay"):
        backend.exit("exited with code 9")
        backend.answers = {"server/discover": "exit", "initialize": "exit"}
        told = await client.use("execute_tool", server="files", tool="echo")
    assert told.is_error
    lines = {record.message: record.data for record in caplog.records if hasattr(record, "data")}
    whose = {"sessionId": label(client.scope), "server": "files"}
    assert lines["session_server_disconnected"] == whose
    (listed,) = (await client.use("list_servers")).said["servers"]
    assert listed["lastError"].endswith("exited with code 1")
    assert lines["session_server_connect_failed"] == whose | {"error": listed["lastError"]}
    await house.close()


@pytest.mark.shows("A-REC-28", "A-REC-27")
async def test_whoever_waits_for_activity_is_told_and_finds_nothing_open(stage: Stage) -> None:
    client = stage.client
    task = await stage.promoted("elicitation/create")
    (asked,) = of_kind(await stage.events("elicitation_request"), "elicitation_request")
    await client.use("list_servers")
    wait = client.start("await_activity", timeout_ms=50_000)
    await let_run()
    assert not wait.complete
    stage.server.forget()
    other = LegacyClient(client.client.http, "2025-11-25")  # type: ignore[arg-type]
    other.headers = client.client.headers  # type: ignore[union-attr]
    assert await stage.call(MetaClient(other)) == "by version 1"
    told = await client.told(wait)
    assert told.said["pending_client"] == {"elicitations": [], "sampling_requests": []}
    status = (await client.use("get_task", task_id=task)).said["task"]
    assert (status["status"], status["error"]) == ("failed", CALL_UNKNOWN)
    late = await client.use("respond_to_elicitation", request_id=asked["requestId"], action="decline")
    assert late.said["error"]["code"] == "TOOL_ERR_REQUEST_NOT_FOUND"
    assert "response" not in stage.server.methods()


@pytest.mark.shows("A-REC-29", "X-CON-34", "A-REC-15")
async def test_tools_that_changed_over_a_restart_are_told_as_a_list_change(stage: Stage) -> None:
    client, server = stage.client, stage.server
    listener = await stage.house.legacy_client("/servers/far/mcp")
    stream = await listener.get()
    for method in ("tools/list", "prompts/list"):
        await listener.result(method)
    await client.use("list_tools", server="far")
    await client.use("list_prompts", server="far")
    server.forget(tools=("echo", "new"))
    await stage.call()
    await listener.result("tools/call", {"name": "echo"})
    events = await stage.events("server_reconnected")
    notes = of_kind(events, "notification")
    assert [note["method"] for note in notes] == ["notifications/tools/list_changed"]
    await stream.until(lambda: bool(stream.events))
    assert [event["method"] for event in stream.events] == ["notifications/tools/list_changed"]
    names = [tool["name"] for tool in (await client.use("list_tools", server="far")).said["tools"]]
    assert names == ["echo", "new"]


def annotated(name: str, **hints: bool) -> Any:
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": hints}


def dying(deaths: int) -> ScriptedBackend:
    """Says how far it is and dies, so many times; then it answers."""
    left = [deaths]

    def call(turn: Turn) -> Any:
        if not left[0]:
            return {"content": [{"type": "text", "text": "done"}]}
        left[0] -= 1
        if "progressToken" in turn.meta:
            turn.progress(3)
        return EXIT

    tools = [annotated("look", readOnlyHint=True), annotated("set", idempotentHint=True), annotated("pay")]
    return ScriptedBackend(answers={"tools/call": call}, tools=tools)


@pytest.mark.parametrize("tool", ["look", "set"])
async def test_a_tool_that_may_be_done_twice_is_sent_again_once(tool: str) -> None:
    backend = dying(1)
    house = House({"shop": backend})
    client = await meta(house)
    await client.use("list_tools", server="shop")
    assert (await client.use("execute_tool", server="shop", tool=tool)).blocks[0]["text"] == "done"
    assert backend.methods().count("tools/call") == 2
    await house.close()


@pytest.mark.shows("X-BUG-35", "X-BUG-25")
async def test_a_call_that_became_a_task_while_it_waited_to_be_sent_again_is_not_taken_for_lost() -> None:
    backend = dying(1)
    house = House({"shop": backend})
    client = await meta(house)
    await client.use("list_tools", server="shop")
    there = asyncio.Event()

    async def late(turn: Turn) -> Any:
        await there.wait()
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": backend.server_info}

    backend.answers = {**backend.answers, "initialize": late}
    looking = client.start("execute_tool", server="shop", tool="look", timeout_ms=3000)
    await backend.saw("initialize", 2)
    await house.clock.advance(3.1)
    task = (await client.told(looking)).said["task"]["taskId"]
    there.set()
    await let_run()
    await house.clock.advance(1)
    result = await client.use("get_task_result", task_id=task)
    assert result.blocks[0]["text"] == "done"
    assert backend.methods().count("tools/call") == 2
    await house.close()


async def test_a_tool_that_may_not_is_not_sent_again_and_its_caller_is_given_what_there_is_to_judge_by() -> None:
    backend = dying(2)
    house = House({"shop": backend})
    client = await meta(house)
    await client.use("list_tools", server="shop")
    said = (await client.use("execute_tool", server="shop", tool="pay")).said["error"]
    evidence = {"sent": True, "lastSeen": None, "annotations": {}}
    assert (said["details"]["reason"], said["details"]["evidence"]) == ("outcome_unknown", evidence)
    modern = house.modern_client("/servers/shop/mcp")
    answer = modern.start("tools/call", {"name": "pay"}, meta={"progressToken": "p"})
    error = response_of(await answer.done())["error"]
    assert error["data"] == {
        "reason": "outcome_unknown",
        "server": "shop",
        "evidence": {"sent": True, "lastSeen": "progress 3", "annotations": {}},
    }
    assert backend.methods().count("tools/call") == 2
    await house.close()


async def test_a_task_that_its_server_may_have_done_says_so_in_the_protocols_own_form() -> None:
    backend = ScriptedBackend(answers={"tools/call": "silent"})
    house = House({"shop": backend})
    modern = house.modern_client("/servers/shop/mcp", {"extensions": {"io.modelcontextprotocol/tasks": {}}})
    answer = modern.start("tools/call", {"name": "pay"})
    await backend.saw("tools/call")
    await house.clock.advance(46)
    task = response_of(await answer.done())["result"]["taskId"]
    backend.exit()
    await let_run()
    told = await modern.result("tasks/get", {"taskId": task})
    assert told["status"] == "failed"
    assert told["error"]["data"] == {"reason": "outcome_unknown", "server": "shop", "evidence": {"sent": True}}
    await house.close()


async def test_a_server_that_is_away_is_listed_with_since_when_why_and_when_it_is_tried_again() -> None:
    backend = ScriptedBackend(answers={"tools/call": "silent"})
    house = House({"shop": backend})
    client = await meta(house)
    await client.use("list_tools", server="shop")
    await client.use("execute_tool", server="shop", tool="slow", timeout_ms=0)
    (well,) = (await client.use("list_servers")).said["servers"]
    assert well["workingTasks"] == 1
    backend.exit("exited with code 9")
    backend.answers = {"server/discover": "silent", "initialize": "silent"}
    (listed,) = (await client.use("list_servers")).said["servers"]
    assert listed.items() >= {"status": "disconnected", "lastError": "exited with code 9"}.items()
    assert 500 <= listed["nextTryMs"] <= 1000
    assert listed["since"].startswith("2026-11-01T")
    said = (await client.use("get_server_status", server="shop")).said
    assert said["lists"]["tools"].items() >= {"status": "stale", "count": 1}.items()
    assert said["next"].startswith("A call, or reconnect_server, tries at once. By itself it is tried again in 1 s.")
    waiting = client.start("execute_tool", server="shop", tool="echo")
    await let_run()
    other = LegacyClient(client.client.http, "2025-11-25")
    other.headers = client.client.headers  # type: ignore[union-attr]
    said = (await MetaClient(other).use("get_server_status", server="shop")).said
    assert (said["status"], said["waitingCalls"]) == ("connecting", 1)
    await house.close()
    await waiting.done()


async def test_a_call_on_another_connection_of_the_same_scope_survives_the_loss_of_one() -> None:
    go = asyncio.Event()
    backend = ScriptedBackend(answers={"tools/call": Late({"content": [{"type": "text", "text": "late"}]}, go)})
    house = House({"shop": backend})
    client = MetaClient(house.modern_client("/mcp"))
    tasks = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    there = house.modern_client("/servers/shop/mcp", tasks)
    lost = (await client.use("execute_tool", server="shop", tool="slow", timeout_ms=0)).said["task"]["taskId"]
    await backend.saw("tools/call")
    slow = there.start("tools/call", {"name": "slow"})
    await backend.saw("tools/call", 2)
    await house.clock.advance(46)
    kept = response_of(await slow.done())["result"]["taskId"]
    calling = [one for one in backend.connections if one.channel is not None]
    assert len(calling) == 2, "one whose server may ask, and one whose server may not"
    calling[0].exit("exited with code 1")
    await let_run()
    states = {task: (await client.use("get_task", task_id=task)).said["task"]["status"] for task in (lost, kept)}
    assert states == {lost: "failed", kept: "working"}
    go.set()
    await let_run()
    assert (await there.result("tasks/get", {"taskId": kept}))["status"] == "completed"
    await house.close()


async def test_a_server_that_is_silent_is_told_of_and_told_of_again_when_it_answers() -> None:
    backend = ScriptedBackend()
    house = House({"shop": backend})
    client = await meta(house)
    await client.use("execute_tool", server="shop", tool="echo")
    backend.answers = {"ping": SILENT}
    await house.clock.advance(75)
    (listed,) = (await client.use("list_servers")).said["servers"]
    assert (listed["status"], listed["unwell"]) == ("connected", True)
    assert not (await client.use("execute_tool", server="shop", tool="echo")).is_error, "calls go on"
    backend.answers = {}
    await house.clock.advance(75)
    logs = (await client.use("get_logs", source="gateway")).said["logs"]
    assert [line["level"] for line in logs] == ["warning", "info"]
    assert "does not answer" in logs[0]["message"]
    (listed,) = (await client.use("list_servers")).said["servers"]
    assert "unwell" not in listed
    await house.close()


@pytest.mark.shows("EB-B8")
async def test_an_upgrade_found_out_after_an_hour_is_told_as_a_restart(stage: Stage) -> None:
    await stage.call()
    upgraded = mcp_modern(lambda message: {"content": [{"type": "text", "text": "modern"}], "tools": []})
    stage.backend.answer = upgraded
    await stage.house.clock.advance(3601)
    assert await stage.call() == "modern"
    (told,) = of_kind(await stage.events("server_reconnected"), "server_reconnected")
    assert (told["type"], told["previous"]["protocolVersion"]) == ("restart", "2025-11-25")


async def test_a_server_that_is_back_before_its_tools_are_keeps_them_listed() -> None:
    backend = ScriptedBackend()
    house = House({"shop": backend})
    client = await meta(house)
    await client.use("list_tools", server="shop")
    tools, backend.tools = backend.tools, []
    backend.exit()
    await house.clock.advance(1.1)
    said = (await client.use("list_tools", server="shop")).said
    assert ([tool["name"] for tool in said["tools"]], said["servers"][0]["status"]) == (["echo"], "stale")
    backend.tools = tools
    await house.clock.advance(5)
    told = (await client.use("await_activity", since_event_id="0" * 26, timeout_ms=0)).said
    events = [event for of_server in told["events"] for event in of_server["events"]]
    assert of_kind(events, "notification") == []
    assert of_kind(events, "server_reconnected")[0]["refreshedTools"] is True
    backend.tools = []
    backend.exit()
    await house.clock.advance(10)
    told = await client.use("list_tools", server="shop")
    assert told.said["tools"] == []
    assert "notifications/tools/list_changed" in [event["data"].get("method") for event in told.events]
    await house.close()


@pytest.mark.shows("A-REC-30")
async def test_a_return_that_is_still_being_looked_at_when_its_server_is_removed_is_told_no_more(stage: Stage) -> None:
    await stage.call()
    stage.server.forget()
    stage.server.slow.clear()
    await stage.call()
    assert len(stage.house.gateway.middle.reconciliation) == 1
    told = await stage.client.use("remove_server", name="far")
    stage.server.slow.set()
    for _ in range(50):
        await settle()
    after = await stage.client.use("list_servers")
    assert "server_reconnected" not in told.kinds + after.kinds
    assert len(stage.house.gateway.middle.reconciliation) == 0


@pytest.mark.shows("X-BUG-35")
async def test_what_begins_on_the_new_connection_while_the_return_is_looked_at_is_left_alone(stage: Stage) -> None:
    old = await stage.promoted("wait")
    stage.server.forget()
    stage.server.slow.clear()
    await stage.call()
    new = await stage.promoted("elicitation/create")
    await stage.events("elicitation_request")
    stage.server.slow.set()
    (told,) = of_kind(await stage.events("server_reconnected"), "server_reconnected")
    assert (told["invalidatedTasks"], told["invalidatedElicitations"]) == (1, 0)
    states = {task: (await stage.client.use("get_task", task_id=task)).said["task"]["status"] for task in (old, new)}
    assert states == {old: "failed", new: "working"}
    listed = await stage.client.use("list_servers")
    assert listed.pending is not None
    assert len(listed.pending["elicitations"]) == 1
