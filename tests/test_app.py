"""The composition root: what a path leads to, what starts with the gateway, and that all of it ends."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.app import Gateway, open_backends, serve_http
from emceepee.backends.definition import InProcess, ServerDefinition
from emceepee.config.load import DEMO
from emceepee.config.settings import Settings
from emceepee.errors import OperatorFault
from emceepee.front.server import bind
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import to_raw
from tests.conversations.house import House
from tests.support.scripted_backend import ScriptedBackend


async def test_a_path_leads_to_its_surface_and_a_servers_path_lives_as_long_as_the_server() -> None:
    gateway = Gateway(definitions=[DEMO])
    names = {path: surface.name for path in ("/mcp", "/direct/mcp") if (surface := gateway.surface(path)) is not None}
    assert set(names) == {"/mcp", "/direct/mcp"}
    demo = gateway.surface("/servers/demo/mcp")
    assert demo is gateway.surface("/servers/demo/mcp")
    assert gateway.surface("/servers/nobody/mcp") is gateway.surface("/else") is None
    gateway.registry.remove("demo")
    assert gateway.surface("/servers/demo/mcp") is None
    await gateway.close()


@pytest.mark.shows("X-CON-41")
async def test_hello_is_said_without_waiting_for_any_server() -> None:
    silent = {
        f"s{n}": ScriptedBackend("legacy", {"server/discover": "silent", "initialize": "silent"}) for n in range(5)
    }
    house = House(silent)
    client = await house.legacy_client("/mcp")
    assert client.welcome["serverInfo"]["name"] == "emceepee"
    assert (await house.legacy_client("/direct/mcp")).welcome["capabilities"]["tools"]
    await house.close()


async def test_closing_leaves_no_task_behind() -> None:
    before = asyncio.all_tasks()
    gateway = Gateway(definitions=[DEMO])
    gateway.start()
    surface = gateway.surface("/servers/demo/mcp")
    assert surface is not None
    call = Call("tools/call", {"name": to_raw("echo"), "arguments": to_raw({"text": "hi"})}, Caller())
    assert isinstance(await surface.carry(call, None), Done)
    await gateway.close()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_a_port_that_is_taken_is_said_before_anything_is_started() -> None:
    taken = bind("127.0.0.1", 0)
    with pytest.raises(OperatorFault, match=r"Cannot listen on 127\.0\.0\.1"):
        await serve_http(Settings(port=taken.port), [DEMO])
    taken.socket.close()


async def test_the_command_lines_own_connections_end_with_their_block() -> None:
    async with open_backends([ServerDefinition("d", InProcess("demo"))], {}) as pool:
        connection = await pool.connection("d", "local")
        assert connection.about.offers("tools")
    assert len(pool) == 0
