"""A clock that tests move by hand: timers fire in order, and nothing ever waits for real time."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class FakeTimer:
    def __init__(self, at: float, callback: Callable[[], None]) -> None:
        self.at = at
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        """As the loop's own: what would have been called is let go of at once."""
        self.cancelled = True
        self.callback = _nothing

    def __lt__(self, other: FakeTimer) -> bool:
        return self.at < other.at


class FakeClock:
    """Implements `runtime.clock.Clock`. It starts at an odd number so that mixing it with a real clock shows."""

    def __init__(self, start: float = 777_777.0) -> None:
        self._now = start
        self._timers: list[FakeTimer] = []

    def now(self) -> float:
        return self._now

    def wall(self) -> datetime:
        return datetime(2026, 11, 1, tzinfo=UTC) + timedelta(seconds=self._now - 777_777.0)

    def after(self, seconds: float, callback: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(self._now + seconds, callback)
        heapq.heappush(self._timers, timer)
        return timer

    async def sleep(self, seconds: float) -> None:
        done = asyncio.get_running_loop().create_future()
        timer = self.after(seconds, lambda: done.done() or done.set_result(None))
        try:
            await done
        finally:
            timer.cancel()

    @property
    def waiting(self) -> int:
        """How many timers are armed."""
        return sum(not timer.cancelled for timer in self._timers)

    async def advance(self, seconds: float) -> None:
        """Move time on, firing what falls due in order, and let whoever it woke run before the next."""
        end = self._now + seconds
        await settle()
        while self._timers and self._timers[0].at <= end:
            timer = heapq.heappop(self._timers)
            if timer.cancelled:
                continue
            self._now = max(self._now, timer.at)
            timer.callback()
            await settle()
        self._now = end
        await settle()


def _nothing() -> None: ...


async def settle(rounds: int = 10) -> None:
    """Let everything that is ready run."""
    for _ in range(rounds):
        await asyncio.sleep(0)
