"""What is told by callback, for one who would rather await it.

The one rule: whoever stops waiting says so; what is told after that is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Awaited(Generic[T]):
    """Give it as the callback, then await its `value`, once."""

    __slots__ = ("_future",)

    def __init__(self) -> None:
        self._future: asyncio.Future[T | BaseException] | None = asyncio.get_running_loop().create_future()

    def __call__(self, value: T | BaseException) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(value)

    async def value(self, stop: Callable[[], None]) -> T:
        """What was told; an exception is raised. `stop` is called when the wait is cancelled."""
        assert self._future is not None, "awaited once"
        try:
            value = await self._future
        except asyncio.CancelledError:
            stop()
            raise
        finally:
            # An exception holds the frames that it went through: neither we nor this one may hold it.
            self._future = None
        if isinstance(value, BaseException):
            try:
                raise value
            finally:
                del value
        return value
