"""Our own standard streams as an asynchronous reader and writer.

It knows bytes only. Pipes and sockets are non-blocking in the loop; files and terminals cannot be, and get a reading
thread. The one rule: from `claim_standard_streams` on nothing but the writer made here reaches standard output.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
from dataclasses import dataclass
from typing import Protocol

_CHUNK = 64 * 1024


@dataclass(slots=True)
class Claimed:
    """The two ends, as file descriptors of our own."""

    read_fd: int
    write_fd: int


def claim_standard_streams() -> Claimed:
    """Take standard input and output for ourselves: a stray `print`, of ours, of a library or of a child, goes to
    standard error, and a child that reads finds nothing."""
    sys.stdout.flush()
    claimed = Claimed(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return claimed


def is_pollable(fd: int) -> bool:
    """Whether the loop can wait for it. A terminal could, but making it non-blocking would do so for our shell too."""
    mode = os.fstat(fd).st_mode
    return sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))


class Input(Protocol):
    async def read(self) -> bytes:
        """What there is; empty bytes at the end."""
        ...

    def close(self) -> None: ...


async def open_input(fd: int) -> Input:
    if not is_pollable(fd):
        return _ThreadInput(fd)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_CHUNK, loop=loop)
    file = os.fdopen(fd, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader, loop=loop), file)
    return _PipeInput(reader, transport)


class _PipeInput:
    def __init__(self, reader: asyncio.StreamReader, transport: asyncio.BaseTransport) -> None:
        self._reader = reader
        self._transport = transport

    async def read(self) -> bytes:
        return await self._reader.read(_CHUNK)

    def close(self) -> None:
        self._transport.close()


class _ThreadInput:
    """A daemon thread that reads one chunk for each `read`: nothing piles up, and nothing waits for it at exit."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._wanted = threading.Semaphore(0)
        self._chunk: asyncio.Future[bytes] | None = None
        threading.Thread(target=self._run, name="stdin", daemon=True).start()

    async def read(self) -> bytes:
        self._chunk = self._loop.create_future()
        self._wanted.release()
        return await self._chunk

    def close(self) -> None:
        """The thread may be stuck in a read; it ends with the process."""

    def _run(self) -> None:
        while True:
            self._wanted.acquire()
            try:
                chunk = os.read(self._fd, _CHUNK)
            except OSError:
                chunk = b""
            try:
                self._loop.call_soon_threadsafe(self._deliver, chunk)
            except RuntimeError:
                return
            if not chunk:
                return

    def _deliver(self, chunk: bytes) -> None:
        if self._chunk is not None and not self._chunk.done():
            self._chunk.set_result(chunk)


class _Flow(asyncio.BaseProtocol):
    """Whether the pipe takes more."""

    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.free.set()
        self.lost = False

    def pause_writing(self) -> None:
        self.free.clear()

    def resume_writing(self) -> None:
        self.free.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self.free.set()


class Output:
    """`write` waits while the other side does not read, and raises `BrokenPipeError` when it is gone."""

    def __init__(self, fd: int, transport: asyncio.WriteTransport | None, flow: _Flow) -> None:
        self._fd = fd
        self._transport = transport
        self._flow = flow

    async def write(self, data: bytes) -> None:
        if self._transport is None:
            self._write_blocking(data)
            return
        if self._flow.lost or self._transport.is_closing():
            raise BrokenPipeError("the client closed our standard output")
        self._transport.write(data)
        await self._flow.free.wait()
        if self._flow.lost:
            raise BrokenPipeError("the client closed our standard output")

    def _write_blocking(self, data: bytes) -> None:
        """To a file or a terminal, which take what they are given."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]

    async def close(self) -> None:
        """After what was written has left."""
        if self._transport is None:
            os.close(self._fd)
            return
        self._transport.close()
        while not self._flow.lost:
            self._flow.free.clear()
            await self._flow.free.wait()


async def open_output(fd: int) -> Output:
    flow = _Flow()
    if not is_pollable(fd):
        return Output(fd, None, flow)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_write_pipe(lambda: flow, os.fdopen(fd, "wb", buffering=0))
    # One message at a time is plenty; what waits beyond that waits in the outbox, where it can be coalesced.
    transport.set_write_buffer_limits(high=_CHUNK)
    return Output(fd, transport, flow)
