"""Waiting for a sequence number to pass what one has seen.

It is not the log and takes nothing from it: whoever wakes looks for himself, and may find that another was faster.

The one rule: whoever waits says what he has seen, and that is compared before he sleeps; so nothing that happened
between looking and waiting is missed (X-BUG-08).
"""

from __future__ import annotations

import asyncio

from emceepee.runtime.clock import Clock


class Waiters:
    """Any number of them. A wait that ends, however it ends, leaves no waiter and no timer behind."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # In the order they came: who has waited longest is woken first, and looks first.
        self._waiting: dict[asyncio.Future[bool], None] = {}
        self.sequence = 0
        self.closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def wake(self, sequence: int) -> None:
        """The sequence stands there now."""
        if sequence > self.sequence:
            self.sequence = sequence
            self._release(True)

    async def past(self, seen: int, seconds: float) -> bool:
        """True once the sequence is past what was seen; False when the time is over or there is nothing to come."""
        if self.sequence > seen:
            return True
        if seconds <= 0 or self.closed:
            return False
        woken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[woken] = None
        timer = self._clock.after(seconds, lambda: _settle(woken, False))
        try:
            return await woken
        finally:
            timer.cancel()
            self._waiting.pop(woken, None)

    def close(self) -> None:
        """Nothing comes any more: whoever waits is told so."""
        self.closed = True
        self._release(False)

    def _release(self, result: bool) -> None:
        waiting, self._waiting = self._waiting, {}
        for woken in waiting:
            _settle(woken, result)


def _settle(woken: asyncio.Future[bool], result: bool) -> None:
    if not woken.done():
        woken.set_result(result)
