"""Which clients there are, how each is started, and what is asked of it on each surface.

Not here: assertions over runs (`test_clients.py`). The one rule: every client is asked the same, in the words of the
surface: by the server's own names, by merged names, or through the meta-tools.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tests.support.third_party import node, npm_folder, python_with

DRIVERS = Path(__file__).parent / "drivers"
MODERN, LEGACY = "2026-07-28", "2025-11-25"

MCP1 = ("mcp1", "mcp==1.30.0")
MCP2 = ("mcp2", "mcp==2.3.0")
FASTMCP = ("fastmcp", "fastmcp==4.1.2")
TYPESCRIPT = ("typescript-client", "@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/client@2.4.0")

Check: TypeAlias = Callable[[Any], bool]


@dataclass(frozen=True)
class Client:
    name: str
    driver: str
    mode: str
    revision: str | None
    """What it must have agreed with us on; None where the client does not tell."""

    def command(self, plan: dict[str, Any]) -> list[str]:
        said = json.dumps({**plan, "mode": self.mode})
        if self.driver.startswith("typescript"):
            flavour = self.driver.partition(":")[2]
            return [node(), str(DRIVERS / "typescript.mjs"), str(npm_folder(*TYPESCRIPT)), flavour, said]
        python = python_with(*{"mcp1": MCP1, "mcp2": MCP2, "fastmcp4": FASTMCP}[self.driver])
        return [str(python), str(DRIVERS / f"{self.driver}.py"), said]


CLIENTS = (
    Client("mcp 1.30", "mcp1", "", None),
    Client("mcp 2.3 legacy", "mcp2", "legacy", LEGACY),
    Client("mcp 2.3 auto", "mcp2", "auto", MODERN),
    Client("fastmcp 4.1 legacy", "fastmcp4", "legacy", LEGACY),
    Client("fastmcp 4.1 auto", "fastmcp4", "auto", MODERN),
    Client("typescript sdk 1.32", "typescript:sdk", "", None),
    Client("typescript client 2.4 legacy", "typescript:client", "legacy", LEGACY),
    Client("typescript client 2.4 auto", "typescript:client", "auto", MODERN),
)


@dataclass(frozen=True)
class Step:
    name: str
    do: str
    given: dict[str, Any]
    holds: Check
    until: str | None = None

    def said(self) -> dict[str, Any]:
        again = {} if self.until is None else {"until": self.until}
        return {"name": self.name, "do": self.do, "with": self.given, **again}


@dataclass(frozen=True)
class Surface:
    """`path` over HTTP; `flag` for `--surface` on stdio; `servers` behind it that a client is to use."""

    name: str
    path: str
    flag: str
    servers: tuple[str, ...]

    def tool(self, server: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if self.name == "meta":
            return {"name": "execute_tool", "arguments": {"server": server, "tool": name, "args": arguments}}
        return {"name": self._merged(server, name), "arguments": arguments}

    def shown(self, texts: list[str]) -> list[str]:
        """What the server said: `execute_tool` may add blocks of its own after it."""
        return texts[:1] if self.name == "meta" else texts

    def _merged(self, server: str, name: str) -> str:
        return f"{server}__{name}" if self.name == "direct" else name


SERVERS = ("legacy", "modern")
SURFACES = (
    Surface("meta", "/mcp", "meta", SERVERS),
    Surface("direct", "/direct/mcp", "direct", SERVERS),
    *(Surface(server, f"/servers/{server}/mcp", f"server:{server}", (server,)) for server in SERVERS),
)


def steps_of(surface: Surface, label: str) -> list[Step]:
    listed = {"meta": "execute_tool", "direct": "modern__echo"}.get(surface.name, "echo")
    steps = [Step("list tools", "tools", {}, lambda names: listed in names, until=listed)]
    for server in surface.servers:
        steps.extend(_steps_with(surface, server, f"{label}/{server}"))
    return steps


def _steps_with(surface: Surface, server: str, label: str) -> list[Step]:
    def said_hello(told: Any) -> bool:
        return surface.shown(told["texts"]) == ["hello ✓"] and not told["error"]

    def counted(told: Any) -> bool:
        return told["progress"] == [1, 2, 3] and surface.shown(told["texts"]) == ["counted down from 3"]

    echo = surface.tool(server, "echo", {"text": "hello ✓"})
    add = surface.tool(server, "add", {"a": 2, "b": 3})
    short = surface.tool(server, "countdown", {"steps": 3, "seconds": 0.05, "label": label})
    long = surface.tool(server, "countdown", {"steps": 400, "seconds": 0.05, "label": label})
    return [
        Step("call", "call", echo, said_hello),
        Step("structured", "call", add, lambda told: told["structured"] == {"sum": 5.0}),
        _reading(surface, server),
        _prompting(surface, server),
        Step("progress", "progress", short, counted),
        Step("cancel", "cancel", long, lambda told: told["ended"] == "cancelled"),
        Step("call after it", "call", echo, said_hello),
    ]


def _reading(surface: Surface, server: str) -> Step:
    uri, text = f"note://{server}/one", f"a note of {server}"
    if surface.name == "meta":
        given = {"name": "read_resource", "arguments": {"server": server, "uri": uri}}
        return Step("read resource", "call", given, lambda told: text in told["texts"][0] and not told["error"])
    return Step("read resource", "read", {"uri": uri}, lambda told: told == text)


def _prompting(surface: Surface, server: str) -> Step:
    text = f"Introduce Ada, says {server}."
    arguments = {"who": "Ada"}
    if surface.name == "meta":
        given = {"name": "get_prompt", "arguments": {"server": server, "name": "introduce", "args": arguments}}
        return Step("get prompt", "call", given, lambda told: text in told["texts"][0] and not told["error"])
    name = f"{server}__introduce" if surface.name == "direct" else "introduce"
    return Step("get prompt", "prompt", {"name": name, "arguments": arguments}, lambda told: told == text)
