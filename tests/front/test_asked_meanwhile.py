"""A legacy client that asked for a task is asked while it waits for the result, and nowhere else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conversations.asked import HttpAsked, http_client
from tests.conversations.house import House, Json, let_run, response_of
from tests.conversations.test_asks import FORM, asker
from tests.conversations.test_held_calls import ACCEPT, heard, shop, stubborn
from tests.support.scripted_backend import notification

RELATED = "io.modelcontextprotocol/related-task"
PATH = "/servers/shop/mcp"


async def a_task(
    house: House, path: str = PATH, call: Json | None = None, **capabilities: Any
) -> tuple[HttpAsked, str]:
    asked = await http_client(house, path, **(capabilities or {"elicitation": {}, "sampling": {}}))
    params = call or {"name": "paint", "arguments": {}}
    created = await asked.client.result("tools/call", params | {"task": {}})
    await let_run()
    await house.clock.advance(0.03)
    return asked, created["task"]["taskId"]


async def status(asked: HttpAsked, task_id: str) -> str:
    found: str = (await asked.client.result("tasks/get", {"taskId": task_id}))["status"]
    return found


EXECUTE: Json = {"name": "execute_tool", "arguments": {"server": "shop", "tool": "paint"}}


@pytest.mark.parametrize(("path", "call"), [(PATH, None), ("/mcp", EXECUTE)])
async def test_it_is_asked_on_the_stream_where_it_waits_for_the_result(path: str, call: Json | None) -> None:
    backend = shop()
    house = House({"shop": backend})
    asked, task_id = await a_task(house, path, call)
    assert await status(asked, task_id) == "input_required"
    waiting = asked.client.start("tasks/result", {"taskId": task_id})
    ask = await asked.next_ask(waiting)
    assert ask["params"]["_meta"][RELATED] == {"taskId": task_id}
    assert ask["params"]["message"] == FORM["message"]
    await asked.reply(ask, ACCEPT)
    await let_run()
    result = response_of(await waiting.done())["result"]
    assert result["structuredContent"] == {"answers": [ACCEPT]}
    assert result["_meta"][RELATED] == {"taskId": task_id}
    assert [answer for _, answer in heard(backend)] == [ACCEPT]
    await house.close()


async def test_it_is_asked_again_by_whoever_waits_next() -> None:
    backend = shop()
    house = House({"shop": backend})
    asked, task_id = await a_task(house)
    first = asked.client.start("tasks/result", {"taskId": task_id}, request_id=70)
    ask = await asked.next_ask(first)
    await asked.client.tell("notifications/cancelled", {"requestId": 70})
    await let_run()
    assert await status(asked, task_id) == "input_required"
    second = asked.client.start("tasks/result", {"taskId": task_id})
    again = await asked.next_ask(second)
    assert again["id"] != ask["id"]
    await asked.reply(again, {"action": "decline"})
    await let_run()
    assert response_of(await second.done())["result"]["structuredContent"] == {"answers": [{"action": "decline"}]}
    await house.close()


async def test_an_error_to_a_form_is_a_cancel_and_to_anything_else_leaves_the_question_open() -> None:
    backend = shop()
    house = House({"shop": backend})
    asked, task_id = await a_task(house)
    waiting = asked.client.start("tasks/result", {"taskId": task_id})
    await asked.refuse(await asked.next_ask(waiting))
    await let_run()
    assert [answer for _, answer in heard(backend)] == [{"action": "cancel"}]
    await house.close()

    house = House({"shop": shop(asker("sampling/createMessage"))})
    asked, task_id = await a_task(house)
    waiting = asked.client.start("tasks/result", {"taskId": task_id})
    await asked.refuse(await asked.next_ask(waiting))
    await let_run()
    assert await status(asked, task_id) == "input_required"
    await asked.client.result("tasks/cancel", {"taskId": task_id})
    await let_run()
    assert "error" in response_of(await waiting.done())
    await house.close()


async def test_what_the_server_takes_back_is_taken_back_from_the_client() -> None:
    async def call(turn: Any) -> Json:
        asking = asyncio.ensure_future(turn.ask("elicitation/create", FORM, "ask-1"))
        await enough.wait()
        asking.cancel()
        turn.connection.say(notification("notifications/cancelled", {"requestId": "ask-1"}))
        await asyncio.Event().wait()
        return {}

    enough = asyncio.Event()
    house = House({"shop": shop(call)})
    asked, task_id = await a_task(house)
    waiting = asked.client.start("tasks/result", {"taskId": task_id})
    ask = await asked.next_ask(waiting)
    enough.set()
    await let_run()
    assert await status(asked, task_id) == "working"
    cancelled = [one for one in waiting.events if one.get("method") == "notifications/cancelled"]
    assert [one["params"]["requestId"] for one in cancelled] == [ask["id"]]
    await house.close()


async def test_a_client_that_can_be_asked_nothing_waits_without_being_asked() -> None:
    backend = shop(stubborn)
    house = House({"shop": backend})
    asked = HttpAsked(await house.legacy_client(PATH))
    created = await asked.client.result("tools/call", {"name": "paint", "arguments": {}, "task": {}})
    await let_run()
    assert await status(asked, created["task"]["taskId"]) == "working"
    assert [answer["code"] for _, answer in heard(backend)] == [-32601]
    await house.close()
