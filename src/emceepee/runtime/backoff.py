"""Delays between attempts: doubling, capped, with jitter.

The one rule: chance is an argument, so that a test can say what it was.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeAlias

Chance: TypeAlias = Callable[[], float]
"""A number from 0 up to 1, another one each time."""

chance: Chance = random.random
"""The real one."""


class Backoff:
    """`next()` gives the seconds to wait before the next attempt; `reset()` after something held."""

    __slots__ = ("_chance", "_first", "_most", "attempts")

    def __init__(self, first: float, most: float, chance: Chance = chance) -> None:
        self._first = first
        self._most = most
        self._chance = chance
        self.attempts = 0

    @property
    def fresh(self) -> bool:
        return self.attempts == 0

    def next(self) -> float:
        """Between half and all of the doubled delay, so that many who lost the same server do not knock at once."""
        whole = min(self._most, self._first * 2 ** min(self.attempts, 30))
        self.attempts += 1
        return float(whole * (0.5 + 0.5 * self._chance()))

    def reset(self) -> None:
        self.attempts = 0
