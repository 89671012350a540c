"""Waiting for something new: nothing is missed, and nothing is left behind."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.state.waiting import Waiters
from tests.support.fake_clock import FakeClock, settle


@pytest.mark.shows("A-EVT-19", "A-EVT-20", "A-EVT-21")
async def test_everybody_who_waits_is_woken_and_nothing_is_left_behind(clock: FakeClock) -> None:
    waiters = Waiters(clock)
    waits = [asyncio.ensure_future(waiters.past(0, 30)) for _ in range(5)]
    await settle()
    assert len(waiters) == 5
    waiters.wake(1)
    async with asyncio.timeout(5):
        assert await asyncio.gather(*waits) == [True] * 5
    assert (len(waiters), clock.waiting) == (0, 0)


async def test_who_has_waited_longest_is_woken_first(clock: FakeClock) -> None:
    waiters = Waiters(clock)
    order: list[int] = []

    async def wait(number: int) -> None:
        await waiters.past(0, 30)
        order.append(number)

    waits = [asyncio.ensure_future(wait(number)) for number in range(50)]
    await settle()
    waiters.wake(1)
    async with asyncio.timeout(5):
        await asyncio.gather(*waits)
    assert order == list(range(50))


@pytest.mark.shows("A-EVT-20")
async def test_a_wait_ends_when_its_time_is_over(clock: FakeClock) -> None:
    waiters = Waiters(clock)
    wait = asyncio.ensure_future(waiters.past(0, 30))
    await settle()
    await clock.advance(30)
    async with asyncio.timeout(5):
        assert await wait is False
    assert (len(waiters), clock.waiting) == (0, 0)


@pytest.mark.shows("A-RACE-07", "X-BUG-08", "X-PY-11")
async def test_what_happened_between_looking_and_waiting_is_not_missed(clock: FakeClock) -> None:
    waiters = Waiters(clock)
    seen = waiters.sequence
    waiters.wake(1)
    waiters.wake(2)
    async with asyncio.timeout(5):
        assert await waiters.past(seen, 30)
        assert await waiters.past(1, 30)
    assert clock.waiting == 0


async def test_a_cancelled_wait_leaves_nothing_and_disturbs_nobody(clock: FakeClock) -> None:
    waiters = Waiters(clock)
    gone, stays = (asyncio.ensure_future(waiters.past(0, 30)) for _ in range(2))
    await settle()
    gone.cancel()
    await settle()
    assert (len(waiters), clock.waiting) == (1, 1)
    waiters.wake(1)
    async with asyncio.timeout(5):
        assert await stays


async def test_no_time_means_no_wait_and_a_closed_place_has_nothing_to_come(clock: FakeClock) -> None:
    waiters = Waiters(clock)
    assert not await waiters.past(0, 0)
    wait = asyncio.ensure_future(waiters.past(0, 30))
    await settle()
    waiters.close()
    async with asyncio.timeout(5):
        assert not await wait
        assert not await waiters.past(0, 30)
    assert clock.waiting == 0
