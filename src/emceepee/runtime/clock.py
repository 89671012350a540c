"""Time as an object: monotonic for durations, wall for people.

The one rule: durations and deadlines come from `now()`, which has no meaning outside this process; only what people
read comes from `wall()`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    def now(self) -> float:
        """Seconds on a clock that never steps back."""
        ...

    def wall(self) -> datetime:
        """The time of day, aware, in UTC."""
        ...

    def after(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call back once, from the loop, unless cancelled first."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The real one."""

    now = staticmethod(time.monotonic)

    def wall(self) -> datetime:
        return datetime.now(UTC)

    def after(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, callback)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds, ending in Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
