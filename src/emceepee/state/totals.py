"""How many events all workspaces hold together, and which holds most.

The one rule: an event that is added or removed costs the same, however many workspaces there are.
"""

from __future__ import annotations

import math
from typing import Literal, Protocol


class Holder(Protocol):
    def __len__(self) -> int: ...

    def evict(self, count: int, reason: Literal["event_limit", "total_limit"]) -> int: ...


class EventTotals:
    """Holders stand on steps by how many they hold; the highest step that has somebody is where room is made."""

    def __init__(self, limit: int, evict_share: float = 0.1) -> None:
        self._limit = limit
        self._share = evict_share
        self._held: dict[Holder, int] = {}
        self._steps: dict[int, dict[Holder, None]] = {}
        self._highest = 0
        self.total = 0

    def join(self, holder: Holder) -> None:
        self._move(holder, 0, len(holder))

    def leave(self, holder: Holder) -> None:
        held = self._held.pop(holder, None)
        if held is not None:
            self._take_down(holder, held)
            self.total -= held

    def grew(self, holder: Holder) -> None:
        held = self._held[holder]
        self._take_down(holder, held)
        self._move(holder, held, held + 1)

    def shrank(self, holder: Holder, by: int) -> None:
        held = self._held[holder]
        self._take_down(holder, held)
        self._move(holder, held, held - by)

    def make_room(self) -> None:
        """For one more. The fullest gives a share of what it holds, so that this is not needed each time."""
        while self.total >= self._limit:
            fullest = next(iter(self._steps[self._fullest_step()]))
            if not fullest.evict(max(1, math.ceil(self._share * len(fullest))), "total_limit"):
                return

    def _move(self, holder: Holder, before: int, after: int) -> None:
        self.total += after - before
        self._held[holder] = after
        self._steps.setdefault(after, {})[holder] = None
        self._highest = max(self._highest, after)

    def _take_down(self, holder: Holder, held: int) -> None:
        step = self._steps[held]
        del step[holder]
        if not step:
            del self._steps[held]

    def _fullest_step(self) -> int:
        # Steps down are paid for by the events that were added on the way up.
        while self._highest not in self._steps:
            self._highest -= 1
        return self._highest
