"""A client that knows tasks is asked with the task that its call becomes, and answers by `tasks/update`."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from emceepee.config.settings import DEFAULTS
from tests.conversations.house import House, Json, ModernClient, let_run, wire
from tests.conversations.test_asks import FORM, asker, said_of
from tests.conversations.test_held_calls import ABLE, ACCEPT, CALL, asks_two, call_id, heard, shop, stubborn
from tests.support.scripted_backend import SILENT, ScriptedBackend, Turn

TASKS: Json = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
EXECUTE: Json = {"name": "execute_tool", "arguments": {"server": "shop", "tool": "paint", "args": {"n": 1}}}


async def a_task(house: House, client: ModernClient, params: Json = CALL) -> Json:
    started = client.start("tools/call", params)
    await let_run()
    await house.clock.advance(0.03)
    found: Json = (await started.done()).json["result"]
    assert found["resultType"] == "task", found
    return found


async def looked_at(client: ModernClient, task: Json) -> Json:
    return await client.result("tasks/get", {"taskId": task["taskId"]})


async def update(client: ModernClient, task: Json, answers: Json) -> Json:
    return await client.call("tasks/update", {"taskId": task["taskId"], "inputResponses": answers})


@pytest.mark.shows("EB-G3")
@pytest.mark.parametrize(("path", "params"), [("/servers/shop/mcp", CALL), ("/mcp", EXECUTE)])
async def test_what_is_asked_is_told_with_the_task_and_answered_by_its_key(path: str, params: Json) -> None:
    backend = shop(asker(params=FORM | {"elicitationId": "e"}))
    house = House({"shop": backend})
    client = house.modern_client(path, ABLE | TASKS)
    task = await a_task(house, client, params)
    told = await looked_at(client, task)
    assert told["status"] == "input_required"
    ((key, request),) = told["inputRequests"].items()
    assert request == {"method": "elicitation/create", "params": {"mode": "form"} | FORM}
    answer = await update(client, task, {key: ACCEPT, "other": {}})
    assert answer["result"]["resultType"] == "complete"
    await let_run()
    done = await looked_at(client, task)
    assert done["status"] == "completed"
    assert done["result"]["structuredContent"] == {"answers": [ACCEPT]}
    assert [one for _, one in heard(backend)] == [ACCEPT]
    assert len(house.gateway.holds) == 0
    await house.close()


@pytest.mark.shows("EB-G3")
async def test_several_are_answered_one_by_one_and_no_key_is_used_again() -> None:
    backend = shop(asks_two)
    house = House({"shop": backend})
    client = house.modern_client("/servers/shop/mcp", ABLE | TASKS)
    task = await a_task(house, client)
    first, second = (await looked_at(client, task))["inputRequests"]
    await update(client, task, {first: ACCEPT})
    assert list((await looked_at(client, task))["inputRequests"]) == [second]
    # An answered one is answered no more.
    await update(client, task, {first: {"action": "decline"}})
    error = (await update(client, task, {second: {"action": "yes"}}))["error"]
    assert (error["code"], second in error["message"]) == (-32602, True)
    await update(client, task, {second: {"action": "decline"}})
    await let_run()
    assert (await looked_at(client, task))["result"]["structuredContent"]["answers"] == [ACCEPT, {"action": "decline"}]
    await house.close()


@pytest.mark.shows("EB-G7")
async def test_cancelling_the_task_answers_what_its_server_asks_and_cancels_the_call() -> None:
    backend = shop(stubborn)
    house = House({"shop": backend})
    client = house.modern_client("/servers/shop/mcp", ABLE | TASKS)
    task = await a_task(house, client)
    cancelled = await client.result("tasks/cancel", {"taskId": task["taskId"]})
    assert set(cancelled) == {"resultType", "_meta"}
    await let_run()
    assert [one for _, one in heard(backend)] == [{"action": "cancel"}]
    assert backend.cancelled == [call_id(backend)]
    assert (await looked_at(client, task))["status"] == "cancelled"
    await house.close()


async def test_a_task_does_not_expire_while_a_person_is_asked_and_not_much_later_either() -> None:
    backend = shop()
    house = House({"shop": backend})
    client = house.modern_client("/servers/shop/mcp", ABLE | TASKS)
    task = await a_task(house, client)
    await house.clock.advance(590)
    assert (await looked_at(client, task))["status"] == "input_required"
    await house.clock.advance(20)
    assert (await looked_at(client, task))["status"] == "failed"
    assert [one for _, one in heard(backend)] == [{"action": "cancel"}]
    await house.close()


async def test_a_modern_server_is_called_again_with_what_the_task_was_told() -> None:
    async def call(turn: Any) -> Json:
        if "inputResponses" in turn.params:
            return {"content": [], "structuredContent": turn.params["inputResponses"]}
        request = {"method": "elicitation/create", "params": {"mode": "form"} | FORM}
        return {"resultType": "input_required", "inputRequests": {"k": request}, "requestState": "abc"}

    backend = ScriptedBackend("modern", answers={"tools/call": call})
    house = House({"shop": backend})
    client = house.modern_client("/servers/shop/mcp", ABLE | TASKS)
    task = await a_task(house, client)
    (key,) = (await looked_at(client, task))["inputRequests"]
    await update(client, task, {key: ACCEPT})
    await let_run()
    assert (await looked_at(client, task))["result"]["structuredContent"] == {"k": ACCEPT}
    assert wire(backend, "tools/call")["requestState"] == "abc"
    await house.close()


async def test_it_can_be_switched_off() -> None:
    house = House({"shop": shop()}, settings=dataclasses.replace(DEFAULTS, ask_in_tasks=False))
    client = house.modern_client("/servers/shop/mcp", ABLE | TASKS)
    started = client.start("tools/call", CALL)
    await let_run()
    await house.clock.advance(0.03)
    assert (await started.done()).json["result"]["resultType"] == "input_required"
    await house.close()


async def test_a_client_is_told_with_its_task_only_of_what_it_can_be_asked_itself() -> None:
    house = House({"shop": shop(asker("sampling/createMessage"))})
    client = house.modern_client("/mcp", {"elicitation": {}} | TASKS)
    started = client.start("tools/call", EXECUTE)
    await let_run()
    await house.clock.advance(0.03)
    # The rest goes to its tools, as for any client that has them.
    assert "server_pending" in (await started.done()).json["result"]["content"][0]["text"]
    await house.close()


@pytest.mark.shows("EB-D6")
async def test_what_a_server_asks_for_a_task_of_its_own_is_told_with_that_task_whatever_else_runs() -> None:
    related: Json = {"_meta": {"io.modelcontextprotocol/related-task": {"taskId": "far-1"}}}
    task: Json = {"taskId": "far-1", "status": "working", "createdAt": "t", "lastUpdatedAt": "t", "ttl": 600_000}

    async def result(turn: Turn) -> Any:
        answer = await turn.ask("elicitation/create", FORM | related, "of the task", beside=True)
        return {"content": [], "structuredContent": {"answers": [said_of(answer)]}} | related

    answers: Any = {
        "tools/call": lambda turn: {"task": task} if "task" in turn.params else SILENT,
        "tasks/get": task,
        "tasks/result": result,
    }
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("paint", "wait")]
    tools[0]["execution"] = {"taskSupport": "required"}
    offers: Json = {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}
    backend = ScriptedBackend(answers=answers, tools=tools, capabilities=offers)
    house = House({"shop": backend})
    client = house.modern_client("/servers/shop/mcp", ABLE | TASKS)
    await client.result("tools/list")
    others = [client.start("tools/call", CALL | {"name": "wait"}) for _ in range(2)]
    ours = await a_task(house, client)
    told = await looked_at(client, ours)
    ((key, request),) = told["inputRequests"].items()
    assert request["params"]["message"] == FORM["message"]
    assert "far-1" not in str(told)
    await update(client, ours, {key: ACCEPT})
    await let_run()
    done = await looked_at(client, ours)
    assert done["result"]["structuredContent"] == {"answers": [ACCEPT]}
    for other in others:
        other.leave()
    await house.close()
