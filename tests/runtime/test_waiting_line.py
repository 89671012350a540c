"""One timer for all who wait equally long."""

from __future__ import annotations

from emceepee.runtime.waiting_line import WaitingLine
from tests.support.fake_clock import FakeClock


class Guest:
    def __init__(self, name: str, told: list[str]) -> None:
        self.name = name
        self.told = told

    def overdue(self) -> None:
        self.told.append(self.name)


async def test_each_is_told_when_his_own_time_is_over_and_who_left_is_not() -> None:
    clock = FakeClock()
    line, told = WaitingLine(clock, 10), list[str]()
    first, second, third = (Guest(name, told) for name in ("first", "second", "third"))
    line.join(first)
    await clock.advance(4)
    line.join(second)
    await clock.advance(4)
    line.join(third)
    line.leave(second)
    line.leave(second)
    assert clock.waiting == 1
    await clock.advance(2)
    assert told == ["first"]
    await clock.advance(7.9)
    assert told == ["first"]
    await clock.advance(0.1)
    assert told == ["first", "third"]
    assert (len(line), clock.waiting) == (0, 0)


async def test_after_its_end_nobody_is_told() -> None:
    clock, told = FakeClock(), list[str]()
    line = WaitingLine(clock, 10)
    line.join(Guest("one", told))
    line.close()
    line.close()
    await clock.advance(20)
    assert (told, clock.waiting) == ([], 0)
