"""Other people's servers behind one gateway, side by side, with some that are down or say nothing at all."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import mcp
import pytest

from tests.interop.conftest import TABLES, installed
from tests.interop.servers import Called, calls, install, on_stdio, over_http, write_config
from tests.support.children import free_port, running

DEAD = ("down", "hangs", "hangs-stdio")
LISTED_SECONDS = 4.0
"""The gateway waits two seconds for slow servers; the rest is this machine's."""
START_SECONDS = 60.0


@dataclass(frozen=True)
class House:
    url: str
    called: list[Called]

    @property
    def alive(self) -> set[str]:
        return {called.server for called in self.called}

    def client(self, path: str = "/mcp", mode: Any = "auto") -> mcp.Client:
        return mcp.Client(self.url + path, mode=mode)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    installed(install)
    folder = tmp_path_factory.mktemp("servers").resolve()
    with ExitStack() as stack:
        silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        entries = {
            **on_stdio(folder),
            **over_http(stack, folder),
            "down": {"url": f"http://127.0.0.1:{free_port()}/mcp"},
            "hangs": {"url": f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"},
            "hangs-stdio": {"command": sys.executable, "args": ["-c", "import time; time.sleep(3600)"]},
        }
        config, port = write_config(folder, entries), free_port()
        command = [
            sys.executable,
            "-m",
            "emceepee",
            "serve",
            "--config",
            str(config),
            "--port",
            str(port),
            "--no-state",
        ]
        stack.enter_context(running(command, folder / "gateway.log", port))
        yield House(f"http://127.0.0.1:{port}", calls(folder))


async def asked(client: mcp.Client, tool: str, arguments: dict[str, Any] | None = None) -> Any:
    """What a tool of the gateway answers; its own answer is the first block."""
    result = await client.call_tool(tool, arguments or {})
    assert not result.is_error, result.content
    return json.loads(texts(result)[0])


def texts(result: Any) -> list[str]:
    return [block.text for block in result.content if block.type == "text"]


async def all_listed(client: mcp.Client, alive: set[str]) -> dict[str, dict[str, Any]]:
    """The servers as `list_tools` tells them, once all that live have been heard of."""
    async with asyncio.timeout(START_SECONDS):
        while True:
            told = await asked(client, "list_tools", {"detail": "names"})
            lines = {line["name"]: line for line in told["servers"]}
            if all("tools" in lines[name] for name in alive):
                return lines
            await asyncio.sleep(0.2)


async def test_a_list_has_all_that_live_and_marks_the_dead_without_waiting(house: House) -> None:
    async with house.client() as client:
        first, _ = await timed_list(client)
        lines = await all_listed(client, house.alive)
        again, tools = await timed_list(client)
        await note(client, lines, f"list_tools: {first:.1f} s at first, {again:.1f} s later")
    owners = {tool["server"] for tool in tools}
    assert first < LISTED_SECONDS
    assert again < 1.0, "a server that hangs is waited for once"
    assert owners == house.alive
    assert {name for name, line in lines.items() if line["status"] != "fresh"} == set(DEAD)
    assert all(lines[name]["why"] for name in DEAD)


async def timed_list(client: mcp.Client) -> tuple[float, list[dict[str, Any]]]:
    began = time.monotonic()
    told = await asked(client, "list_tools", {"detail": "names"})
    return time.monotonic() - began, told["tools"]


async def note(client: mcp.Client, lines: dict[str, dict[str, Any]], last: str) -> None:
    rows = TABLES.setdefault("servers", [("server", "tools", "state", "revision", "why")])
    for name, line in lines.items():
        status = await asked(client, "get_server_status", {"server": name})
        why, revision = str(line.get("why", "")), str(status.get("protocolVersion", ""))
        rows.append((name, str(line.get("tools", "")), line["status"], revision, why[:90]))
    rows.append((last, "", "", "", ""))


async def test_each_server_answers_a_call_through_the_meta_tools(house: House) -> None:
    wrong = []
    async with house.client() as client:
        for called in house.called:
            given = {"server": called.server, "tool": called.tool, "args": called.arguments}
            result = await client.call_tool("execute_tool", given)
            if result.is_error or called.holds not in texts(result)[0]:
                wrong.append((called, result.content))
    assert not wrong


async def test_each_server_answers_a_call_by_its_merged_name(house: House) -> None:
    names = {f"{called.server}__{called.tool}": called for called in house.called}
    async with house.client() as client:
        await all_listed(client, house.alive)
    async with house.client("/direct/mcp") as direct:
        listed = {tool.name for tool in (await direct.list_tools()).tools}
        wrong = [name for name, called in names.items() if not await answers(direct, name, called)]
    assert names.keys() <= listed
    assert not wrong


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_each_server_answers_a_call_as_if_there_were_no_gateway(house: House, mode: Any) -> None:
    wrong = []
    for called in house.called:
        async with house.client(f"/servers/{called.server}/mcp", mode) as alone:
            if not await answers(alone, called.tool, called):
                wrong.append(called)
    assert not wrong


async def answers(client: mcp.Client, name: str, called: Called) -> bool:
    result = await client.call_tool(name, called.arguments)
    # `create_entities` answers with what is new, and every call but the first creates nothing.
    holds = called.holds if called.server != "memory" else ""
    return not result.is_error and holds in "".join(texts(result))


@pytest.mark.parametrize("server", DEAD)
async def test_a_dead_server_is_an_error_of_its_own_calls_only(house: House, server: str) -> None:
    given = {"server": server, "tool": "echo", "args": {}, "timeout_ms": 3000}
    async with house.client() as client, asyncio.timeout(15):
        result = await client.call_tool("execute_tool", given)
    assert result.is_error
    assert server in texts(result)[0]
