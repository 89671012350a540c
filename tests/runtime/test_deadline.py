"""A deadline by a clock of one's own: it ends what is inside, and never eats somebody else's cancellation."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.runtime.deadline import Deadline
from tests.support.fake_clock import FakeClock


async def _wait(clock: FakeClock, seconds: float, begun: asyncio.Event) -> str:
    async with Deadline(clock, seconds):
        begun.set()
        await asyncio.Event().wait()
    return "never"


async def test_what_takes_too_long_is_ended() -> None:
    clock, begun = FakeClock(), asyncio.Event()
    task = asyncio.ensure_future(_wait(clock, 5, begun))
    await begun.wait()
    await clock.advance(4.9)
    assert not task.done()
    await clock.advance(0.2)
    with pytest.raises(TimeoutError):
        await task
    assert clock.waiting == 0


async def test_what_ends_in_time_leaves_no_timer() -> None:
    clock = FakeClock()
    async with Deadline(clock, 5):
        await asyncio.sleep(0)
    assert clock.waiting == 0
    await clock.advance(10)


async def test_a_cancellation_from_outside_stays_one() -> None:
    clock, begun = FakeClock(), asyncio.Event()
    task = asyncio.ensure_future(_wait(clock, 5, begun))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert clock.waiting == 0


async def test_an_error_inside_passes() -> None:
    with pytest.raises(LookupError):
        async with Deadline(FakeClock(), 5):
            raise LookupError


async def test_inner_and_outer_deadlines_are_told_apart() -> None:
    clock = FakeClock()
    seen: list[str] = []

    async def work() -> None:
        async with Deadline(clock, 5):
            try:
                async with Deadline(clock, 2):
                    await asyncio.Event().wait()
            except TimeoutError:
                seen.append("inner")
            await asyncio.Event().wait()

    task = asyncio.ensure_future(work())
    await clock.advance(2)
    assert seen == ["inner"]
    assert not task.done()
    await clock.advance(3)
    with pytest.raises(TimeoutError):
        await task
