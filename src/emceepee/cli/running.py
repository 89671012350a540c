"""One coroutine from the start of the loop to its end, on uvloop where there is one.

The one rule: SIGTERM and SIGINT cancel the coroutine once, and whatever it does in its `finally` is waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine
from typing import Any


def run(work: Coroutine[Any, Any, int]) -> int:
    """The coroutine's exit code. Raises `KeyboardInterrupt` when a signal ended it."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_until_told(work))


async def _until_told(work: Coroutine[Any, Any, int]) -> int:
    task = asyncio.current_task()
    told = False

    def stop() -> None:
        nonlocal told
        told = True
        if task is not None:
            task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        # Windows has no such handlers; there Ctrl-C is the runner's own affair.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, stop)
    try:
        return await work
    except asyncio.CancelledError:
        if told:
            raise KeyboardInterrupt from None
        raise


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
