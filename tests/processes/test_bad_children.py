"""The real gateway over real pipes with children that misbehave, all at once, and one that does not: each call is told
what its own child did, and the good child's call goes on. And the gateway added to itself, by its real address."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.support.http_wire import LegacyWire
from tests.support.processes import alive, all_gone
from tests.support.real_gateway import Pids, serving, stdio_entry, write_config

TOO_LONG = 33 * 2**20
"""Bytes; a message of a child may have 32 MiB."""


def configured(folder: Path, pids: Pids) -> Path:
    flags = {
        "good": (),
        "giant": (),
        "crashing": (),
        "printing": ("--rubbish",),
        "exiting": ("--exit-with", "3"),
        "shy": ("--exit-on-probe",),
    }
    servers: dict[str, Any] = {name: stdio_entry(pids, name, *more) for name, more in flags.items()}
    servers["missing"] = {"command": "/no/such/program"}
    servers["shell"] = {"command": "echo", "args": ["usage: server [--stdio]"]}
    return write_config(folder, servers)


async def call(port: int, server: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    client = await LegacyWire.arrive(port, f"/servers/{server}/mcp")
    found = await client.call("tools/call", {"name": tool, "arguments": arguments})
    await client.end()
    return found


async def test_each_child_is_told_for_what_it_does_and_none_disturbs_another(tmp_path: Path) -> None:
    pids = Pids(tmp_path / "pids")
    async with serving(configured(tmp_path, pids), pids=pids) as gateway:
        asked = {
            "good": ("slow", {"seconds": 3}),
            "giant": ("big", {"bytes": TOO_LONG}),
            "crashing": ("crash", {"code": 7}),
            "printing": ("echo", {"text": "still here"}),
            "exiting": ("echo", {"text": ""}),
            "shy": ("echo", {"text": "shy"}),
            "missing": ("echo", {"text": ""}),
            "shell": ("echo", {"text": ""}),
        }
        answers = await asyncio.gather(*(call(gateway.port, name, *words) for name, words in asked.items()))
        found = dict(zip(asked, answers, strict=True))
        reasons = {name: one["error"]["data"]["reason"] for name, one in found.items() if "error" in one}
        assert reasons == {
            "giant": "backend_violation",
            "crashing": "outcome_unknown",
            "exiting": "backend_unavailable",
            "missing": "backend_unavailable",
            "shell": "backend_unavailable",
        }
        said = {name: one["result"]["content"][0]["text"] for name, one in found.items() if "result" in one}
        assert said == {"good": "done", "printing": "still here", "shy": "shy"}
        assert "exited with code 7" in found["crashing"]["error"]["message"]
        assert "crashing as told" in found["crashing"]["error"]["message"], "its last word is the best hint"
        again = await call(gateway.port, "crashing", "echo", {"text": "back"})
        assert again["result"]["content"][0]["text"] == "back"
        assert not {"internal_error", "task_failed_unexpectedly"} & set(gateway.events())
    # What was killed last may take the system a moment on a busy machine.
    assert await all_gone(pids.all(), 1.0), [pid for pid in pids.all() if alive(pid)]


async def test_the_gateway_is_not_added_to_itself_while_it_listens(tmp_path: Path) -> None:
    async with serving(write_config(tmp_path, {})) as gateway:
        client = await LegacyWire.arrive(gateway.port, "/mcp")
        for host in ("localhost", "127.0.0.1", "[::1]", "0.0.0.0"):
            for path in ("/mcp", "/direct/mcp"):
                arguments = {"name": "me", "url": f"http://{host}:{gateway.port}{path}"}
                found = await client.call("tools/call", {"name": "add_server", "arguments": arguments})
                assert found["result"]["isError"], found
                error = json.loads(found["result"]["content"][0]["text"])["error"]
                assert error["code"] == "TOOL_ERR_INVALID_ARGUMENTS", error
                assert "this gateway itself" in error["message"]
