"""Other people's clients through the gateway: each step of each, on each surface, over HTTP and stdio."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.clients import CLIENTS, SURFACES, Client, Step, Surface, steps_of
from tests.interop.conftest import TABLES, installed
from tests.support.children import free_port, running

SESSION_SECONDS = 120
HEAD = ("client", "over", "surface", "list", "call", "struct.", "resource", "prompt", "progress", "cancel", "after")
COLUMNS = ("list tools", "call", "structured", "read resource", "get prompt", "progress", "cancel", "call after it")


@pytest.fixture(scope="module")
def gateway(config: Path) -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "emceepee", "serve", "--config", str(config), "--port", str(port), "--no-state"]
    with running(command, config.with_name("gateway.log"), port):
        yield f"http://127.0.0.1:{port}"


def way_in(transport: str, surface: Surface, gateway: str, config: Path) -> dict[str, Any]:
    if transport == "http":
        return {"url": gateway + surface.path}
    return {"command": sys.executable, "args": ["-m", "emceepee", "--surface", surface.flag, "--config", str(config)]}


def done_by(client: Client, way: dict[str, Any], steps: list[Step]) -> list[dict[str, Any]]:
    """What the client's driver told of each step, in their order."""
    command = installed(client.command, {**way, "steps": [step.said() for step in steps]})
    done = subprocess.run(command, capture_output=True, text=True, timeout=SESSION_SECONDS, check=False)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"step"')]
    assert len(told) == len(steps), f"{done.stdout[-1000:]}\n{done.stderr[-3000:]}"
    return told


def wrong(step: Step, told: dict[str, Any]) -> str | None:
    try:
        return None if "value" in told and step.holds(told["value"]) else f"{step.name}: {told}"
    except (KeyError, TypeError):
        return f"{step.name}: {told}"


def arrived(left: Path, label: str, seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if left.exists() and label in left.read_text().splitlines():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: surface.name)
@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name.replace(" ", "-"))
def test_a_client_does_all_it_can(
    client: Client, transport: str, surface: Surface, gateway: str, config: Path, left: Path
) -> None:
    label = f"{client.name}/{transport}/{surface.name}"
    steps = steps_of(surface, label)
    if client.revision is not None:
        steps.append(Step("revision", "revision", {}, lambda said: said == client.revision))
    told = done_by(client, way_in(transport, surface, gateway, config), steps)
    faults = [fault for step, one in zip(steps, told, strict=True) if (fault := wrong(step, one)) is not None]
    for server in surface.servers:
        if not arrived(left, f"{label}/{server}"):
            faults.append(f"cancel: never arrived at {server}")
    _note(client, transport, surface, faults)
    assert not faults, "\n".join(faults)


def _note(client: Client, transport: str, surface: Surface, faults: list[str]) -> None:
    rows = TABLES.setdefault("clients", [HEAD])
    failed = {fault.partition(":")[0] for fault in faults}
    marks = ("FAILED" if column in failed else "ok" for column in COLUMNS)
    rows.append((client.name, transport, surface.name, *marks))
