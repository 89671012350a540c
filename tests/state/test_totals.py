"""The cap over all workspaces: it holds, the fullest gives way, and finding it costs the same for any number."""

from __future__ import annotations

import random

import pytest

from emceepee.state.totals import EventTotals
from tests.state.logs import TestedLog


@pytest.mark.shows("A-EVT-36", "X-CON-20")
def test_past_the_cap_the_workspace_that_holds_most_gives_way() -> None:
    totals = EventTotals(100)
    big, small = TestedLog(totals=totals), TestedLog(totals=totals)
    for _ in range(80):
        big.add()
    kept = [small.add() for _ in range(20)]
    kept.append(small.add())
    assert (len(big), len(small), totals.total) == (72, 21, 93)
    assert small.deliver() == kept


def test_the_cap_holds_in_any_order_of_adding_and_leaving() -> None:
    chance = random.Random(7)  # noqa: S311 - a test that can be repeated
    totals = EventTotals(50)
    logs = [TestedLog(totals=totals) for _ in range(8)]
    for _ in range(2000):
        log = chance.choice(logs)
        if chance.random() < 0.02:
            logs.remove(log)
            log.close()
            logs.append(TestedLog(totals=totals))
        else:
            log.add()
        assert totals.total == sum(map(len, logs)) <= 50


def test_many_workspaces_with_one_event_each_make_room_too() -> None:
    totals = EventTotals(20)
    logs = [TestedLog(totals=totals) for _ in range(40)]
    for log in logs:
        log.add()
    assert totals.total <= 20
    assert len(logs[-1]) == 1
