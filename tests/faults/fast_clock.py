"""A clock that runs faster than the world: waits of minutes pass in seconds, while sockets and children are real.

The one rule: it stays a clock. What takes the machine a tenth of a second takes longer by this one, so what is asserted
in its seconds must leave room for that, and a busy machine is given a slower one (`speed_that_fits`).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from emceepee.runtime.clock import Timer


class FastClock:
    """Implements `runtime.clock.Clock`."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self._began = asyncio.get_running_loop().time()

    def now(self) -> float:
        return (asyncio.get_running_loop().time() - self._began) * self.speed

    def wall(self) -> datetime:
        return datetime(2026, 11, 1, tzinfo=UTC) + timedelta(seconds=self.now())

    def after(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds / self.speed, callback)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.speed)


FASTEST, SLOWEST = 12.0, 3.0
_AT_REST = 0.03
_STARTED = 4


async def speed_that_fits() -> float:
    """By how long the machine takes now to start a few children at once; at rest it is a little less than that."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    command = (sys.executable, "-I", "-S", "-c", "pass")
    children = await asyncio.gather(*(asyncio.create_subprocess_exec(*command) for _ in range(_STARTED)))
    for child in children:
        await child.wait()
    return max(SLOWEST, min(FASTEST, FASTEST * _AT_REST / (loop.time() - began)))
