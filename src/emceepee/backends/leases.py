"""Several sessions with one server for one place, each lent to one call at a time: what its server asks meanwhile can
belong to no other (rule R5).

It makes no session itself, the pool does, and keeps the first one; these are the ones beside it.

The one rule: a session is lent to one call, and given back when that has ended; who finds none free has one made, or
waits his turn where there may be no more.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from emceepee.backends.connection import Link
from emceepee.errors import BackendFault, BackendTimeout, BackendUnavailable
from emceepee.runtime.clock import Clock
from emceepee.runtime.deadline import Deadline
from emceepee.runtime.spawn import TaskScope, bounded

MAX_SESSIONS = 16
KEPT_IDLE = 2
"""Of those beside the first; the others are closed when they are given back."""

CLOSE_SECONDS = 5.0

First: TypeAlias = Callable[[], Link | None]
Make: TypeAlias = Callable[[Callable[[Link, BackendFault], None]], Awaitable[Link]]
"""A further session; it says when it is lost. Raises `BackendFault`."""


class Leases:
    def __init__(self, server: str, first: First, make: Make, tasks: TaskScope, clock: Clock) -> None:
        self._server = server
        self._first = first
        self._make = make
        self._tasks = tasks
        self._clock = clock
        self._beside: list[Link] = []
        self._lent: set[Link] = set()
        self._making = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed = False

    def __len__(self) -> int:
        """Sessions beside the first."""
        return len(self._beside)

    async def take(self, seconds: float) -> Link:
        """One for a single call, which may wait so long for its turn. Raises `BackendFault`."""
        link = self._free()
        if link is not None and not self._closed:
            return self._lend(link)
        try:
            async with Deadline(self._clock, seconds):
                return await self._taken()
        except TimeoutError:
            detail = f"none of its {MAX_SESSIONS} sessions, one for each call, was free within {seconds:g} s"
            raise BackendTimeout(self._server, detail) from None

    async def _taken(self) -> Link:
        while not self._closed:
            link = self._free()
            if link is not None:
                return self._lend(link)
            if len(self._beside) + self._making + 1 < MAX_SESSIONS:
                return self._lend(await self._made())
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except BaseException:
                self._pass_on(turn)
                raise
        raise BackendUnavailable(self._server, "the connection was closed")

    def _free(self) -> Link | None:
        first = self._first()
        links = ([first] if first is not None else []) + self._beside
        return next((link for link in links if link.alive and link not in self._lent), None)

    def _lend(self, link: Link) -> Link:
        self._lent.add(link)
        link.leased = True
        return link

    async def _made(self) -> Link:
        self._making += 1
        try:
            link = await self._make(self._lost)
        finally:
            self._making -= 1
        if self._closed:
            await bounded(link.close(), CLOSE_SECONDS)
            raise BackendUnavailable(self._server, "the connection was closed")
        self._beside.append(link)
        return link

    def give_back(self, link: Link) -> None:
        self._lent.discard(link)
        if link in self._beside and (not link.alive or self._idle() > KEPT_IDLE):
            self._drop(link)
        self._wake()

    def _idle(self) -> int:
        return sum(link not in self._lent for link in self._beside)

    def _lost(self, link: Link, fault: BackendFault) -> None:
        if link in self._beside:
            self._drop(link)
            self._wake()

    def _drop(self, link: Link) -> None:
        self._beside.remove(link)
        self._tasks.spawn(bounded(link.close(), CLOSE_SECONDS), "close lease")

    def _wake(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def _pass_on(self, turn: asyncio.Future[None]) -> None:
        """Whoever was woken and waits no more lets the next one have it."""
        if turn in self._waiting:
            self._waiting.remove(turn)
        elif turn.done() and not turn.cancelled():
            self._wake()

    async def close(self) -> None:
        self._closed = True
        for turn in self._waiting:
            if not turn.done():
                turn.set_result(None)
        links, self._beside = self._beside, []
        await asyncio.gather(*(bounded(link.close(), CLOSE_SECONDS) for link in links))
