"""One run: a gateway, a client that stays, and as many that are killed as wanted.

The client that stays shares its workspace with those that are killed, and collects at the end what they left. The one
rule: moments are drawn at random (from a seed that is printed) and spread over all of a call, however fast the machine
is: before it arrives, while it runs, while its answer is on the way, unread, half read, and read.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.killed.account import Account, read_response
from tests.support.http_wire import LegacyWire, ModernWire
from tests.support.real_gateway import serving, write_config

Json = dict[str, Any]

HERE = Path(__file__).parent
MEMORY = 1 << 18
PATIENCE = 30.0


class Killer:
    """The program that makes clients and reports that they are dead."""

    def __init__(self, process: asyncio.subprocess.Process, memory: Path) -> None:
        self._process = process
        self._memory = memory

    async def kill_one(self, port: int, request: bytes, lives: float, sleeps: float) -> bytes:
        """A client with this request, killed after that time; what it has read."""
        self._memory.write_bytes(bytes(MEMORY))
        asked = {"port": port, "request": request.decode(), "memory": str(self._memory)}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked | {"lives": lives, "sleeps": sleeps}).encode() + b"\n")
        async with asyncio.timeout(PATIENCE):
            ended = await self._process.stdout.readline()
        assert int(ended) < 0, "it ended by itself"
        # HTTP with JSON in it has no such byte.
        return self._memory.read_bytes().rstrip(b"\0")


@asynccontextmanager
async def _killer(folder: Path) -> AsyncIterator[Killer]:
    pipe = asyncio.subprocess.PIPE
    program = str(HERE / "client_program.py")
    process = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", program, stdin=pipe, stdout=pipe)
    try:
        yield Killer(process, folder / "memory")
    finally:
        process.kill()
        await process.wait()


class Run:
    def __init__(self, port: int, client: LegacyWire | ModernWire, killer: Killer, seed: int) -> None:
        self.account = Account()
        self._port = port
        self._client = client
        self._killer = killer
        self._chance = random.Random(seed)  # noqa: S311 -- repeatable, not secret
        self._tokens = (f"token-{number:04}" for number in itertools.count())
        self._way = 0.006
        """Seconds that a call takes besides its work, as of late: this machine has other things to do."""

    async def use(self, tool: str, arguments: Json) -> Any:
        """A call of the client that stays."""
        return self.account.read(await self._client.call("tools/call", {"name": tool, "arguments": arguments}))

    async def _ask_for_news(self, ms: float, token: str) -> None:
        began = time.monotonic()
        await self.use("execute_tool", {"server": "killed", "tool": "later", "args": {"ms": ms, "token": token}})
        self._way += (time.monotonic() - began - self._way) / 4

    async def of_a_call(self) -> None:
        """Killed in the middle of `execute_tool`."""
        # A few last long enough for the gateway to notice that nobody is there any more.
        longest = 25 if self._chance.random() < 0.9 else 400
        ms, token = self._chance.uniform(0, longest), next(self._tokens)
        told = self._chance.random() < 0.3
        params: Json = {"server": "killed", "tool": "work", "args": {"ms": ms, "token": token, "told": told}}
        self.account.sent.add(token)
        asked: Json = {"name": "execute_tool", "arguments": params}
        await self._kill(asked | ({"_meta": {"progressToken": token}} if told else {}), ms / 1000)

    async def of_a_wait(self) -> None:
        """Killed in the middle of `await_activity`."""
        ms, token = self._chance.uniform(0, 25), next(self._tokens)
        self.account.told.add(token)
        await self._ask_for_news(ms, token)
        await self._kill({"name": "await_activity", "arguments": {"timeout_ms": 1000}}, ms / 1000)

    async def _kill(self, asked: Json, about: float) -> None:
        """Half of them at any moment of the call, half close to the end of it."""
        chance = self._chance
        anywhere = chance.uniform(0, 2 * (about + self._way))
        lives = max(0.0002, anywhere if chance.random() < 0.5 else chance.gauss(about + 1.5 * self._way, self._way))
        sleeps = chance.uniform(0, 2 * lives) if chance.random() < 0.3 else 0.0
        request = _written(self._client, self._port, asked, closes=chance.random() < 0.2)
        memory = await self._killer.kill_one(self._port, request, lives, sleeps)
        response = read_response(memory)
        if response is not None:
            self.account.read(response)
        how = "after it read its answer" if response else "in the middle of its answer" if memory else "before it"
        self.account.deaths[f"in {asked['name']}, {how}"] += 1

    async def collect(self, noted: Path) -> None:
        """What the dead have left."""
        quiet = 0
        while quiet < 2:
            # Longer than any wait of the dead, which may still hold what was theirs.
            said = await self.use("await_activity", {"timeout_ms": 2000})
            quiet = 0 if said["events"] or said["pending_server"] else quiet + 1
        for task in (await self.use("list_tasks", {"include_completed": True}))["tasks"]:
            result = await self._client.call(
                "tools/call", {"name": "get_task_result", "arguments": {"task_id": task["taskId"]}}
            )
            self.account.tasks[result["result"]["content"][0]["text"]] += 1
        self.account.told_by_server(noted)


def _written(client: LegacyWire | ModernWire, port: int, asked: Json, closes: bool) -> bytes:
    _, headers, body = client.request("tools/call", asked)
    more = {"connection": "close"} if closes else {}
    lines = "".join(f"{name}: {value}\r\n" for name, value in (headers | more).items())
    start = f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{lines}content-length: {len(body)}\r\n\r\n"
    return start.encode() + body


async def run(era: str, number: int, seed: int, folder: Path) -> Account:
    """So many clients of that era, killed by turns in the middle of a call and of a wait."""
    noted = folder / "noted"
    entry = {"command": sys.executable, "args": ["-I", "-S", str(HERE / "backend.py"), str(noted)]}
    async with serving(write_config(folder, {"killed": entry})) as gateway, _killer(folder) as killer:
        client: LegacyWire | ModernWire = ModernWire(gateway.port, "/mcp")
        if era == "legacy":
            client = await LegacyWire.arrive(gateway.port, "/mcp")
        one = Run(gateway.port, client, killer, seed)
        await one.use("list_tools", {"server": "killed"})
        for turn in range(number):
            await (one.of_a_call() if turn % 2 == 0 else one.of_a_wait())
        await one.collect(noted)
        client.wire.leave()
        assert not {"internal_error", "task_failed_unexpectedly"} & set(gateway.events()), "".join(gateway.log[-50:])
    return one.account
