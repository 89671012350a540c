"""A signal asks for an end, as often as it comes, for as long as the block lasts."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from emceepee.front.signals import SIGNALS, on_signals


@pytest.mark.parametrize("number", SIGNALS)
async def test_each_signal_asks_and_none_kills(number: signal.Signals) -> None:
    asked: list[int] = []
    again = asyncio.Event()

    def stop() -> None:
        asked.append(len(asked))
        again.set()

    with on_signals(stop):
        for _ in range(2):
            again.clear()
            os.kill(os.getpid(), number)
            async with asyncio.timeout(5):
                await again.wait()
    assert asked == [0, 1]


async def test_afterwards_signals_do_what_they_did() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with on_signals(lambda: None):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


async def test_a_hang_up_asks_for_what_there_is_for_it_and_ends_nothing() -> None:
    asked = asyncio.Event()
    before = signal.getsignal(signal.SIGHUP)
    with on_signals(lambda: None, asked.set):
        os.kill(os.getpid(), signal.SIGHUP)
        async with asyncio.timeout(5):
            await asked.wait()
    assert signal.getsignal(signal.SIGHUP) == before
