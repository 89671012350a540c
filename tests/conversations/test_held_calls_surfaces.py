"""Held calls on every surface and over both transports."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from emceepee.front.stdio import StdioFront
from tests.conversations.house import CAPABILITIES, MODERN, VERSION, House, Json, let_run
from tests.conversations.test_asks import FORM, asker, said_of
from tests.conversations.test_held_calls import ABLE, ACCEPT, CALL, back, heard, sent_away, shop, stubborn
from tests.support.scripted_backend import ScriptedBackend

EXECUTE: Json = {"name": "execute_tool", "arguments": {"server": "shop", "tool": "paint", "args": {"n": 1}}}
PAINT: Json = {"name": "paint", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/servers/shop/mcp", CALL),
        ("/servers/shop/mcp/w/notes", CALL),
        ("/direct/mcp", CALL | {"name": "shop__paint"}),
        ("/mcp", EXECUTE),
        ("/mcp/w/notes", EXECUTE),
    ],
)
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_client_is_sent_away_on_every_surface(path: str, params: Json, era: Any) -> None:
    async def modern(turn: Any) -> Json:
        if "inputResponses" in turn.params:
            return {"content": [], "structuredContent": {"answers": list(turn.params["inputResponses"].values())}}
        request = {"method": "elicitation/create", "params": {"mode": "form"} | FORM}
        return {"resultType": "input_required", "inputRequests": {"k": request}}

    call = asker() if era == "legacy" else modern
    backend = ScriptedBackend(era, answers={"tools/call": call}, tools=[PAINT])
    house = House({"shop": backend})
    client = house.modern_client(path, ABLE)
    told = await sent_away(house, client, params)
    (key,) = told["inputRequests"]
    given = params | {"inputResponses": {key: ACCEPT}}
    result = await client.result("tools/call", given | {k: v for k, v in told.items() if k == "requestState"})
    assert result["structuredContent"] == {"answers": [ACCEPT]}
    assert len(house.gateway.holds) == 0
    await house.close()


async def test_execute_tool_waits_for_a_person_and_not_for_its_own_time() -> None:
    async def slow(turn: Any) -> Json:
        answer = said_of(await turn.ask("elicitation/create", FORM, f"{turn.id}-0"))
        await asyncio.Event().wait()
        return answer  # type: ignore[no-any-return]

    backend = shop(slow)
    house = House({"shop": backend})
    client = house.modern_client("/mcp", ABLE)
    params = EXECUTE | {"arguments": EXECUTE["arguments"] | {"timeout_ms": 50_000}}
    started = client.start("tools/call", params)
    await let_run()
    await house.clock.advance(0.03)
    told = (await started.done()).json["result"]
    # Longer than it may take by itself.
    await house.clock.advance(500)
    (key,) = told["inputRequests"]
    again = client.start("tools/call", back(told, {key: ACCEPT}, params))
    await house.clock.advance(49)
    assert not again.complete
    await house.clock.advance(1)
    await again.done()
    said = json.loads((again.events[-1])["result"]["content"][0]["text"])
    assert (said["timeout"], said["task"]["status"]) == (True, "working")
    assert [one for _, one in heard(backend)] == [ACCEPT]
    await house.close()


async def test_what_the_client_cannot_be_asked_itself_goes_to_its_tools() -> None:
    house = House({"shop": shop(asker("sampling/createMessage"))})
    client = house.modern_client("/mcp", {"elicitation": {}})
    started = client.start("tools/call", EXECUTE)
    await let_run()
    said = json.loads((await started.done()).json["result"]["content"][0]["text"])
    assert said["input_required"] is True
    await house.close()


async def test_the_end_of_a_workspace_ends_what_is_held_there() -> None:
    backend = shop(stubborn)
    house = House({"shop": backend})
    client = house.modern_client("/mcp", ABLE)
    opened = await client.result("tools/call", {"name": "open_workspace", "arguments": {}})
    handle = json.loads(opened["content"][0]["text"])["workspace"]
    params = EXECUTE | {"arguments": EXECUTE["arguments"] | {"workspace": handle}}
    await sent_away(house, client, params)
    assert len(house.gateway.holds) == 1
    await client.result("tools/call", {"name": "close_workspace", "arguments": {"workspace": handle}})
    await let_run()
    assert len(house.gateway.holds) == 0
    assert [one for _, one in heard(backend)] == [{"action": "cancel"}]
    await house.close()


async def test_a_gateway_that_ends_tells_every_server_that_waits() -> None:
    backend = shop(stubborn)
    house = House({"shop": backend})
    await sent_away(house, house.modern_client("/servers/shop/mcp", ABLE))
    await house.close()
    assert [one for _, one in heard(backend)] == [{"action": "cancel"}]
    assert len(backend.cancelled) == 1


class Pipe:
    """A client on pipes."""

    def __init__(self, house: House, path: str) -> None:
        self._in: asyncio.Queue[bytes] = asyncio.Queue()
        self.out: list[Json] = []
        surface = house.gateway.surface(path)
        assert surface is not None
        front = StdioFront(house.gateway.shop, house.gateway.directory, surface, self._in.get, self._write)
        self.running = asyncio.ensure_future(front.run())

    async def _write(self, data: bytes) -> None:
        self.out += [json.loads(line) for line in data.splitlines()]

    def send(self, request_id: int, params: Json) -> None:
        meta = {VERSION: MODERN, CAPABILITIES: ABLE}
        message = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params | {"_meta": meta}}
        self._in.put_nowait(json.dumps(message).encode() + b"\n")

    async def close(self) -> None:
        self._in.put_nowait(b"")
        await self.running


async def test_a_client_on_pipes_is_sent_away_as_well() -> None:
    backend = shop()
    house = House({"shop": backend})
    pipe = Pipe(house, "/servers/shop/mcp")
    pipe.send(1, CALL)
    await let_run()
    await house.clock.advance(0.03)
    (first,) = pipe.out
    assert (first["id"], first["result"]["resultType"]) == (1, "input_required")
    (key,) = first["result"]["inputRequests"]
    pipe.send(2, back(first["result"], {key: ACCEPT}))
    await let_run()
    second = pipe.out[1]
    assert (second["id"], second["result"]["structuredContent"]) == (2, {"answers": [ACCEPT]})
    await pipe.close()
    await house.close()
