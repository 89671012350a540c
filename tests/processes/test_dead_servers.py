"""Five servers that are dead or hang, each in its own way, beside five that are well: whoever comes is greeted at once,
lists come within their budget, and calls to the healthy ones are answered. By how much these are slowed down is told by
`make bench-dead`.
"""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path

from emceepee.backends.definition import HttpEndpoint
from tests.faults.backends import HttpProcess
from tests.support.children import free_port
from tests.support.http_wire import USUAL, HttpWire, Json, LegacyWire, message
from tests.support.real_gateway import serving, write_config

HEALTHY = tuple(f"good{number}" for number in range(5))
GREETED = 0.1
LISTED = 2.0
SLACK = 1.0
"""For a busy machine."""
NORMAL = 2.0


def configured(folder: Path, healthy: str, silent: socket.socket) -> Path:
    dead: dict[str, Json] = {
        "refused": {"url": f"http://127.0.0.1:{free_port()}/mcp"},
        "hanging": {"url": f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"},
        "silent": {"command": "sleep", "args": ["600"]},
        "ending": {"command": "false"},
        "missing": {"command": "/no/such/program"},
    }
    return write_config(folder, {name: {"url": healthy} for name in HEALTHY} | dead)


async def greeted(port: int) -> float:
    """How long one `initialize` takes."""
    wire = HttpWire(port)
    info = {"name": "wire", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    began = time.monotonic()
    head = await wire.begin("POST", "/mcp", USUAL, message("initialize", params, 1))
    took = time.monotonic() - began
    assert head.status == 200
    await wire.body()
    wire.leave()
    return took


async def test_dead_servers_hold_up_neither_a_greeting_nor_a_list_nor_the_living(tmp_path: Path) -> None:
    server = HttpProcess("legacy", tmp_path)
    launch = await server.start()
    assert isinstance(launch, HttpEndpoint)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(128)
        async with serving(configured(tmp_path, launch.url, silent)) as gateway:
            greetings = [await greeted(gateway.port) for _ in range(5)]
            assert sorted(greetings)[2] < GREETED, greetings
            client = await LegacyWire.arrive(gateway.port, "/mcp")
            began = time.monotonic()
            found = await client.call("tools/call", {"name": "list_tools", "arguments": {}})
            assert time.monotonic() - began < LISTED + SLACK
            listed = json.loads(found["result"]["content"][0]["text"])
            assert {tool["server"] for tool in listed["tools"]} == set(HEALTHY)
            assert {"refused", "hanging", "silent", "ending", "missing"} <= set(str(listed["servers"]).split("'"))
            for name in HEALTHY:
                began = time.monotonic()
                asked = {"server": name, "tool": "echo", "args": {"key": name}}
                answer = await client.call("tools/call", {"name": "execute_tool", "arguments": asked})
                assert answer["result"]["content"][0]["text"] == "done by 1"
                assert time.monotonic() - began < NORMAL
    await server.close()
