"""What is asked of a client on pipes: by a local function of its model, person and roots, and by servers; and what
waits until the client is ready."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from emceepee.app import Gateway
from emceepee.config.settings import DEFAULTS
from emceepee.tools import LocalServer, SamplingMessage, SamplingRequest, TextContent, ToolContext
from emceepee.tools.clients import RootsClient
from tests.conversations.asked import PipeClient
from tests.conversations.house import House, let_run, wire
from tests.conversations.test_asks import FORM, shop
from tests.support.fake_clock import FakeClock
from tests.support.scripted_backend import ScriptedBackend, Turn

ALL: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}
STUDIO = "/servers/studio/mcp"
WRITTEN = {"role": "assistant", "content": {"type": "text", "text": "calm"}, "model": "m-1", "stopReason": "endTurn"}
ROOTS = {"roots": [{"uri": "file:///work", "name": "work"}]}


class Studio:
    """A local server, whose functions ask, in a house with one client on pipes."""

    def __init__(self) -> None:
        self.server = LocalServer("studio", clock=FakeClock())
        self.heard: list[str] = []
        self.cancelled = 0
        self.server.tool(self.mood)
        self.server.tool(self.folders)
        self.server.tool(self.confirm)

    async def mood(self, ctx: ToolContext) -> str:
        assert ctx.sampler is not None
        request = SamplingRequest(messages=[SamplingMessage("user", TextContent("mood?"))], max_tokens=9)
        try:
            return (await ctx.sampler.sample(request)).as_text()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def folders(self, ctx: ToolContext) -> str:
        assert ctx.roots is not None
        return ", ".join(f"{one.uri} ({one.name})" for one in await ctx.roots.list())

    async def confirm(self, ctx: ToolContext) -> str:
        assert ctx.elicitor is not None
        answer = await ctx.elicitor.elicit("Really?", {"type": "object", "properties": {"ok": {"type": "boolean"}}})
        return f"{answer.action} {dict(answer.content or {})}"


class PipeHouse:
    def __init__(self, studio: Studio) -> None:
        self.clock = FakeClock()
        self.gateway = Gateway(DEFAULTS, environment={}, clock=self.clock, local=[studio.server])


@pytest.fixture
def studio() -> Studio:
    return Studio()


@pytest.fixture
async def client(studio: Studio) -> AsyncIterator[PipeClient]:
    house: Any = PipeHouse(studio)
    client = PipeClient(house, STUDIO)
    yield client
    await client.close()
    await house.gateway.close()


async def text_of(client: PipeClient, request_id: int) -> str:
    result = (await client.response(request_id))["result"]
    return str(result["content"][0]["text"])


@pytest.mark.shows("C-ADP-01", "C-ADP-03", "C-ADP-09", "C-TST-05", "C-SEQ-02")
async def test_a_function_asks_its_clients_model_while_its_call_is_open(client: PipeClient) -> None:
    await client.hello(**ALL)
    call = await client.start("mood")
    ask = await client.next_ask()
    assert ask["method"] == "sampling/createMessage"
    assert ask["params"]["messages"][0]["content"]["text"] == "mood?"
    await client.say(method="notifications/progress", params={"progressToken": ask["id"], "progress": 1})
    await client.say(id=ask["id"], result=WRITTEN)
    assert await text_of(client, call) == "calm"


@pytest.mark.shows("C-ADP-02", "C-TST-05")
async def test_a_call_that_is_cancelled_takes_its_question_back(client: PipeClient, studio: Studio) -> None:
    await client.hello(**ALL)
    call = await client.start("mood")
    ask = await client.next_ask()
    await client.say(method="notifications/cancelled", params={"requestId": call})
    (cancelled,) = [one for one in client.said if one.get("method") == "notifications/cancelled"]
    assert cancelled["params"]["requestId"] == ask["id"]
    assert studio.cancelled == 1
    await client.say(id=ask["id"], result=WRITTEN)
    assert [one for one in client.said if one.get("id") == call] == []


@pytest.mark.shows("C-ADP-04", "C-TST-06")
async def test_a_function_asks_for_the_roots(client: PipeClient) -> None:
    await client.hello(**ALL)
    call = await client.start("folders")
    ask = await client.next_ask()
    assert ask["method"] == "roots/list"
    await client.say(id=ask["id"], result=ROOTS)
    assert await text_of(client, call) == "file:///work (work)"


@pytest.mark.shows("C-ADP-08", "C-TST-07")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"action": "accept", "content": {"ok": True}}, "accept {'ok': True}"),
        ({"action": "decline"}, "decline {}"),
        ({"action": "cancel"}, "cancel {}"),
    ],
)
async def test_a_function_asks_its_clients_person(client: PipeClient, answer: Any, said: str) -> None:
    await client.hello(**ALL)
    call = await client.start("confirm")
    ask = await client.next_ask()
    assert (ask["method"], ask["params"]["message"]) == ("elicitation/create", "Really?")
    await client.say(id=ask["id"], result=answer)
    assert await text_of(client, call) == said


@pytest.mark.shows("C-ADP-05", "C-ADP-06", "C-ADP-07", "C-TST-06", "X-BUG-63")
async def test_listeners_hear_of_new_roots_in_order_and_may_ask_for_them(client: PipeClient, studio: Studio) -> None:
    heard: list[Any] = []

    @studio.server.on_roots_changed
    async def first(roots: RootsClient) -> None:
        heard.append([one.uri for one in await roots.list()])

    @studio.server.on_roots_changed
    def second(roots: RootsClient) -> None:
        heard.append("second")
        raise RuntimeError("broken")

    await client.hello(ready=False, **ALL)
    await client.say(method="notifications/roots/list_changed")
    assert heard == []
    assert client.asks == []
    await client.say(method="notifications/initialized")
    call = await client.start("folders")
    await client.say(id=(await client.next_ask())["id"], result=ROOTS)
    await client.response(call)

    @studio.server.on_roots_changed
    def late(roots: RootsClient) -> None:
        heard.append("late")

    await client.say(method="notifications/roots/list_changed")
    ask = await client.next_ask()
    assert ask["method"] == "roots/list"
    assert heard == [], "in order: the second waits for the first"
    ping = await client.start("confirm")
    assert (await client.next_ask())["method"] == "elicitation/create", "the connection is not blocked meanwhile"
    await client.say(id=ask["id"], result={"roots": [{"uri": "file:///new"}]})
    assert heard == [["file:///new"], "second", "late"]
    await client.say(method="notifications/cancelled", params={"requestId": ping})


@pytest.mark.shows("C-SEQ-01", "C-TST-08", "X-CON-54")
async def test_nothing_is_asked_before_the_client_is_ready(client: PipeClient) -> None:
    await client.hello(ready=False, **ALL)
    call = await client.start("confirm")
    assert "got no answer" in await text_of(client, call)
    assert client.asks == []
    await client.say(method="notifications/initialized")
    call = await client.start("confirm")
    await client.say(id=(await client.next_ask())["id"], result={"action": "decline"})
    assert await text_of(client, call) == "decline {}"


@pytest.mark.shows("C-SEQ-03")
async def test_nothing_is_told_before_the_client_is_ready() -> None:
    backend = ScriptedBackend()
    house = House({"shop": backend})
    client = PipeClient(house, "/servers/shop/mcp")
    await client.hello(ready=False)
    await client.say(id="list", method="tools/list")
    backend.notify("notifications/tools/list_changed")
    await let_run()
    assert "list_changed" not in str(client.said[1:])
    await client.say(method="notifications/initialized")
    backend.notify("notifications/tools/list_changed")
    await let_run()
    assert client.said[-1]["method"] == "notifications/tools/list_changed"
    await client.close()
    await house.close()


async def test_a_client_that_declared_nothing_is_asked_nothing(client: PipeClient) -> None:
    await client.hello()
    call = await client.start("mood")
    assert (await client.response(call))["result"]["isError"] is True
    assert client.asks == []


@pytest.mark.shows("EB-D5")
async def test_two_calls_on_one_pipe_may_ask_and_the_guess_is_labelled() -> None:
    backend = shop(_for_ever)
    house = House({"shop": backend})
    client = PipeClient(house, "/servers/shop/mcp")
    await client.hello(**ALL)
    calls = [await client.start(tool) for tool in ("dig", "craft")]
    backend.ask("elicitation/create", FORM, "late")
    ask = await client.next_ask()
    assert ask["params"]["message"] == "(belongs to one of: dig, craft) Which colour?"
    await client.say(id=ask["id"], result={"action": "decline"})
    assert backend.cancelled == []
    for call in calls:
        await client.say(method="notifications/cancelled", params={"requestId": call})
    await client.close()
    await house.close()


async def _for_ever(turn: Turn) -> Any:
    await asyncio.Event().wait()


async def test_the_end_of_input_ends_what_is_asked() -> None:
    backend = shop()
    house = House({"shop": backend})
    client = PipeClient(house, "/servers/shop/mcp")
    await client.hello(**ALL)
    await client.start("paint")
    await client.next_ask()
    await client.close()
    await let_run()
    assert wire(backend, "notifications/cancelled")["requestId"]
    assert [one for one in backend.received if not hasattr(one, "method")]
    await house.close()
