"""The one place where a task is started: named, owned, and ended by its owner.

The one rule: a task belongs to a scope; closing the scope ends all of them within a grace, and a task which fails on
its own is reported instead of vanishing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from typing import Any

_log = logging.getLogger("emceepee.runtime")


class TaskScope:
    """Owner of background tasks. `close()` cancels what still runs and waits for it, at most `grace` seconds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def closed(self) -> bool:
        return self._closed

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Start a task. On a closed scope the work is dropped unstarted and a cancelled task returned."""
        task = asyncio.get_running_loop().create_task(work, name=f"{self.name}/{name}")
        if self._closed:
            task.cancel()
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            _log.error("task_failed_unexpectedly", exc_info=error, extra={"data": {"task": task.get_name()}})

    async def settle(self, seconds: float) -> int:
        """Let what runs end by itself, at most this long; how many still run."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        return len(self._tasks)

    async def finish(self, seconds: float) -> None:
        """Let what runs end by itself, at most that long, then close."""
        self._closed = True
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=seconds)
        await self.close(grace=seconds)

    async def close(self, grace: float = 5.0) -> None:
        """Idempotent. A task that ignores its cancellation is left behind after the grace, and said."""
        self._closed = True
        current = asyncio.current_task()
        tasks = [task for task in self._tasks if task is not current]
        for task in tasks:
            task.cancel()
        if not tasks:
            return
        _, stuck = await asyncio.wait(tasks, timeout=grace)
        for task in stuck:
            _log.warning("task_ignored_cancellation", extra={"data": {"task": task.get_name()}})


async def bounded(work: Coroutine[Any, Any, Any], seconds: float) -> None:
    """A last write: shielded by being awaited here only, bounded so that a wedged peer cannot hold us; never raises."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(seconds):
            await work
