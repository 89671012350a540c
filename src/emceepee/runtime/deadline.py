"""A body of code that may last so long and no longer, by a clock that is handed in.

The one rule: only the deadline itself becomes `TimeoutError`; a cancellation from outside stays a cancellation.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

from emceepee.runtime.clock import Clock, Timer


class Deadline:
    """`async with Deadline(clock, seconds): ...` Raises `TimeoutError` in whoever entered it."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._rang = False
        self._timer: Timer | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancelled_before = 0

    async def __aenter__(self) -> Deadline:
        self._task = asyncio.current_task()
        assert self._task is not None, "a deadline is entered in a task"
        self._cancelled_before = self._task.cancelling()
        self._timer = self._clock.after(self._seconds, self._ring)
        return self

    def _ring(self) -> None:
        assert self._task is not None
        self._rang = True
        self._task.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._timer is not None
        assert self._task is not None
        self._timer.cancel()
        if not self._rang:
            return
        others = self._task.uncancel() > self._cancelled_before
        if kind is not None and issubclass(kind, asyncio.CancelledError) and not others:
            raise TimeoutError from error
