"""A server makes a task of a call by itself: it becomes ours, for whoever takes tasks, and its answer the call's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from emceepee.backends.far_task import FIRST_PAUSE
from tests.conversations.house import CAPABILITIES, House, Json, let_run
from tests.support.scripted_backend import Fail, ScriptedBackend, Turn

EXTENSION = "io.modelcontextprotocol/tasks"
TAKES: Json = {"extensions": {EXTENSION: {}}}
ASKS: Json = {**TAKES, "elicitation": {}}
DONE: Json = {"content": [{"type": "text", "text": "finished"}]}
FAILED: Json = {"content": [{"type": "text", "text": "no such file"}], "isError": True}
SLOW: Json = {"name": "slow", "arguments": {}}
FORM: Json = {"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": {"type": "object"}}}
MINUTES: Json = {"ttlMs": 600_000, "pollIntervalMs": 1_000}


class Worker:
    """A server that makes a task of each call whose client declares that it takes one; `state` is how it stands."""

    def __init__(self, **state: Any) -> None:
        self.state: Json = {"status": "working"} | state
        self.answered: Json = {}
        self.knows_it = True
        answers: Any = {
            "tools/call": self.call,
            "tasks/get": self.get,
            "tasks/update": self.update,
            "tasks/cancel": self.cancel,
        }
        capabilities: Json = {"tools": {}, "extensions": {EXTENSION: {}}}
        self.backend = ScriptedBackend("modern", answers, [], capabilities)

    def task(self) -> Json:
        return {"taskId": "far-1", "createdAt": "t", "lastUpdatedAt": "t", **MINUTES, **self.state}

    def call(self, turn: Turn) -> Any:
        declared = turn.meta[CAPABILITIES].get("extensions", {})
        return {"resultType": "task", **self.task()} if EXTENSION in declared else DONE

    def get(self, turn: Turn) -> Any:
        assert turn.params["taskId"] == "far-1"
        assert EXTENSION in turn.meta[CAPABILITIES]["extensions"]
        return self.task() if self.knows_it else Fail(-32602, "no such task")

    def update(self, turn: Turn) -> Any:
        self.answered |= turn.params["inputResponses"]
        left = {key: ask for key, ask in self.state["inputRequests"].items() if key not in self.answered}
        self.state = {"status": "input_required", "inputRequests": left} if left else {"status": "working"}
        return {}

    def cancel(self, turn: Turn) -> Any:
        self.state = {"status": "cancelled"}
        return {}


async def stands(house: House, client: Any, task_id: str, seconds: float = 2.0) -> Json:
    """How it stands after the server was asked again."""
    await house.clock.advance(seconds)
    await let_run()
    found: Json = await client.result("tasks/get", {"taskId": task_id})
    return found


@pytest.mark.parametrize(
    ("ended", "status"),
    [
        ({"status": "completed", "result": DONE}, "completed"),
        ({"status": "completed", "result": FAILED}, "completed"),
        ({"status": "failed", "error": {"code": -32603, "message": "broke"}}, "failed"),
        ({"status": "failed"}, "failed"),
    ],
)
async def test_a_task_of_the_server_becomes_one_of_ours_and_ends_as_it_did(ended: Json, status: str) -> None:
    worker = Worker()
    house = House({"far": worker.backend})
    client = house.modern_client("/servers/far/mcp", TAKES)
    created = await client.result("tools/call", SLOW)
    assert (created["resultType"], created["status"], created["ttlMs"]) == ("task", "working", 600_000)
    assert created["taskId"] != "far-1", "an id of that connection only"
    assert (await stands(house, client, created["taskId"]))["status"] == "working"
    worker.state = ended
    found = await stands(house, client, created["taskId"])
    assert found["status"] == status
    assert found.get("result") == ended.get("result")
    if "error" in ended:
        assert found["error"]["message"] == "broke"
    assert worker.backend.methods().count("tools/call") == 1
    asked = worker.backend.methods().count("tasks/get")
    await house.clock.advance(60)
    assert worker.backend.methods().count("tasks/get") == asked, "what has ended is left alone"
    await house.close()


async def test_a_client_that_takes_no_task_is_not_said_to_take_one() -> None:
    worker = Worker()
    house = House({"far": worker.backend})
    client = house.modern_client("/servers/far/mcp")
    assert (await client.result("tools/call", SLOW))["content"] == DONE["content"]
    assert EXTENSION not in str(worker.backend.params("tools/call")[0]["_meta"][CAPABILITIES])
    await house.close()


@pytest.mark.shows("EB-G5")
async def test_a_legacy_client_that_asks_for_a_task_has_the_failure_of_the_tool_as_its_result() -> None:
    worker = Worker()
    house = House({"far": worker.backend})
    client = await house.legacy_client("/servers/far/mcp")
    created = (await client.result("tools/call", {**SLOW, "task": {}}))["task"]
    worker.state = {"status": "completed", "result": FAILED}
    await house.clock.advance(2)
    await let_run()
    assert (await client.result("tasks/get", {"taskId": created["taskId"]}))["status"] == "failed"
    result = await client.result("tasks/result", {"taskId": created["taskId"]})
    assert (result["isError"], result["content"]) == (True, FAILED["content"])
    assert result["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": created["taskId"]}
    await house.close()


async def test_what_the_servers_task_asks_is_answered_piece_by_piece() -> None:
    worker = Worker(status="input_required", inputRequests={"a": FORM, "b": FORM})
    house = House({"far": worker.backend})
    client = house.modern_client("/servers/far/mcp", ASKS)
    task_id = (await client.result("tools/call", SLOW))["taskId"]
    found = await stands(house, client, task_id, FIRST_PAUSE)
    assert (found["status"], set(found["inputRequests"])) == ("input_required", {"a", "b"})
    yes = {"action": "accept", "content": {}}
    await client.result("tasks/update", {"taskId": task_id, "inputResponses": {"a": yes, "nobody": yes}})
    found = await client.result("tasks/get", {"taskId": task_id})
    assert (found["status"], set(found["inputRequests"])) == ("input_required", {"b"})
    await client.result("tasks/update", {"taskId": task_id, "inputResponses": {"b": yes}})
    assert (await client.result("tasks/get", {"taskId": task_id}))["status"] == "working"
    assert worker.answered == {"a": yes, "b": yes}
    await house.close()


async def test_what_a_server_needs_before_it_makes_its_task_is_relayed_and_its_task_follows() -> None:
    worker = Worker()
    makes = worker.call

    def call(turn: Turn) -> Any:
        answered = turn.params.get("inputResponses")
        if answered is None:
            return {"resultType": "input_required", "inputRequests": {"name": FORM}, "requestState": "abc"}
        worker.answered |= answered
        return makes(turn)

    answers: Any = {**worker.backend.answers, "tools/call": call}
    worker.backend.answers = answers
    house = House({"far": worker.backend})
    client = house.modern_client("/servers/far/mcp", ASKS)
    told = await client.result("tools/call", SLOW)
    assert (told["resultType"], told["inputRequests"]["name"]["method"]) == ("input_required", FORM["method"])
    assert not {"taskId", "status"} & set(told)
    alice = {"action": "accept", "content": {"name": "Alice"}}
    back = SLOW | {"inputResponses": {"name": alice}, "requestState": told["requestState"]}
    created = await client.result("tools/call", back)
    assert (created["resultType"], created["status"]) == ("task", "working")
    assert not {"requestState", "inputRequests"} & set(created)
    assert worker.backend.params("tools/call")[1]["requestState"] == "abc"
    assert worker.answered == {"name": alice}
    worker.state = {"status": "completed", "result": DONE}
    assert (await stands(house, client, created["taskId"]))["result"] == DONE
    assert worker.backend.methods().count("tools/call") == 2
    await house.close()


async def test_a_task_that_asks_what_nobody_promised_has_failed() -> None:
    worker = Worker(status="input_required", inputRequests={"a": FORM})
    house = House({"far": worker.backend})
    client = house.modern_client("/servers/far/mcp", TAKES)
    response = await client.call("tools/call", SLOW)
    assert "may not" in response["error"]["message"]
    await worker.backend.saw("tasks/cancel")
    await house.close()


async def test_cancelling_ours_cancels_the_servers() -> None:
    worker = Worker()
    house = House({"far": worker.backend})
    client = house.modern_client("/servers/far/mcp", TAKES)
    task_id = (await client.result("tools/call", SLOW))["taskId"]
    await client.result("tasks/cancel", {"taskId": task_id})
    await worker.backend.saw("tasks/cancel")
    assert (await client.result("tasks/get", {"taskId": task_id}))["status"] == "cancelled"
    await house.close()


async def test_a_server_that_forgot_its_task_or_is_gone_ends_ours_as_failed() -> None:
    for forgot in (True, False):
        worker = Worker()
        house = House({"far": worker.backend})
        client = house.modern_client("/servers/far/mcp", TAKES)
        task_id = (await client.result("tools/call", SLOW))["taskId"]
        worker.knows_it = not forgot
        if not forgot:
            worker.backend.exit()
        found = await stands(house, client, task_id)
        assert found["status"] == "failed"
        assert ("no such task" in found["error"]["message"]) == forgot
        await house.close()


async def test_closing_the_gateway_leaves_nobody_who_looks_after_a_task() -> None:
    before = len(asyncio.all_tasks())
    worker = Worker()
    house = House({"far": worker.backend})
    client = house.modern_client("/servers/far/mcp", TAKES)
    await client.result("tools/call", SLOW)
    await house.close()
    assert len(asyncio.all_tasks()) == before
    assert house.clock.waiting == 0
