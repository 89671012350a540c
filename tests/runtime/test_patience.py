"""Waiting without cancelling."""

from __future__ import annotations

import asyncio

from emceepee.runtime.patience import wait_at_most
from tests.support.fake_clock import FakeClock


async def test_it_ends_as_soon_as_all_is_done() -> None:
    clock = FakeClock()
    work: list[asyncio.Future[None]] = [asyncio.get_running_loop().create_future() for _ in range(2)]
    asyncio.get_running_loop().call_soon(work[0].set_result, None)
    asyncio.get_running_loop().call_soon(work[1].set_exception, ValueError("x"))
    async with asyncio.timeout(5):
        assert await wait_at_most(clock, work, 9.0)
    assert clock.waiting == 0
    assert isinstance(work[1].exception(), ValueError)


async def test_it_ends_with_the_time_and_leaves_the_work_alone() -> None:
    clock = FakeClock()
    work: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    waiting = asyncio.ensure_future(wait_at_most(clock, [work], 9.0))
    await clock.advance(9.1)
    async with asyncio.timeout(5):
        assert not await waiting
    assert not work.cancelled()


async def test_nothing_to_wait_for_takes_no_time() -> None:
    assert await wait_at_most(FakeClock(), [], 9.0)
