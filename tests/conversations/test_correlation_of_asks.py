"""To which call a question belongs, with servers that ask on the stream of the call, on the standing one, or over a
pipe; and what is done where nobody can know."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from emceepee.app import Gateway
from emceepee.backends.definition import Affinity, AskPolicy, HttpEndpoint, InProcess, ServerDefinition
from emceepee.config.settings import DEFAULTS
from tests.conversations.asked import HttpAsked, http_client
from tests.conversations.house import House, LegacyClient, let_run
from tests.conversations.meta_client import meta
from tests.conversations.test_asks import FORM, asker
from tests.conversations.test_native_asks import ACCEPT, ALL, SHOP, answers_in
from tests.support.asgi_client import AsgiClient
from tests.support.asking_server import AskingServer, Way
from tests.support.http_backend import HttpBackend
from tests.support.scripted_backend import ScriptedBackend, Turn


@asynccontextmanager
async def in_front_of(way: Way) -> AsyncIterator[tuple[AskingServer, HttpAsked]]:
    """A real server over HTTP that asks in its way, and a legacy client that can be asked."""
    server = AskingServer(way, params=FORM)
    async with HttpBackend(server.answer) as backend:
        path = "/sse" if way == "sse" else "/mcp"
        launch = HttpEndpoint(backend.url.replace("/mcp", path), kind="sse" if way == "sse" else "auto")
        gateway = Gateway(DEFAULTS, [ServerDefinition("shop", launch)], environment={})
        front = AsgiClient(gateway.front, SHOP)
        client = LegacyClient(front, "2025-11-25")
        await client.hello(capabilities=ALL)
        try:
            yield server, HttpAsked(client)
        finally:
            await gateway.close()
            await front.close()


@pytest.mark.shows("EB-D1", "EB-D8")
@pytest.mark.parametrize("way", ["post", "get", "sse"])
async def test_a_question_comes_with_the_one_call_that_runs_however_its_server_sends_it(way: Way) -> None:
    async with in_front_of(way) as (_, client):
        call = client.call("ask")
        await client.reply(await client.next_ask(call), ACCEPT)
        assert (await client.result(call))["structuredContent"] == {"answers": [ACCEPT]}


async def _asks_beside(turn: Turn) -> Any:
    answered = await asker(beside=True)(turn)
    return {**answered, "structuredContent": {"tool": turn.params["name"], **answered["structuredContent"]}}


async def house_of(
    affinity: Affinity = "workspace", call: Callable[[Turn], Any] = _asks_beside, **more: Any
) -> tuple[House, ScriptedBackend, HttpAsked]:
    backend = ScriptedBackend(answers={"tools/call": call})
    definition = ServerDefinition("shop", InProcess("shop"), affinity=affinity, **more)
    house = House({}, (definition,))
    house.gateway.backends.dialer._doors.hosted["shop"] = backend.connection  # type: ignore[index]
    return house, backend, await http_client(house, SHOP, **ALL)


@pytest.mark.shows("EB-D2")
async def test_where_each_call_has_a_session_each_question_is_on_its_own_call() -> None:
    house, backend, client = await house_of("call")
    calls = [client.call(tool) for tool in ("dig", "craft", "fish")]
    asks = [await client.next_ask(call) for call in calls]
    assert {ask["params"]["message"] for ask in asks} == {"Which colour?"}, "no guess, so no label"
    for number, ask in reversed(list(enumerate(asks))):
        await client.reply(ask, {"action": "accept", "content": {"color": str(number)}})
    for number, (call, tool) in enumerate(zip(calls, ("dig", "craft", "fish"), strict=True)):
        said = (await client.result(call))["structuredContent"]
        assert said == {"tool": tool, "answers": [{"action": "accept", "content": {"color": str(number)}}]}
    assert len(backend.params("initialize")) == 3
    again = client.call("dig")
    await client.reply(await client.next_ask(again), ACCEPT)
    await client.result(again)
    assert len(backend.params("initialize")) == 3, "sessions are used again"
    await house.close()


@pytest.mark.shows("EB-D3")
async def test_the_second_question_belongs_to_the_call_that_has_none() -> None:
    house, backend, client = await house_of(call=_waits)
    dig = client.call("dig")
    await let_run()
    backend.ask("elicitation/create", FORM, 1)
    first = await client.next_ask(dig)
    craft = client.call("craft")
    await let_run()
    backend.ask("elicitation/create", FORM, 2)
    second = await client.next_ask(craft)
    assert [one["params"]["message"] for one in (first, second)] == ["Which colour?"] * 2
    assert len(backend.params("initialize")) == 1
    await client.reply(second, ACCEPT)
    await client.reply(first, {"action": "decline"})
    await let_run()
    assert answers_in(backend) == [ACCEPT, {"action": "decline"}]
    await house.close()


async def _waits(turn: Turn) -> Any:
    await asyncio.Event().wait()


@pytest.mark.shows("EB-D4")
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_guess_is_labelled_shown_once_and_its_refusal_ends_no_call(action: str) -> None:
    house, backend, client = await house_of(call=_waits)
    calls = [client.call(tool) for tool in ("dig", "craft")]
    await let_run()
    backend.ask("elicitation/create", FORM, 1)
    ask = await client.next_ask(calls[1])
    assert ask["params"]["message"] == "(belongs to one of: dig, craft) Which colour?"
    assert client.asks(calls[0]) == []
    await client.reply(ask, {"action": action})
    await let_run()
    assert answers_in(backend) == [{"action": action}]
    assert backend.cancelled == []
    assert [call.complete for call in calls] == [False, False]
    await house.close()


async def test_where_no_guess_is_wanted_nobody_is_asked() -> None:
    house, backend, client = await house_of(call=_waits, asks=AskPolicy(ambiguous="refuse"))
    calls = [client.call(tool) for tool in ("dig", "craft")]
    await let_run()
    backend.ask("elicitation/create", FORM, 1)
    backend.ask("roots/list", {}, 2)
    await let_run()
    assert [client.asks(call) for call in calls] == [[], []]
    cancelled, refused = answers_in(backend)
    assert (cancelled, refused["code"]) == ({"action": "cancel"}, -32601)
    await house.close()


@pytest.mark.shows("EB-D5")
async def test_one_after_the_other_leaves_no_doubt() -> None:
    house, backend, client = await house_of(concurrency="serialize")
    calls = [client.call(tool) for tool in ("dig", "craft", "fish")]
    lists = client.client.start("tools/list")
    assert (await lists.done()).json["result"]["tools"], "reading a list waits for nobody"
    for number, call in enumerate(calls):
        assert len(backend.params("tools/call")) == number + 1
        ask = await client.next_ask(call)
        assert ask["params"]["message"] == "Which colour?"
        await client.reply(ask, ACCEPT)
        await client.result(call)
    assert [one["name"] for one in backend.params("tools/call")] == ["dig", "craft", "fish"]
    await house.close()


async def test_a_server_that_sends_our_mark_back_is_understood() -> None:
    async def marked(turn: Turn) -> Any:
        mark = turn.meta["dev.emceepee/call"]
        await asyncio.sleep(0)
        params = FORM | {"_meta": {"dev.emceepee/call": mark}}
        await turn.ask("elicitation/create", params, f"{turn.id}-a", beside=True)
        return {"content": [], "structuredContent": {"tool": turn.params["name"]}}

    house, _, client = await house_of(call=marked, mark_calls=True)
    calls = [client.call(tool) for tool in ("dig", "craft")]
    for call in calls:
        ask = await client.next_ask(call)
        assert ask["params"]["message"] == "Which colour?"
        assert "dev.emceepee/call" not in ask["params"]["_meta"]
        await client.reply(ask, ACCEPT)
    assert [(await client.result(call))["structuredContent"]["tool"] for call in calls] == ["dig", "craft"]
    await house.close()


@pytest.mark.parametrize(
    ("asks", "declared"),
    [
        ((("elicitation", ("refuse",)),), {"sampling": {}, "roots": {}}),
        ((("elicitation", ("tools",)), ("roots", ())), {"sampling": {}}),
        ((("sampling", ("refuse", "native")),), {"elicitation": {"form": {}, "url": {}}, "roots": {}}),
    ],
)
async def test_what_a_policy_refuses_is_not_promised(asks: Any, declared: Any) -> None:
    house, backend, client = await house_of(asks=AskPolicy(asks))
    await client.client.result("tools/list")
    assert backend.params("initialize")[-1]["capabilities"] == declared
    await house.close()


def promised(backend: ScriptedBackend) -> bool:
    """Whether the session begun last may ask a person."""
    return "elicitation" in backend.params("initialize")[-1]["capabilities"]


@pytest.mark.shows("X-GAP-05")
@pytest.mark.parametrize(
    ("interaction", "native", "by_tools"),
    [("auto", True, True), ("native", True, False), ("meta", False, True)],
)
async def test_how_clients_are_asked_is_one_setting(interaction: Any, native: bool, by_tools: bool) -> None:
    backend = ScriptedBackend(answers={"tools/call": asker()})
    house = House({"shop": backend}, settings=dataclasses.replace(DEFAULTS, interaction=interaction))
    client = await http_client(house, SHOP, **ALL)
    call = client.call("paint")
    await let_run()
    assert [len(client.asks(call)), "elicitation" in backend.params("initialize")[-1]["capabilities"]] == [
        native,
        native,
    ]
    tools = await meta(house)
    told = await tools.use("execute_tool", server="shop", tool="paint")
    assert (told.pending is not None, "elicitation" in backend.params("initialize")[-1]["capabilities"]) == (
        by_tools,
        by_tools,
    )
    await house.close()


async def test_a_client_of_the_tools_that_can_be_asked_itself_is() -> None:
    house = House({"shop": ScriptedBackend(answers={"tools/call": asker()})})
    client = await http_client(house, "/mcp", elicitation={})
    call = client.call("execute_tool", arguments={"server": "shop", "tool": "paint"})
    await client.reply(await client.next_ask(call), ACCEPT)
    result = await client.result(call)
    assert result["structuredContent"] == {"answers": [ACCEPT]}
    assert "elicitation_request" not in str(result["content"])
    assert "pending_client_action" not in str(result["content"])
    await house.close()
