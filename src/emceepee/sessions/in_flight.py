"""The requests somebody still owes an answer to, by the ids the client gave them.

It is not the work itself: it knows how to call it off and nothing more. The one rule: an id is found by type and value
(1 and "1" are two requests), and an entry is gone before its answer is written, so a late cancellation finds nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Protocol, TypeVar

from emceepee.errors import ClientFault, LimitReached

T = TypeVar("T")

_INVALID_REQUEST = -32600


class Entry(Protocol):
    """Whoever carries one request."""

    def call_off(self) -> None:
        """End the work; nobody is answered. Harmless where it cannot be called off, or is over."""
        ...


class Running:
    """One request being carried by a task. `called_off` tells its end by the client from any other cancellation."""

    __slots__ = ("_task", "called_off", "can_be_called_off")

    def __init__(self, task: asyncio.Task[object] | None, can_be_called_off: bool = True) -> None:
        self._task = task
        self.called_off = False
        self.can_be_called_off = can_be_called_off

    def call_off(self) -> None:
        """End the work. Nobody is answered. Once."""
        if self.called_off or not self.can_be_called_off or self._task is None:
            return
        self.called_off = True
        self._task.cancel()


async def until_called_off(running: Running, work: Awaitable[T]) -> T | None:
    """The work's result, or None once the request was called off, even if the work had already come to an end."""
    try:
        result = await work
    except asyncio.CancelledError:
        if not running.called_off:
            raise
        result = None
    if not running.called_off:
        return result
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
    return None


class InFlight:
    """Bounded table of running requests; costs nothing while empty but itself."""

    __slots__ = ("_emptied", "_limit", "_running")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._running: dict[int | str, Entry] | None = None
        self._emptied: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._running) if self._running else 0

    def begin(self, request_id: int | str, *, can_be_called_off: bool = True) -> Running:
        """Note that the current task carries this request. Raises as `enter`."""
        entry = Running(asyncio.current_task(), can_be_called_off)
        self.enter(request_id, entry)
        return entry

    def enter(self, request_id: int | str, entry: Entry) -> None:
        """Note who carries this request. Raises `ClientFault` for an id that still runs, `LimitReached` when there are
        too many."""
        running = self._running
        if running is None:
            running = self._running = {}
        elif request_id in running:
            raise ClientFault(_INVALID_REQUEST, "A request with this id is still running; ids are unique while in use")
        elif len(running) >= self._limit:
            raise LimitReached("requests in flight of one client", self._limit)
        running[request_id] = entry

    def finish(self, request_id: int | str) -> None:
        """The request is over, however it ended. Unknown ids are fine."""
        if self._running is not None:
            self._running.pop(request_id, None)
            if not self._running:
                self._running = None
                if self._emptied is not None and not self._emptied.done():
                    self._emptied.set_result(None)

    def call_off(self, request_id: int | str) -> bool:
        """The client wants this one no more. Whether there was one."""
        entry = self._running.get(request_id) if self._running else None
        if entry is None:
            return False
        entry.call_off()
        return True

    def call_off_all(self) -> None:
        for entry in list((self._running or {}).values()):
            entry.call_off()

    async def emptied(self, seconds: float) -> None:
        """Until nothing runs any more, at most that long."""
        if self._running:
            self._emptied = asyncio.get_running_loop().create_future()
            await asyncio.wait((self._emptied,), timeout=seconds)
