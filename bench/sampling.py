"""What `await ctx.sampler.ask(...)` of a local tool costs the gateway, beside a sampling request that it relays.

    python -m bench.sampling [--rounds 12] [--calls 300]

Both are a call of one tool whose server asks the client's model one question; the client is the same, over HTTP, and so
are the words. CPU is that of the gateway's process alone. Linux only. The one rule: the two take turns in one run, and
each answer is looked at.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.connection import WrongAnswer
from bench.processes import Program, free_port
from bench.wire import LEGACY_REVISION

MUST = 1.3
SAID = "melancholic"
_HEADERS = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"


class Line:
    """One connection, used for one exchange after another."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    def send(self, path: str, session: str, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        named = f"Mcp-Session-Id: {session}\r\nMcp-Protocol-Version: {LEGACY_REVISION}\r\n" if session else ""
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n{_HEADERS}{named}Content-Length: {len(body)}"
        self._writer.write(f"{head}\r\n\r\n".encode() + body)

    async def head(self) -> dict[str, str]:
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines[1:] if line)
        return {name.lower(): value.strip() for name, _, value in pairs}

    async def body(self, head: dict[str, str]) -> bytes:
        return await self._reader.readexactly(int(head.get("content-length", "0")))

    async def event(self) -> dict[str, Any]:
        """The next message of an event stream."""
        while True:
            line = await self._reader.readline()
            if line.startswith(b"data: {"):
                found: dict[str, Any] = json.loads(line[6:])
                return found

    async def end(self) -> None:
        """The rest of a stream whose last message was read."""
        await self._reader.readuntil(b"0\r\n\r\n")

    def close(self) -> None:
        self._writer.close()


class Client:
    """A session with a model, whose calls are asked one question each."""

    def __init__(self, port: int, path: str) -> None:
        self._path = path
        self._call, self._beside = Line(port), Line(port)
        self._ids = itertools.count(1)
        self._session = ""

    async def open(self) -> None:
        await self._call.open()
        await self._beside.open()
        info = {"name": "bench", "version": "1"}
        hello = {"protocolVersion": LEGACY_REVISION, "capabilities": {"sampling": {}}, "clientInfo": info}
        self._call.send(self._path, "", {"id": 0, "method": "initialize", "params": hello})
        head = await self._call.head()
        await self._call.body(head)
        self._session = head["mcp-session-id"]
        await self._tell({"method": "notifications/initialized"})

    async def _tell(self, message: dict[str, Any]) -> None:
        self._beside.send(self._path, self._session, message)
        await self._beside.body(await self._beside.head())

    async def call(self) -> None:
        params = {"name": "sample", "arguments": {}}
        self._call.send(self._path, self._session, {"id": next(self._ids), "method": "tools/call", "params": params})
        head = await self._call.head()
        if "event-stream" not in head.get("content-type", ""):
            raise WrongAnswer(f"no stream came, but {(await self._call.body(head))[:300]!r}")
        ask = await self._call.event()
        if ask.get("method") != "sampling/createMessage":
            raise WrongAnswer(f"no question came, but {str(ask)[:300]}")
        answer = {"role": "assistant", "content": {"type": "text", "text": SAID}, "model": "m-1"}
        await self._tell({"id": ask["id"], "result": answer})
        result = await self._call.event()
        await self._call.end()
        if SAID not in str(result.get("result")):
            raise WrongAnswer(f"the call did not end with what was said: {str(result)[:300]}")

    def close(self) -> None:
        self._call.close()
        self._beside.close()


async def measure(gateway: Program, port: int, rounds: int, calls: int) -> list[tuple[float, float]]:
    """CPU seconds of a call, local and relayed, of each round."""
    clients = [Client(port, "/servers/local/mcp"), Client(port, "/servers/relayed/mcp")]
    for client in clients:
        await client.open()
    took = []
    for turn in range(rounds + 1):
        costs = []
        for client in clients:
            before = gateway.cpu()
            for _ in range(calls):
                await client.call()
            costs.append((gateway.cpu() - before) / calls)
        # The first round is for warming up.
        if turn:
            took.append((costs[0], costs[1]))
    for client in clients:
        client.close()
    return took


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.sampling")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--calls", type=int, default=300)
    found = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="emceepee-bench-") as home:
        ports = free_port(), free_port()
        url = f"http://127.0.0.1:{ports[0]}/mcp"
        commands = (["-m", "bench.backend_asking", str(ports[0])], ["-m", "bench.local_gateway", str(ports[1]), url])
        programs = []
        try:
            for command, port in zip(commands, ports, strict=True):
                programs.append(Program(command[1], [sys.executable, *command], Path(home) / command[1]))
                programs[-1].wait_for_port(port)
            took = asyncio.run(measure(programs[1], ports[1], found.rounds, found.calls))
        finally:
            for program in programs:
                program.stop()
    local, relayed = (statistics.median(column) * 1e6 for column in zip(*took, strict=True))
    ratios = sorted(mine / its for mine, its in took)
    print(f"ctx.sampler.ask {local:.0f} µs, a relayed sampling request {relayed:.0f} µs of CPU a call")
    ratio = statistics.median(ratios)
    print(f"ratio {ratio:.2f} (rounds from {ratios[0]:.2f} to {ratios[-1]:.2f}); at most {MUST}")
    return 0 if ratio <= MUST else 1


if __name__ == "__main__":
    sys.exit(main())
