"""Servers say when an address has been visited, before or after somebody waits for it."""

from __future__ import annotations

import asyncio

from emceepee.relay.url_visits import UrlVisits
from tests.support.fake_clock import FakeClock, settle


async def test_whoever_waits_is_woken_when_all_are_done() -> None:
    visits = UrlVisits(FakeClock())
    waiting = asyncio.ensure_future(visits.wait(("a", "b"), 9))
    await settle()
    visits.done("b")
    visits.done("other")
    await settle()
    assert not waiting.done()
    visits.done("a")
    assert await waiting is True
    assert len(visits) == 0


async def test_what_was_done_before_need_not_be_waited_for_and_counts_once() -> None:
    clock = FakeClock()
    visits = UrlVisits(clock)
    visits.done("a")
    assert await visits.wait(("a",), 9) is True
    waiting = asyncio.ensure_future(visits.wait(("a",), 9))
    await clock.advance(9)
    assert await waiting is False
    assert len(visits) == 0


async def test_only_so_many_are_remembered() -> None:
    clock = FakeClock()
    visits = UrlVisits(clock)
    for number in range(300):
        visits.done(str(number))
    waiting = asyncio.ensure_future(visits.wait(("0",), 9))
    await clock.advance(9)
    assert await waiting is False
    assert await visits.wait(("299",), 9) is True
