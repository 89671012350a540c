"""Other people's clients and servers, with the gateway between them, when the server asks in the middle of a call:
forms, sampling and roots, several at once, a thousand rounds; each answer goes to the question that it belongs to."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.interop.clients import CLIENTS, DRIVERS, MCP1, MCP2, TYPESCRIPT, Client
from tests.interop.conftest import TABLES, installed
from tests.support.children import free_port, running
from tests.support.third_party import node, npm_folder, python_with

ROUNDS, AT_ONCE, PARTS = 1000, 5, 5
KINDS = ("form", "sampling", "roots")
SERVERS = ("python 1.x stdio", "python 1.x http", "typescript 1.x http, GET", "python 2.x http")
ASKED = [client for client in CLIENTS if client.driver in ("mcp1", "mcp2", "typescript:sdk")]
HEAD = ("client", "server", *KINDS, "five at once")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """In front of four servers that ask, each in its way."""
    folder = tmp_path_factory.mktemp("asks")
    one, two = (str(installed(python_with, *wanted)) for wanted in (MCP1, MCP2))
    packages = installed(npm_folder, *TYPESCRIPT)
    entries: dict[str, Any] = {"s0": {"command": one, "args": [str(DRIVERS / "asker.py")]}}
    with ExitStack() as stack:
        for name, program in (
            ("s1", [one, str(DRIVERS / "asker.py"), "http"]),
            ("s2", [node(), str(DRIVERS / "asker.mjs"), str(packages)]),
            ("s3", [two, str(DRIVERS / "asker.py"), "http"]),
        ):
            port = free_port()
            stack.enter_context(running([*program, str(port)], folder / f"{name}.log", port))
            entries[name] = {"url": f"http://127.0.0.1:{port}/mcp"}
        config = folder / "mcp.json"
        bridge = {"roots_bridge": True}
        config.write_text(json.dumps({"mcpServers": entries, "emceepee": bridge}))
        port = free_port()
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
        yield f"http://127.0.0.1:{port}"


def told_by(client: Client, url: str, steps: list[dict[str, Any]], seconds: float = 120) -> list[dict[str, Any]]:
    command = installed(client.command, {"url": url, "asked": True, "steps": steps})
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"step"')]
    assert len(told) == len(steps), f"{done.stdout[-1000:]}\n{done.stderr[-3000:]}"
    return told


def step(do: str, **given: Any) -> dict[str, Any]:
    return {"name": do, "do": do, "with": given}


def expected(what: str, number: int) -> str:
    return {"form": f"accept: color {number}", "sampling": f"written {number}", "roots": "file:///work"}[what]


@pytest.mark.parametrize("server", range(len(SERVERS)), ids=lambda number: SERVERS[number].replace(" ", "-"))
@pytest.mark.parametrize("client", ASKED, ids=lambda client: client.name.replace(" ", "-"))
def test_each_answer_arrives_where_it_was_asked_for(client: Client, server: int, gateway: str) -> None:
    url = f"{gateway}/servers/s{server}/mcp"
    steps = [step("call", name="ask", arguments={"what": what, "number": 1}) for what in KINDS]
    told = told_by(client, url, [*steps, step("asked", what="form", rounds=4, at_once=AT_ONCE)])
    found = [one.get("value", {}).get("texts") if "value" in one else one for one in told[:-1]]
    wrong = told[-1].get("value", told[-1])
    marks = ["ok" if texts == [expected(what, 1)] else str(texts) for what, texts in zip(KINDS, found, strict=True)]
    TABLES.setdefault("asks", [HEAD]).append((client.name, SERVERS[server], *marks, str(wrong or "ok")))
    assert marks == ["ok"] * len(KINDS), found
    assert wrong == []


@pytest.mark.parametrize("part", range(PARTS))
def test_a_thousand_rounds_of_five_questions_cross_nowhere(part: int, gateway: str) -> None:
    client = next(one for one in ASKED if one.driver == "mcp1")
    given = {"what": "form", "rounds": ROUNDS // PARTS // 5, "at_once": AT_ONCE}
    steps = [step("asked", first=part * 100_000 + number * 10_000, **given) for number in range(5)]
    told = told_by(client, f"{gateway}/servers/s1/mcp", steps, seconds=400)
    assert [one.get("value", one) for one in told] == [[]] * 5
