"""Waiting for work that goes on when we stop waiting.

The one rule: impatience never cancels the work; that is its owner's to decide.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

from emceepee.runtime.clock import Clock


async def wait_at_most(clock: Clock, work: Collection[asyncio.Future[Any]], seconds: float) -> bool:
    """Wait until all of it is done or the time is over; True when all is done. Raises nothing of what the work
    raised."""
    pending = [future for future in work if not future.done()]
    if not pending:
        return True
    if seconds <= 0:
        return False
    woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    left = len(pending)

    def wake() -> None:
        if not woken.done():
            woken.set_result(None)

    def one_done(_: asyncio.Future[Any]) -> None:
        nonlocal left
        left -= 1
        if not left:
            wake()

    for future in pending:
        future.add_done_callback(one_done)
    timer = clock.after(seconds, wake)
    try:
        await woken
    finally:
        timer.cancel()
        for future in pending:
            future.remove_done_callback(one_done)
    return left == 0
