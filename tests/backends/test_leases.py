"""Sessions that are lent to one call each."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from emceepee.backends.connection import Link
from emceepee.backends.leases import KEPT_IDLE, MAX_SESSIONS, Leases
from emceepee.errors import BackendTimeout, BackendUnavailable
from emceepee.runtime.spawn import TaskScope
from tests.support.fake_clock import FakeClock, settle
from tests.support.fake_links import FakeLink

SECONDS = 60.0


class House:
    def __init__(self) -> None:
        self.first: Any = FakeLink(lambda link, fault: None)
        self.made: list[FakeLink] = []
        self.tasks = TaskScope("test")
        self.clock = FakeClock()
        self.fault: BackendUnavailable | None = None
        self.leases = Leases("files", lambda: self.first, self.make, self.tasks, self.clock)

    async def make(self, lost: Any) -> Link:
        await asyncio.sleep(0)
        if self.fault is not None:
            raise self.fault
        self.made.append(FakeLink(lost))
        return self.made[-1]


async def test_the_first_is_lent_first_and_then_others_are_made() -> None:
    house = House()
    one, two = await house.leases.take(SECONDS), await house.leases.take(SECONDS)
    assert (one, two) == (house.first, house.made[0])
    assert (one.leased, two.leased) == (True, True)
    house.leases.give_back(one)
    assert await house.leases.take(SECONDS) is house.first
    house.leases.give_back(two)
    assert await house.leases.take(SECONDS) is two
    assert len(house.made) == 1
    await house.leases.close()
    assert house.made[0].closed == 1


async def test_few_are_kept_idle_and_dead_ones_not_at_all() -> None:
    house = House()
    links = [await house.leases.take(SECONDS) for _ in range(KEPT_IDLE + 3)]
    house.made[0].alive = False
    for link in links:
        house.leases.give_back(link)
    await settle()
    assert len(house.leases) == KEPT_IDLE
    assert house.made[0].closed == 1
    house.made[1].lose()
    await settle()
    assert len(house.leases) == KEPT_IDLE - 1
    await house.leases.close()


async def test_there_is_a_bound_and_who_finds_none_free_waits_his_turn() -> None:
    house = House()
    links = [await house.leases.take(SECONDS) for _ in range(MAX_SESSIONS)]
    assert len(house.made) == MAX_SESSIONS - 1
    waiting = [asyncio.ensure_future(house.leases.take(SECONDS)) for _ in range(3)]
    await settle()
    waiting[0].cancel()
    await settle()
    house.leases.give_back(links[3])
    await settle()
    assert waiting[1].result() is links[3]
    assert not waiting[2].done()
    await house.leases.close()
    with pytest.raises(BackendUnavailable):
        await waiting[2]
    with pytest.raises(BackendUnavailable):
        await house.leases.take(SECONDS)


async def test_one_that_cannot_be_made_is_its_callers_fault_alone() -> None:
    house = House()
    await house.leases.take(SECONDS)
    house.fault = BackendUnavailable("files", "refused")
    with pytest.raises(BackendUnavailable, match="refused"):
        await house.leases.take(SECONDS)
    house.fault = None
    assert await house.leases.take(SECONDS) is house.made[0]
    await house.leases.close()


async def test_who_was_woken_and_waits_no_more_lets_the_next_one_have_it() -> None:
    house = House()
    links = [await house.leases.take(SECONDS) for _ in range(MAX_SESSIONS)]
    first, second = (asyncio.ensure_future(house.leases.take(SECONDS)) for _ in range(2))
    await settle()
    house.leases.give_back(links[0])
    first.cancel()
    await settle()
    assert second.result() is links[0]
    await house.leases.close()


async def test_nobody_waits_for_his_turn_longer_than_his_call_may_last() -> None:
    house = House()
    links = [await house.leases.take(SECONDS) for _ in range(MAX_SESSIONS)]
    waiting = asyncio.ensure_future(house.leases.take(SECONDS))
    await house.clock.advance(SECONDS)
    with pytest.raises(BackendTimeout, match="none of its 16 sessions, one for each call, was free within 60 s"):
        await waiting
    house.leases.give_back(links[0])
    assert await house.leases.take(SECONDS) is links[0]
    assert house.clock.waiting == 0
    await house.leases.close()
