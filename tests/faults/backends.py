"""The servers of the matrix, all handled alike: one that breaks on command, behind each transport.

`break_` and `heal` are as `http_server` and `pipe_server` have them; the signals are real ones, to real processes.
The one rule: what a backend says of itself (which calls it took, what is left of it) is counted at its own end.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Protocol

from emceepee.backends.definition import HttpEndpoint, HttpKind, Launch, StdioLaunch
from tests.faults.http_server import HttpServer
from tests.support.processes import alive, all_gone, until

HTTP_PROGRAM = str(Path(__file__).with_name("http_server.py"))
PIPE_PROGRAM = str(Path(__file__).with_name("pipe_server.py"))
SIGNALS = ("SIGKILL", "SIGSTOP")


class Backend(Protocol):
    async def start(self) -> Launch: ...
    async def break_(self, fault: str) -> None: ...
    async def heal(self) -> None: ...
    def update(self) -> None: ...
    def taken(self) -> Counter[str]: ...
    async def left(self) -> list[str]: ...
    async def close(self) -> None: ...


def backend_for(transport: str, fault: str, folder: Path) -> Backend:
    if transport == "stdio":
        return Pipe(folder)
    kind = {"HTTP legacy": "legacy", "HTTP modern": "modern", "HTTP+SSE": "sse"}[transport]
    return HttpProcess(kind, folder) if fault in SIGNALS else Http(kind)


def _endpoint(kind: str, port: int) -> HttpEndpoint:
    spoken: HttpKind = "sse" if kind == "sse" else "http"
    return HttpEndpoint(f"http://127.0.0.1:{port}/mcp", kind=spoken)


class Http:
    """A server in this process."""

    def __init__(self, kind: str) -> None:
        self._keys: Counter[str] = Counter()
        self.server = HttpServer(
            kind, lambda key: self._keys.update((key,)), unnote=lambda key: self._keys.subtract((key,))
        )

    async def start(self) -> Launch:
        await self.server.start()
        return _endpoint(self.server.kind, self.server.port)

    async def break_(self, fault: str) -> None:
        await self.server.break_(fault)

    async def heal(self) -> None:
        await self.server.heal()

    def update(self) -> None:
        self.server.update()

    def taken(self) -> Counter[str]:
        return self._keys

    async def left(self) -> list[str]:
        """Connections that are open when nobody should have one."""
        gone = await until(lambda: not self.server.open, 3)
        return [] if gone else [f"{len(self.server.open)} connections"]

    async def close(self) -> None:
        await self.server.stop()


def _in(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


class HttpProcess:
    """A server that is a process of its own, on one port through all its lives."""

    def __init__(self, kind: str, folder: Path) -> None:
        self._kind = kind
        self._ledger = folder / "ledger"
        self._port = 0
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> Launch:
        command = (sys.executable, HTTP_PROGRAM, self._kind, str(self._port), str(self._ledger))
        self._process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert self._process.stdout is not None
        async with asyncio.timeout(20):
            self._port = int(await self._process.stdout.readline())
        return _endpoint(self._kind, self._port)

    async def break_(self, fault: str) -> None:
        assert self._process is not None
        self._process.send_signal(getattr(signal, fault))
        if fault == "SIGKILL":
            await self._process.wait()
            self._process = None

    async def heal(self) -> None:
        if self._process is None:
            await self.start()
        else:
            self._process.send_signal(signal.SIGCONT)

    def update(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGUSR2)

    def taken(self) -> Counter[str]:
        return Counter(_in(self._ledger))

    async def left(self) -> list[str]:
        return []

    async def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            await self._process.wait()


class Pipe:
    """A child of the gateway, as it will be started again and again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = folder / "server.py"

    async def start(self) -> Launch:
        self._put_there()
        return StdioLaunch(str(self._program), (str(self._folder),))

    def _put_there(self) -> None:
        self._program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {PIPE_PROGRAM} "$@"\n')
        self._program.chmod(0o755)

    def _control(self, **control: Any) -> None:
        new = self._folder / "control.new"
        new.write_text(json.dumps(control))
        new.rename(self._folder / "control")

    def _pids(self) -> list[int]:
        return [int(line) for line in _in(self._folder / "pids")]

    def _signal(self, number: int) -> None:
        for pid in self._pids():
            if alive(pid):
                os.kill(pid, number)

    async def break_(self, fault: str) -> None:
        match fault:
            case "refused":
                self._program.unlink()
                self._signal(signal.SIGKILL)
            case "SIGKILL" | "SIGSTOP":
                self._signal(getattr(signal, fault))
            case "crash loop":
                self._control(fault=fault)
                self._signal(signal.SIGKILL)
            case "other tools":
                self._control(tools=["new"])
                self._signal(signal.SIGKILL)
            case "other version":
                self._control(version="2")
                self._signal(signal.SIGKILL)
            case _:
                self._control(fault=fault)
                self._signal(signal.SIGUSR1)

    async def heal(self) -> None:
        control = json.loads((self._folder / "control").read_text()) if (self._folder / "control").exists() else {}
        control.pop("fault", None)
        self._control(**control)
        if not self._program.exists():
            self._put_there()
        for pid in self._pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGUSR1)

    def update(self) -> None:
        self._signal(signal.SIGUSR2)

    def taken(self) -> Counter[str]:
        return Counter(_in(self._folder / "ledger"))

    async def left(self) -> list[str]:
        gone = await all_gone(self._pids(), 3)
        return [] if gone else [f"child {pid}" for pid in self._pids() if alive(pid)]

    async def close(self) -> None:
        self._signal(signal.SIGKILL)
