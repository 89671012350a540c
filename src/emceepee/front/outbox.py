"""What waits to be written to one client, in order and bounded.

It knows bytes and a way to write them, not what they mean. A pump task exists only while something waits. The one rule:
a client that does not read costs a bounded amount of memory: what can be said again later (progress, "changed") is
coalesced by its key, what cannot (a log line) is dropped and counted, and an answer is never dropped.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from emceepee.front.latest import Latest
from emceepee.runtime.spawn import TaskScope

_log = logging.getLogger("emceepee.front")

_MAX_MESSAGES = 128
_MAX_BYTES = 256 * 1024
_CHUNK = 64 * 1024


class Outbox:
    """`write` may wait (that is the back-pressure) and may raise `OSError` when the client is gone for good."""

    __slots__ = ("_bytes", "_end", "_ending", "_late", "_pump", "_ready", "_tasks", "_write", "broken", "dropped")

    def __init__(
        self,
        tasks: TaskScope,
        write: Callable[[bytes], Awaitable[None]],
        end: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._tasks = tasks
        self._write = write
        self._end = end
        self._ready: deque[bytes] = deque()
        self._bytes = 0
        self._late: Latest | None = None
        self._pump: asyncio.Task[None] | None = None
        self._ending = False
        self.broken = False
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._ready) + len(self._late or ())

    @property
    def idle(self) -> bool:
        return self._pump is None

    @property
    def ending(self) -> bool:
        return self._ending

    def notice(self, data: bytes, key: str | None) -> None:
        """Something that is nobody's answer. Returns at once; nothing follows the end."""
        if self._ending or self.broken:
            return
        full = len(self._ready) >= _MAX_MESSAGES or self._bytes >= _MAX_BYTES
        if self._late is None and not full:
            self._push(data)
            return
        late = self._late = self._late if self._late is not None else Latest()
        if key is None or not late.put(key, data):
            self.dropped += 1

    def must(self, data: bytes) -> None:
        """An answer: written whatever waits before it. Whoever calls bounds how many there are."""
        if self._ending or self.broken:
            return
        self._take_late()
        self._push(data)

    def finish(self) -> None:
        """Nothing follows; what waits is still written, then the end. Once."""
        if not self._ending:
            self._ending = True
            self._kick()

    def abandon(self) -> None:
        """Nobody reads any more: forget what waits."""
        self.broken = self._ending = True
        if self._pump is not None:
            self._pump.cancel()
        self._forget()

    async def flushed(self) -> None:
        """Until all that waits now is written, or the client is gone. Cancelling the wait loses nothing."""
        pump = self._pump
        if pump is not None:
            await asyncio.wait((pump,))

    def _push(self, data: bytes) -> None:
        self._ready.append(data)
        self._bytes += len(data)
        self._kick()

    def _kick(self) -> None:
        if self._pump is None and not self.broken:
            self._pump = self._tasks.spawn(self._run(), "outbox")

    def _take_late(self) -> None:
        late, self._late = self._late, None
        for _, data in late.items() if late is not None else ():
            self._ready.append(data)
            self._bytes += len(data)

    def _next_chunk(self) -> bytes:
        first = self._ready.popleft()
        self._bytes -= len(first)
        if not self._ready or len(first) >= _CHUNK:
            return first
        parts, size = [first], len(first)
        while self._ready and size + len(self._ready[0]) <= _CHUNK:
            part = self._ready.popleft()
            self._bytes -= len(part)
            size += len(part)
            parts.append(part)
        return b"".join(parts)

    async def _run(self) -> None:
        try:
            while True:
                if not self._ready:
                    self._take_late()
                if not self._ready:
                    break
                await self._write(self._next_chunk())
            if self._ending and self._end is not None:
                await self._end()
        except OSError as error:
            self.broken = True
            _log.debug("client_went_away", extra={"data": {"error": type(error).__name__, "unsent": len(self)}})
        finally:
            self._pump = None
            if self.broken or self._ending:
                self._forget()

    def _forget(self) -> None:
        """Nothing is written any more. Whoever made us holds us, so we let go of what is his."""
        self._ready.clear()
        self._bytes = 0
        self._late = None
        self._write, self._end = _to_nobody, None


async def _to_nobody(_: bytes) -> None: ...
