"""One callback, awaited: told before, told after, told nothing any more."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.runtime.awaited import Awaited


def never() -> None:
    raise AssertionError("nobody stopped waiting")


async def test_what_was_told_before_anybody_waits_is_there() -> None:
    answer: Awaited[int] = Awaited()
    answer(7)
    answer(8)
    assert await answer.value(never) == 7
    answer(9)


async def test_an_exception_that_is_told_is_raised() -> None:
    answer: Awaited[int] = Awaited()
    asyncio.get_running_loop().call_soon(answer, OSError("gone"))
    with pytest.raises(OSError, match="gone"):
        await answer.value(never)


async def test_whoever_stops_waiting_says_so_and_is_told_nothing() -> None:
    answer: Awaited[int] = Awaited()
    stopped: list[bool] = []
    waiting = asyncio.get_running_loop().create_task(answer.value(lambda: stopped.append(True)))
    await asyncio.sleep(0)
    waiting.cancel()
    answer(7)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    answer(8)
    assert stopped == [True]
