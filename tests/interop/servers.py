"""Which servers of other people there are: how each is started or configured, and a tool call with what it must answer.

Not here: assertions over runs (`test_servers.py`). The one rule: a call's answer is one that only this server gives.
"""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.interop.clients import DRIVERS, MCP1, MCP2
from tests.support.children import free_port, running
from tests.support.third_party import node_environment, npm_folder, npm_program, python_with

Json = dict[str, Any]

RELEASE = "2026.8.31"
NPM = (
    "npm-servers",
    *(f"@modelcontextprotocol/server-{name}@{RELEASE}" for name in ("everything", "filesystem", "memory")),
)
PYTHON = ("python-servers", "mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19")


@dataclass(frozen=True)
class Called:
    """A tool, its arguments, and what its text must hold."""

    server: str
    tool: str
    arguments: Json
    holds: str


def install() -> None:
    npm_folder(*NPM)
    for requirement in (PYTHON, MCP1, MCP2):
        python_with(*requirement)


def npm_server(name: str, *arguments: str) -> list[str]:
    return [*npm_program(npm_folder(*NPM), f"@modelcontextprotocol/server-{name}", "dist/index.js"), *arguments]


def on_stdio(folder: Path) -> dict[str, Json]:
    """Entries of a configuration file, as people write them."""
    commands = {
        "everything": npm_server("everything"),
        "files": npm_server("filesystem", str(folder)),
        "memory": npm_server("memory"),
        "time": [str(python_with(*PYTHON)), "-m", "mcp_server_time"],
        "git": [str(python_with(*PYTHON)), "-m", "mcp_server_git"],
        "modern-stdio": [str(python_with(*MCP2)), str(DRIVERS / "backend.py")],
    }
    entries: dict[str, Json] = {name: {"command": line[0], "args": line[1:]} for name, line in commands.items()}
    entries["memory"]["env"] = {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}
    entries["modern-stdio"]["env"] = {"NAME": "modern-stdio", "LEFT": str(folder / "left")}
    return entries


def over_http(stack: ExitStack, folder: Path) -> dict[str, Json]:
    """Servers on ports of their own, until the stack is left; what a configuration says of each."""
    kinds = {
        "modern-http": (MCP2, "http", "/mcp", {}),
        "legacy-http": (MCP1, "http", "/mcp", {}),
        "legacy-sse": (MCP1, "sse", "/sse", {"type": "sse"}),
    }
    entries: dict[str, Json] = {}
    for name, (requirement, transport, path, more) in kinds.items():
        port = free_port()
        command = [str(python_with(*requirement)), str(DRIVERS / "backend.py"), transport, str(port)]
        environment = {**os.environ, "NAME": name, "LEFT": str(folder / "left")}
        stack.enter_context(running(command, folder / f"{name}.log", port, environment))
        entries[name] = {"url": f"http://127.0.0.1:{port}{path}", **more}
    for name, transport, path in (("everything-http", "streamableHttp", "/mcp"), ("everything-sse", "sse", "/sse")):
        port = free_port()
        environment = {**node_environment(), "PORT": str(port)}
        stack.enter_context(running(npm_server("everything", transport), folder / f"{name}.log", port, environment))
        # Without a type: what it speaks is found out.
        entries[name] = {"url": f"http://127.0.0.1:{port}{path}"}
    return entries


def calls(folder: Path) -> list[Called]:
    note = folder / "note.txt"
    note.write_text("written by the test ✓")
    repository = folder / "repository"
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(repository)], check=True)
    entity = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
    noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    everything = ("everything", "everything-http", "everything-sse")
    own = ("modern-stdio", "modern-http", "legacy-http", "legacy-sse")
    return [
        *(Called(name, "echo", {"message": f"for {name}"}, f"Echo: for {name}") for name in everything),
        *(Called(name, "echo", {"text": f"for {name}"}, f"for {name}") for name in own),
        Called("files", "read_text_file", {"path": str(note)}, "written by the test ✓"),
        Called("memory", "create_entities", {"entities": [entity]}, "Ada"),
        Called("time", "convert_time", noon, "21:00"),
        Called("git", "git_status", {"repo_path": str(repository)}, "trunk"),
    ]


def write_config(folder: Path, entries: dict[str, Json]) -> Path:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": entries}))
    return file
