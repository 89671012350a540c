"""server-everything behind the gateway: its asking tools with other people's clients, and the Inspector's CLI on each
surface. The one rule: neither the server nor a client knows that somebody is between them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.interop.clients import Client
from tests.interop.conftest import TABLES, installed
from tests.interop.servers import NPM, npm_server
from tests.interop.test_asks import ASKED, step, told_by
from tests.support.children import free_port, running
from tests.support.third_party import node_environment, npm_folder, npm_program

INSPECTOR = ("inspector", "@modelcontextprotocol/inspector@2.12.0")
TRANSPORTS = ("stdio", "http")
ASKING = {
    "trigger-elicitation-request": ({}, '"action": "accept"'),
    "trigger-sampling-request": ({"prompt": "write 7", "maxTokens": 10}, "written 7"),
    "get-roots-list": ({}, "file:///work"),
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("everything")
    installed(npm_folder, *NPM)
    line = npm_server("everything")
    entries: dict[str, Any] = {"stdio": {"command": line[0], "args": line[1:]}}
    with ExitStack() as stack:
        port = free_port()
        environment = {**node_environment(), "PORT": str(port)}
        stack.enter_context(running(npm_server("everything", "streamableHttp"), folder / "http.log", port, environment))
        entries["http"] = {"url": f"http://127.0.0.1:{port}/mcp"}
        config = folder / "mcp.json"
        config.write_text(json.dumps({"mcpServers": entries, "emceepee": {"roots_bridge": True}}))
        port = free_port()
        command = [sys.executable, "-m", "emceepee", "serve", "--config", str(config), "--port", str(port)]
        stack.enter_context(running([*command, "--no-state"], folder / "gateway.log", port))
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("server", TRANSPORTS)
@pytest.mark.parametrize("client", ASKED, ids=lambda client: client.name.replace(" ", "-"))
def test_what_it_asks_is_answered_by_the_client(client: Client, server: str, gateway: str) -> None:
    steps = [step("call", name=name, arguments=given) for name, (given, _) in ASKING.items()]
    told = told_by(client, f"{gateway}/servers/{server}/mcp", steps)
    found = ["".join(one.get("value", {}).get("texts", [])) for one in told]
    wrong = [text for text, (_, holds) in zip(found, ASKING.values(), strict=True) if holds not in text]
    TABLES.setdefault("everything", [("client", "server", "asks")]).append((client.name, server, str(wrong or "ok")))
    assert wrong == []


def inspected(url: str, *more: str) -> tuple[int, str]:
    folder = installed(npm_folder, *INSPECTOR)
    program = npm_program(folder, "@modelcontextprotocol/inspector", "clients/launcher/build/index.js")
    command = [*program, "--cli", url, "--transport", "http", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=node_environment())
    return done.returncode, done.stdout + done.stderr


CALL = ("--method", "tools/call", "--tool-name")


@pytest.mark.parametrize(
    ("path", "more", "holds"),
    [
        ("/servers/stdio/mcp", ("--method", "tools/list"), '"echo"'),
        ("/servers/stdio/mcp", (*CALL, "echo", "--tool-arg", "message=hi"), "Echo: hi"),
        ("/servers/stdio/mcp", ("--method", "resources/list"), "demo://resource/static/document/architecture.md"),
        ("/servers/stdio/mcp", ("--method", "prompts/get", "--prompt-name", "simple-prompt"), "simple prompt"),
        ("/direct/mcp", (*CALL, "stdio__echo", "--tool-arg", "message=hi"), "Echo: hi"),
        ("/mcp", ("--method", "resources/list"), "emceepee://diagrams"),
        ("/servers/stdio/mcp", (*CALL, "trigger-elicitation-request"), "tool_not_found"),
    ],
)
def test_the_inspectors_cli_reaches_it_on_each_surface(
    path: str, more: tuple[str, ...], holds: str, gateway: str
) -> None:
    """A tool that asks is no tool for who cannot be asked: the server offers it only where it may ask."""
    code, said = inspected(gateway + path, *more)
    assert holds in said
    assert (code == 0) == (holds != "tool_not_found")
