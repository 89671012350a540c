"""From the start of the loop to its end, by itself or by a signal."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from emceepee.cli.running import run


def test_the_exit_code_of_the_work_is_given_back() -> None:
    async def work() -> int:
        return 3

    assert run(work()) == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_cancels_the_work_and_its_end_is_waited_for(number) -> None:
    done: list[str] = []

    async def work() -> int:
        try:
            os.kill(os.getpid(), number)
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            done.append("cleaned up")
        return 0

    with pytest.raises(KeyboardInterrupt):
        run(work())
    assert done == ["cleaned up"]


def test_a_cancellation_that_no_signal_caused_stays_one() -> None:
    async def work() -> int:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(work())
