"""Secrets planted wherever one can be configured or sent, every error provoked: none is in a log line, in an error, or
in a listing.

The real program with all its log levels open, as somebody would run it who looks for a mistake. What a server is given
it may say (its result is its own); here only what the gateway itself says is searched.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.raw_server import HungUp, Wire, raw_server
from tests.support.real_gateway import Program, serving, stdio_entry, write_config

MARK = "CANARY"
Json = dict[str, Any]


class Marks:
    """Each a different one, so that a failure says which place leaks."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def new(self, place: str) -> str:
        self.made.append(f"{MARK}{len(self.made)}{place}")
        return self.made[-1]

    def found_in(self, text: str) -> list[str]:
        return [mark for mark in self.made if mark in text]


def said(program: Program, message: Json, headers: dict[str, str]) -> tuple[dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", program.port, timeout=20)
    sent = {"content-type": "application/json", "accept": "application/json, text/event-stream"} | headers
    connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0"} | message), sent)
    answer = connection.getresponse()
    found = {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
    connection.close()
    return found


class Client:
    """One legacy session on the meta-tools; keeps all that it was answered."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._headers: dict[str, str] = {}
        self.heard: list[str] = []

    async def ask(self, method: str, params: Json) -> str:
        message = {"id": len(self.heard), "method": method, "params": params}
        headers, text = await asyncio.to_thread(said, self._program, message, self._headers)
        if "mcp-session-id" in headers:
            self._headers = {"mcp-session-id": headers["mcp-session-id"]}
        self.heard.append(text)
        return text

    async def tool(self, name: str, arguments: Json, **meta: Any) -> str:
        return await self.ask("tools/call", {"name": name, "arguments": arguments, "_meta": meta})


async def unfriendly(wire: Wire) -> None:
    """Answers with the status that the path names, and no word of MCP; `echo` repeats the request, as proxies do."""
    with contextlib.suppress(HungUp):
        while True:
            asked = await wire.request()
            status, _, echoes = asked.target.partition("?")[0].strip("/").partition("-")
            if status == "garbled":
                await wire.say(b"SSH-2.0-OpenSSH_9.6\r\n")
                wire.close()
                return
            body = repr((asked.target, asked.headers, asked.body)) if echoes else "nothing of that kind here"
            headers = {"content-type": "text/plain", "location": "/elsewhere"}
            await wire.answer(body.encode(), f"{status} Said", **headers)


UNFRIENDLY = ("200", "302", "401", "403-echo", "404", "400-echo", "500-echo", "503", "garbled")


def remote(url: str, path: str, marks: Marks) -> Json:
    """A URL with a secret in each place that may hold one, and headers with others."""
    user, word = marks.new("user"), marks.new("password")
    full = url.replace("http://", f"http://{user}:{word}@").removesuffix("/mcp").rstrip("/")
    query = f"?api_key={marks.new('query')}"
    headers = {"Authorization": f"Bearer {marks.new('bearer')}", "X-Own": marks.new("header")}
    if path == "302":
        # Without it the user and password become the header.
        del headers["Authorization"]
    return {"url": f"{full}/{path}{query}", "headers": headers}


def local(marks: Marks, *flags: str) -> Json:
    entry = stdio_entry(None, "local", *flags)
    return entry | {"env": {"SOME_TOKEN": marks.new("env")}}


@pytest.mark.shows("A-LOG-05")
async def test_no_secret_is_in_any_log_line_error_or_listing(tmp_path: Path) -> None:
    configured, spoken = Marks(), Marks()
    async with raw_server(unfriendly) as server:
        servers = {f"far-{path}": remote(server.url, path, configured) for path in UNFRIENDLY}
        servers |= {"gone": remote("http://127.0.0.1:1", "x", configured)}
        servers |= {"exits": local(configured, "--exit-with", "3"), "near": local(configured)}
        token = configured.made[-1]
        nowhere = {"command": "no-such-program-anywhere", "args": ["--token", configured.new("arg")]}
        servers |= {"nowhere": nowhere | {"env": {"A": configured.new("env")}}}
        async with serving(write_config(tmp_path, servers), "--log-level", "debug") as gateway:
            client = Client(gateway)
            info = {"name": "t", "version": "1"}
            await client.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info})
            for name in servers:
                await client.tool("execute_tool", {"server": name, "tool": "t", "args": {"a": spoken.new("argument")}})
                await client.tool("reconnect_server", {"server": name})
                await client.tool("get_server_status", {"server": name})
            for number, entry in enumerate([remote(server.url, path, configured) for path in UNFRIENDLY]):
                await client.tool("add_server", {"name": f"new{number}"} | entry)
            for bad in ("ftp://u:{}@h/", "http://u:{}@h:99999/", "http://u:{}@[::1/", "http://h /?{}", "{}"):
                await client.tool("add_server", {"name": "bad", "url": bad.format(configured.new("badurl"))})
            for value in ("a\r\nX: {}", "{}\0", "{}\u2028"):
                headers = {"X-Bad": value.format(configured.new("badheader"))}
                await client.tool("add_server", {"name": "bad", "url": "http://127.0.0.1:1/", "headers": headers})
            await client.tool("add_server", {"name": "bad", "command": "x", "env": {"A=B": configured.new("badenv")}})
            await client.tool("list_servers", {})
            await client.tool("list_tools", {"detail": "full"})
            text = {"server": "near", "tool": "echo", "args": {"text": spoken.new("result")}}
            assert "result" in spoken.found_in(await client.tool("execute_tool", text))[0]
            await client.tool("execute_tool", text, progressToken=spoken.new("token"))
            await client.tool("execute_tool", text | {"args": spoken.new("misspelt")})
            await client.tool("execute_tool", text | {"tool": "nope"})
            told = {"server": "near", "tool": "say_on_stderr", "args": {"text": f"using {token}"}}
            await client.tool("execute_tool", told)
            await client.tool("execute_tool", {"server": "near", "tool": "crash"})
            await client.ask("tools/call", {"name": 5, "arguments": spoken.new("wrong")})
            await client.ask("resources/subscribe", {"uri": spoken.new("uri"), "more": 1})
        log, heard = "".join(gateway.log), "".join(client.heard)
        given = "".join(f"{asked.target} {asked.headers}" for asked in server.requests)
        assert len(configured.found_in(given)) > 2 * len(UNFRIENDLY)
        assert log.count('"server_connect_failed"') > len(UNFRIENDLY)
        assert configured.found_in(log) == []
        assert configured.found_in(heard) == []
        assert spoken.found_in(log) == []
