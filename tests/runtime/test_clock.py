"""The real clock, and the fake one that everything else is tested with: they keep the same promises."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest

from emceepee.runtime.clock import SystemClock, iso
from tests.support.fake_clock import FakeClock


def test_times_for_people_are_utc_with_milliseconds_and_a_z() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone(timedelta(hours=2)))
    assert iso(moment) == "2026-01-02T01:04:05.678Z"
    assert SystemClock().wall().tzinfo is UTC


async def test_the_real_clock_never_steps_back_and_calls_back_once() -> None:
    clock = SystemClock()
    called = asyncio.Event()
    before = clock.now()
    clock.after(0.0, called.set)
    never = clock.after(60.0, lambda: pytest.fail("it was cancelled"))
    never.cancel()
    async with asyncio.timeout(5):
        await called.wait()
        await clock.sleep(0)
    assert clock.now() >= before


async def test_the_fake_clock_fires_in_order_and_only_what_is_due() -> None:
    clock = FakeClock()
    fired: list[str] = []
    clock.after(2, lambda: fired.append("two"))
    clock.after(1, lambda: fired.append("one"))
    clock.after(3, lambda: fired.append("three"))
    gone = clock.after(1.5, lambda: fired.append("cancelled"))
    gone.cancel()
    await clock.advance(2.5)
    assert (fired, clock.waiting) == (["one", "two"], 1)


async def test_the_fake_clock_wakes_sleepers_and_forgets_the_cancelled() -> None:
    clock = FakeClock()
    sleeper = asyncio.ensure_future(clock.sleep(5))
    tired = asyncio.ensure_future(clock.sleep(5))
    await clock.advance(4)
    assert not sleeper.done()
    tired.cancel()
    await clock.advance(1)
    assert sleeper.done()
    assert clock.waiting == 0
