"""The child processes of this gateway, together: how many there may be, and that nothing of any of them stays.

A transport ends its child and the child's process group by itself. What is left to do here is what no transport can:
to say no when there are too many, to end what left its group (found by its `marks`), and to have the warden do both
when we are killed.

The one rule: what a child started ends with it, wherever it went.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import signal

from emceepee.backends.marks import NAME, Fits, maker_is_gone, mark_of, marked, own_mark, signal_marked
from emceepee.backends.warden import Warden
from emceepee.errors import BackendUnavailable
from emceepee.runtime.clock import Clock
from emceepee.runtime.spawn import TaskScope
from emceepee.vocabulary.names import ServerName

_log = logging.getLogger("emceepee.backends")

MOST = 256
SOON = 0.2
"""Several children that end together are looked for together."""
GRACE = 2.0
_POLL = 0.05

_families = itertools.count(1)
"""One process may hold several gateways, and each ends its own."""


class Children:
    """`limit` is how many may live at one time."""

    def __init__(self, clock: Clock, limit: int = MOST) -> None:
        self._clock = clock
        self._limit = limit
        own = own_mark()
        self._own = f"{own}:{next(_families)}." if own else ""
        self._numbers = itertools.count(1)
        self._marks: dict[int, str] = {}
        self._starting = 0
        self._ended: set[str] = set()
        self._any = False
        self._tasks = TaskScope("children")
        self.warden = Warden(clock, self._own)

    def __len__(self) -> int:
        return len(self._marks) + self._starting

    def admit(self, server: ServerName) -> str:
        """A place for a child that is about to be started, until `watch` or `give_back`; its mark, which is empty where
        there are none. Raises `BackendUnavailable` when there are as many as there may be."""
        if len(self) >= self._limit:
            raise BackendUnavailable(
                server,
                f"Too many child processes (max_children): the limit is {self._limit}; raise it, end sessions, or let "
                "sessions share a server by its 'affinity'",
            )
        self._starting += 1
        self._any = True
        return f"{self._own}{next(self._numbers)}" if self._own else ""

    def give_back(self) -> None:
        """It could not be started."""
        self._starting -= 1

    def watch(self, group: int, mark: str) -> None:
        """It is there, and has run nothing yet."""
        self._starting -= 1
        self._marks[group] = mark
        self.warden.watch(group)

    def forget(self, group: int) -> None:
        """Nobody is left in its process group. Idempotent."""
        mark = self._marks.pop(group, None)
        if mark is None:
            return
        self.warden.forget(group)
        if mark:
            self._ended.add(mark)
            if len(self._tasks) == 0:
                self._tasks.spawn(self._end_strays(), "strays")

    async def _end_strays(self) -> None:
        while self._ended:
            await self._clock.sleep(SOON)
            marks, self._ended = self._ended, set()
            await end_marked(marks.__contains__, self._clock)

    async def close(self) -> None:
        """After every transport was closed. Idempotent, bounded."""
        await self._tasks.close(grace=GRACE)
        if self._own and self._any:
            await end_marked(lambda mark: mark.startswith(self._own), self._clock)
        await self.warden.close()


def environment(mark: str) -> dict[str, str]:
    return {NAME: mark} if mark else {}


async def end_orphans(clock: Clock) -> int:
    """What gateways left that were killed together with their wardens; how many processes that were."""
    count = await end_marked(maker_is_gone, clock)
    if count:
        _log.warning("orphans_ended", extra={"data": {"processes": count}})
    return count


async def end_marked(fits: Fits, clock: Clock) -> int:
    """Ask whoever carries such a mark to end, and make him after a grace. How many that were."""
    found = await asyncio.to_thread(marked, fits)
    left = {pid: mark for pid, mark in found.items() if signal_marked(pid, mark, signal.SIGTERM)}
    until = clock.now() + GRACE
    while left and clock.now() < until:
        await clock.sleep(_POLL)
        left = {pid: mark for pid, mark in left.items() if mark_of(pid) == mark}
    for pid, mark in left.items():
        signal_marked(pid, mark, signal.SIGKILL)
    return len(found)
