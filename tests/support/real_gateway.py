"""The real program, started as people start it, with stdio servers of ours behind it.

    async with serving(config) as gateway:      # `emceepee serve`; gateway.port
    async with on_pipes(config) as gateway:     # `emceepee`; gateway.say(...), await gateway.hear()

The one rule: whatever a test does to it, neither the gateway nor a child that wrote down its process id is left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.processes import STDIO_SERVER

Json = dict[str, Any]
COMMAND = (sys.executable, "-m", "emceepee")
START_SECONDS = 30.0


class Pids:
    """The processes behind one gateway, as each wrote itself down."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def file(self, server: str) -> Path:
        return self._folder / server

    def of(self, server: str) -> list[int]:
        file = self.file(server)
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def all(self) -> list[int]:
        return [pid for file in self._folder.iterdir() for pid in self.of(file.name)]

    def kill(self) -> None:
        for pid in self.all():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def stdio_entry(pids: Pids | None, name: str, *flags: str) -> Json:
    """How a configuration file names our stdio server."""
    noted = () if pids is None else ("--pids", str(pids.file(name)))
    return {"command": sys.executable, "args": [STDIO_SERVER, *noted, *flags]}


def write_config(folder: Path, servers: Mapping[str, Json]) -> Path:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": dict(servers)}))
    return file


class Program:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.port = 0
        self.log: list[str] = []
        self._reading: asyncio.Task[None] | None = None
        self._listening: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def pid(self) -> int:
        return self.process.pid

    def follow(self) -> None:
        self._reading = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            self.log.append(line.decode(errors="replace"))
            if '"listening"' in self.log[-1] and not self._listening.done():
                url = json.loads(line)["data"]["url"]
                self.port = int(url.rpartition(":")[2].partition("/")[0])
                self._listening.set_result(None)
        if not self._listening.done():
            self._listening.cancel()

    async def ready(self) -> None:
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._listening
        except (TimeoutError, asyncio.CancelledError):
            raise AssertionError("it does not listen: " + "".join(self.log)) from None

    def events(self) -> list[str]:
        return [json.loads(line)["event"] for line in self.log if line.startswith("{")]

    async def ended(self, seconds: float) -> int:
        async with asyncio.timeout(seconds):
            return await self.process.wait()

    async def kill(self) -> None:
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
        async with asyncio.timeout(10):
            await self.process.wait()
            if self._reading is not None:
                await asyncio.wait((self._reading,))

    # -- on pipes

    def say(self, text: Json) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | text).encode() + b"\n")

    async def hear(self) -> Json | None:
        """The next message; None at the end."""
        assert self.process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            line = await self.process.stdout.readline()
        found: Json | None = json.loads(line) if line else None
        return found

    async def greet(self) -> None:
        info = {"name": "wire", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        self.say({"id": 0, "method": "initialize", "params": params})
        answer = await self.hear()
        assert answer is not None, "".join(self.log)
        assert "result" in answer, answer
        self.say({"method": "notifications/initialized"})


@asynccontextmanager
async def _started(*words: str, pids: Pids | None = None, command: Sequence[str] = COMMAND) -> AsyncIterator[Program]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command,
        *words,
        "--log-format",
        "json",
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        start_new_session=True,
        limit=2**24,
    )
    program = Program(process)
    program.follow()
    try:
        yield program
    finally:
        await program.kill()
        if pids is not None:
            pids.kill()


@asynccontextmanager
async def serving(
    config: Path, *options: str, pids: Pids | None = None, command: Sequence[str] = COMMAND
) -> AsyncIterator[Program]:
    """What outlives it lies beside its configuration; a gateway with the same one finds it again."""
    state = () if "--no-state" in options else ("--state", str(config.with_name("state.sqlite3")))
    words = ("serve", "--config", str(config), "--port", "0", *state, *options)
    async with _started(*words, pids=pids, command=command) as program:
        await program.ready()
        yield program


@asynccontextmanager
async def on_pipes(config: Path, *options: str, pids: Pids | None = None) -> AsyncIterator[Program]:
    async with _started("--config", str(config), *options, pids=pids) as program:
        yield program
