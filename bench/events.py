"""What an event costs: written, delivered, and for each who is woken; with few kept and many, alone and in a crowd.

Real workspaces, in this process. Worlds differ in one thing and take turns, as hops do. The one rule: what is timed is
the step alone, in CPU time; what makes a world ready for the next one is not.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from time import process_time_ns

import uvloop

from bench.starting import Compared
from emceepee.runtime.clock import SystemClock
from emceepee.runtime.ids import Ulids
from emceepee.sessions.workspace import Workspace
from emceepee.state.settings import StateSettings
from emceepee.state.totals import EventTotals

WAITERS = 100
_BURST = 10
_CROWD = 1_000
_FEW, _MANY = 10, 990
"""Kept before a burst; the many are the thousand of the settings after it."""
_DATA = {"taskId": "01JZZZZZZZZZZZZZZZZZZZZZZZ", "toolName": "slow", "ttl": 300_000}
_NANO = 1e-9


@dataclass(slots=True, frozen=True)
class Size:
    """`events` are those of one world in one round."""

    rounds: int = 10
    events: int = 1_000


class World:
    def __init__(self, kept: int, workspaces: int) -> None:
        clock, totals = SystemClock(), EventTotals(StateSettings().max_total_events)
        ulids = Ulids(clock, "0n0de001")
        self.kept = kept
        self.workspaces = [Workspace(f"s{n}", clock, ulids, StateSettings(), totals) for n in range(workspaces)]
        # In a crowd the others keep a little too, within what all may keep together.
        for one in self.workspaces:
            _write(one, kept if workspaces == 1 else 5)
            one.commit(one.lease())
        self._turn = cycle(self.workspaces)

    def written_and_delivered(self, events: int) -> tuple[float, float]:
        """Seconds of CPU for each event: to write it, to have a response carry it."""
        writing = delivering = 0
        for _ in range(events // _BURST):
            one = next(self._turn)
            start = process_time_ns()
            _write(one, _BURST)
            middle = process_time_ns()
            one.commit(one.lease())
            delivering += process_time_ns() - middle
            writing += middle - start
            one.events.evict(_BURST, "event_limit")
        return writing * _NANO / events, delivering * _NANO / events

    async def woken(self, events: int) -> float:
        """Seconds of CPU for each that is woken: from the event until all of them look and wait again."""
        one = self.workspaces[0]
        stop = False

        async def wait() -> None:
            while not stop:
                await one.waiters.past(one.events.sequence, 50)

        waiters = [asyncio.ensure_future(wait()) for _ in range(WAITERS)]
        await _until_all_wait(one)
        took = 0
        for _ in range(events):
            start = process_time_ns()
            _write(one, 1)
            await _until_all_wait(one)
            took += process_time_ns() - start
            one.commit(one.lease())
            one.events.evict(1, "event_limit")
        stop = True
        _write(one, 1)
        await asyncio.gather(*waiters)
        one.commit(one.lease())
        one.events.evict(1, "event_limit")
        return took * _NANO / events / WAITERS


def _write(one: Workspace, number: int) -> None:
    for _ in range(number):
        one.record("task_created", "files", _DATA)


async def _until_all_wait(one: Workspace) -> None:
    while len(one.waiters) < WAITERS:  # noqa: ASYNC110 -- an event would be part of what is timed
        await asyncio.sleep(0)


class Full(World):
    """Keeps all that may be kept, so that each event costs another its place."""

    def __init__(self) -> None:
        super().__init__(StateSettings().events.max_events, 1)

    def written_and_delivered(self, events: int) -> tuple[float, float]:
        """Bursts as elsewhere, and nothing is taken away: it goes by itself, and that is timed."""
        (one,) = self.workspaces
        writing = 0
        for _ in range(events // _BURST):
            start = process_time_ns()
            _write(one, _BURST)
            writing += process_time_ns() - start
            one.commit(one.lease())
        return writing * _NANO / events, 0.0


@dataclass(slots=True, frozen=True)
class Found:
    what: str
    compared: Compared


def measure_events(size: Size) -> list[Found]:
    # What a gateway writes about a full workspace, it does not write once for each event.
    log = logging.getLogger("emceepee")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        return uvloop.run(_measure(size))
    finally:
        log.setLevel(before)


async def _measure(size: Size) -> list[Found]:
    worlds = {"few": World(_FEW, 1), "many": World(_MANY, 1), "crowd": World(_FEW, _CROWD), "full": Full()}
    took: dict[tuple[str, str], list[float]] = {}
    gc.collect()
    gc.freeze()
    for turn in range(size.rounds + 1):
        for name, world in sorted(worlds.items(), reverse=bool(turn % 2)):
            written, delivered = world.written_and_delivered(size.events)
            woken = await world.woken(size.events) if name != "full" else 0.0
            # The first round is for warming up.
            for what, seconds in zip(_STEPS, (written, delivered, woken), strict=True) if turn else ():
                took.setdefault((name, what), []).append(seconds)
    gc.unfreeze()
    for world in worlds.values():
        for one in world.workspaces:
            await one.close()
    return [*_compared(took)]


_STEPS = ("written", "delivered", "a waiter woken")
_PAIRS = (
    ("many", "1,000 kept over 10", ("1,000 kept", "10 kept")),
    ("crowd", "1,000 workspaces over 1", ("1,000 workspaces", "1 workspace")),
    ("full", "1,000 kept and each in the place of another, over 10", ("full", "10 kept")),
)


def _compared(took: dict[tuple[str, str], list[float]]) -> Iterator[Found]:
    for which, words, names in _PAIRS:
        for what in _STEPS:
            mine = took[which, what]
            if any(mine):
                yield Found(f"{what}, {words}", Compared(names, tuple(mine), tuple(took["few", what])))
