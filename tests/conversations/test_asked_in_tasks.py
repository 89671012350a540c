"""A client that knows tasks is asked with the task that its call becomes, and answers by `tasks/update`."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from emceepee.config.settings import DEFAULTS
from emceepee.relay.rounds import MAX_ROUNDS
from emceepee.relay.settings import RelaySettings
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


def needs_a_form(turn: Turn) -> Json:
    """A modern server's tool, before it begins."""
    if "inputResponses" in turn.params:
        return {"content": [], "structuredContent": turn.params["inputResponses"]}
    request = {"method": "elicitation/create", "params": {"mode": "form"} | FORM}
    return {"resultType": "input_required", "inputRequests": {"k": request}, "requestState": "abc"}


@pytest.mark.parametrize("in_tasks", [True, False])
@pytest.mark.parametrize(("path", "name"), [("/servers/shop/mcp", "paint"), ("/direct/mcp", "shop__paint")])
async def test_what_a_modern_server_needs_before_there_is_a_task_is_answered_by_calling_again(
    path: str, name: str, in_tasks: bool
) -> None:
    backend = ScriptedBackend("modern", {"tools/call": needs_a_form}, [{"name": "paint", "inputSchema": {}}])
    house = House({"shop": backend}, settings=dataclasses.replace(DEFAULTS, ask_in_tasks=in_tasks))
    client = house.modern_client(path, ABLE | TASKS)
    params = CALL | {"name": name}
    told = await client.result("tools/call", params)
    assert (told["resultType"], list(told["inputRequests"]), "taskId" in told) == ("input_required", ["k"], False)
    assert "abc" not in told["requestState"]
    back = params | {"inputResponses": {"k": ACCEPT}, "requestState": told["requestState"]}
    done = await client.result("tools/call", back)
    assert done["structuredContent"] == {"k": ACCEPT}
    assert wire(backend, "tools/call")["requestState"] == "abc"
    await house.close()


def rounds(begins: asyncio.Event) -> Any:
    """A modern server's tool that needs a form, and then another."""

    async def call(turn: Turn) -> Json:
        await begins.wait()
        given, state = turn.params.get("inputResponses", {}), turn.params.get("requestState")
        if "second" in given:
            return {"content": [], "structuredContent": {"given": given, "state": state}}
        key = "second" if given else "first"
        request = {"method": "elicitation/create", "params": {"mode": "form"} | FORM}
        return {"resultType": "input_required", "inputRequests": {key: request}, "requestState": f"for {key}"}

    return call


async def answered_in_rounds(house: House, client: ModernClient, task: Json) -> Json:
    for _ in range(2):
        (key,) = (await looked_at(client, task))["inputRequests"]
        await update(client, task, {key: ACCEPT})
        await let_run()
        await house.clock.advance(0.03)
    return await looked_at(client, task)


async def test_what_a_modern_server_needs_when_there_is_a_task_is_asked_with_it() -> None:
    begins = asyncio.Event()
    backend = ScriptedBackend("modern", answers={"tools/call": rounds(begins)})
    house = House({"shop": backend})
    client = house.modern_client("/servers/shop/mcp", ABLE | TASKS)
    started = client.start("tools/call", CALL)
    await let_run()
    await house.clock.advance(RelaySettings().promote_after)
    task = (await started.done()).events[-1]["result"]
    assert task["resultType"] == "task"
    begins.set()
    await let_run()
    await house.clock.advance(0.03)
    done = await answered_in_rounds(house, client, task)
    assert done["result"]["structuredContent"] == {"given": {"second": ACCEPT}, "state": "for second"}
    await house.close()


async def test_a_meta_tool_is_asked_with_its_task_in_every_round() -> None:
    begins = asyncio.Event()
    begins.set()
    backend = ScriptedBackend("modern", answers={"tools/call": rounds(begins)})
    house = House({"shop": backend})
    client = house.modern_client("/mcp", ABLE | TASKS)
    done = await answered_in_rounds(house, client, await a_task(house, client, EXECUTE))
    assert done["result"]["structuredContent"] == {"given": {"second": ACCEPT}, "state": "for second"}
    assert backend.methods().count("tools/call") == 3
    await house.close()


async def test_a_task_in_whose_course_it_is_asked_again_and_again_ends_as_any_call() -> None:
    request = {"method": "elicitation/create", "params": {"mode": "form"} | FORM}
    endless: Any = {"tools/call": {"resultType": "input_required", "inputRequests": {"k": request}}}
    backend = ScriptedBackend("modern", endless)
    house = House({"shop": backend})
    client = house.modern_client("/mcp", ABLE | TASKS)
    task = await a_task(house, client, EXECUTE)
    for _ in range(MAX_ROUNDS):
        (key,) = (await looked_at(client, task))["inputRequests"]
        await update(client, task, {key: ACCEPT})
        await let_run()
        await house.clock.advance(0.03)
    assert "too many rounds" in str(await looked_at(client, task))
    assert backend.methods().count("tools/call") == MAX_ROUNDS + 1
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
