"""When a server that is away is tried again, by whom, and what the others do meanwhile."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from emceepee.backends.recovery import RecoverySettings
from emceepee.backends.waiting_room import WaitingRoom
from tests.support.fake_clock import FakeClock


class Guest:
    def __init__(self, name: str, tried: list[str]) -> None:
        self.name = name
        self.tried = tried
        self.gave_up = 0

    def try_again(self) -> None:
        self.tried.append(self.name)

    def give_up(self) -> None:
        self.gave_up += 1


class House:
    def __init__(self, chance: float = 1.0, **settings: object) -> None:
        self.clock = FakeClock()
        self.tried: list[str] = []
        chosen = replace(RecoverySettings(), **settings)  # type: ignore[arg-type]
        self.room = WaitingRoom("files", self.clock, chosen, lambda: chance)

    def guest(self, name: str = "a") -> Guest:
        return Guest(name, self.tried)

    def planned(self) -> float:
        assert self.room.next_try is not None
        return self.room.next_try - self.clock.now()

    async def fail(self, guest: Guest, times: int) -> list[float]:
        """Let it fail again and again; the delays between."""
        delays = []
        for _ in range(times):
            self.room.enter(guest)
            delays.append(self.planned())
            await self.clock.advance(self.planned())
        return delays


@pytest.mark.shows("A-REC-04", "X-BUG-40")
async def test_delays_double_from_one_second_to_three_minutes() -> None:
    house = House()
    assert await house.fail(house.guest(), 10) == [1, 2, 4, 8, 16, 32, 64, 128, 180, 180]
    assert len(house.tried) == 10


@pytest.mark.shows("X-BUG-40")
async def test_chance_shortens_a_delay_by_at_most_half() -> None:
    assert await House(chance=0.0).fail(Guest("a", []), 3) == [0.5, 1, 2]


@pytest.mark.shows("A-REC-07", "A-LOG-06")
async def test_each_planned_attempt_is_logged_with_its_number_and_delay(caplog: pytest.LogCaptureFixture) -> None:
    house = House()
    with caplog.at_level(logging.INFO, "emceepee.backends"):
        await house.fail(house.guest(), 2)
    assert [(record.message, record.data) for record in caplog.records] == [  # type: ignore[attr-defined]
        ("server_reconnecting", {"server": "files", "attempt": 1, "delayMs": 1000}),
        ("server_reconnecting", {"server": "files", "attempt": 2, "delayMs": 2000}),
    ]


@pytest.mark.shows("A-REC-05", "X-BUG-41")
async def test_success_counts_attempts_anew_and_a_connection_that_held_shortens_the_delay_again() -> None:
    house = House()
    guest = house.guest()
    await house.fail(guest, 4)
    house.room.reached(guest)
    assert house.room.attempts == 0
    assert await house.fail(guest, 1) == [16], "it came and went: that is no reason to knock more often"
    house.room.reached(guest)
    house.room.proved()
    assert await house.fail(guest, 1) == [1]
    assert house.room.attempts == 1


async def test_all_wait_for_one_attempt_in_turn() -> None:
    house = House()
    guests = [house.guest(name) for name in "abc"]
    for guest in guests:
        house.room.enter(guest)
    await house.clock.advance(1)
    assert house.tried == ["a"]
    house.room.enter(guests[0])
    await house.clock.advance(2)
    assert house.tried == ["a", "b"]
    assert house.clock.waiting == 1


async def test_when_one_got_through_the_others_follow_a_few_at_a_time() -> None:
    house = House(rush=2)
    guests = [house.guest(name) for name in "abcd"]
    for guest in guests:
        house.room.enter(guest)
    await house.clock.advance(1)
    house.room.reached(guests[0])
    assert house.tried == ["a", "b", "c"]
    house.room.reached(guests[1])
    assert house.tried == ["a", "b", "c", "d"]
    house.room.enter(guests[2])
    house.room.reached(guests[3])
    assert house.tried[4:] == ["c"], "it is tried again as soon as another one got through"


async def test_a_use_that_tries_earlier_does_not_change_what_is_planned() -> None:
    house = House()
    guest = house.guest()
    await house.fail(guest, 3)
    house.room.enter(guest)
    assert house.planned() == 8
    await house.clock.advance(3)
    house.room.leave(guest)
    assert house.clock.waiting == 0
    house.room.enter(guest)
    assert (house.planned(), house.room.attempts) == (5, 4)


@pytest.mark.shows("A-REC-03", "A-REC-06")
async def test_with_a_limit_all_give_up_together_and_a_new_beginning_counts_anew() -> None:
    house = House(max_attempts=10)
    first, second = house.guest("a"), house.guest("b")
    for _ in range(10):
        house.room.enter(first)
        house.room.enter(second)
        await house.clock.advance(house.planned())
    house.room.enter(first)
    house.room.enter(second)
    assert len(house.tried) == 10
    assert first.gave_up >= 1
    assert second.gave_up >= 1
    assert (len(house.room), house.clock.waiting) == (0, 0)
    house.room.renew()
    assert await house.fail(first, 1) == [1]


async def test_closing_leaves_no_timer() -> None:
    house = House()
    house.room.enter(house.guest())
    house.room.close()
    assert (house.clock.waiting, len(house.room)) == (0, 0)
