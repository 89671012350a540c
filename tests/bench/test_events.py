"""The worlds in which an event's cost is measured are what they are said to be, and what is timed is done."""

from __future__ import annotations

import pytest

from bench.events import WAITERS, Full, Size, World, measure_events


@pytest.mark.parametrize(("kept", "workspaces", "each"), [(10, 1, 10), (990, 1, 990), (10, 30, 5)])
def test_a_world_keeps_as_many_events_before_and_after(kept: int, workspaces: int, each: int) -> None:
    world = World(kept, workspaces)
    for _ in range(2):
        assert [len(one.events) for one in world.workspaces] == [each] * workspaces
        written, delivered = world.written_and_delivered(40)
        assert written > 0
        assert delivered > 0
        assert not any(one.events.has_new for one in world.workspaces)


async def test_everybody_is_woken_by_each_event_and_nobody_is_left_waiting() -> None:
    world = World(10, 1)
    (one,) = world.workspaces
    before = one.events.sequence
    assert await world.woken(3) > 0
    assert one.events.sequence == before + 3 + 1
    assert (len(one.waiters), len(one.events)) == (0, 10)
    assert WAITERS == 100


def test_a_full_one_stays_full() -> None:
    world = Full()
    world.written_and_delivered(200)
    assert 900 <= len(world.workspaces[0].events) <= 1000


def test_each_step_is_compared_with_few_kept_in_one_workspace() -> None:
    found = measure_events(Size(rounds=1, events=10))
    assert [one.what for one in found] == [
        "written, 1,000 kept over 10",
        "delivered, 1,000 kept over 10",
        "a waiter woken, 1,000 kept over 10",
        "written, 1,000 workspaces over 1",
        "delivered, 1,000 workspaces over 1",
        "a waiter woken, 1,000 workspaces over 1",
        "written, 1,000 kept and each in the place of another, over 10",
    ]
    assert all(len(one.compared.one) == len(one.compared.other) == 1 for one in found)
