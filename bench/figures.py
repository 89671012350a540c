"""The arithmetic: from rounds to figures, from figures to ratios. Pure.

A sample is one round over one hop; hops take turns within a round, so the samples of a round saw the same machine. The
one rule: a ratio is the median of the ratios within each round, so that a slow minute strikes both sides of it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bench.wire import Errand, must_be_alike

_NOTHING: frozenset[str] = frozenset()


@dataclass(slots=True, frozen=True)
class Sample:
    """One round. Times in seconds; `cpu` is user and system time of what is measured, its children included."""

    calls: int
    wrong: int
    seconds: float
    cpu: float
    p50: float
    p99: float
    complaints: tuple[str, ...] = ()

    @property
    def cpu_per_call(self) -> float:
        return self.cpu / self.calls

    @property
    def rate(self) -> float:
        return self.calls / self.seconds


@dataclass(slots=True, frozen=True)
class Measured:
    """One hop doing one errand, all its rounds."""

    hop: str
    errand: Errand
    samples: tuple[Sample, ...]

    @property
    def wrong(self) -> int:
        return sum(sample.wrong for sample in self.samples)

    def median(self, what: Callable[[Sample], float]) -> float:
        return statistics.median(what(sample) for sample in self.samples)


Quantity: TypeAlias = Callable[[Sample], float]


def cpu_per_call(sample: Sample) -> float:
    return sample.cpu_per_call


def median_latency(sample: Sample) -> float:
    return sample.p50


def tail(sample: Sample) -> float:
    """How much longer the slowest hundredth takes than the middle."""
    return sample.p99 / sample.p50


def ratio(one: Measured, other: Measured, what: Quantity, but: frozenset[str] = _NOTHING) -> float:
    """How many times more the one is. Raises `Unlike` when they differ in more than `but` names."""
    must_be_alike(one.errand, other.errand, but)
    pairs = zip(one.samples, other.samples, strict=True)
    return statistics.median(what(mine) / what(its) for mine, its in pairs)


def added_ratio(one: Measured, other: Measured, floor: Measured, what: Quantity) -> float:
    """The same for what each adds to the floor. A difference is noisier than a value, so medians come first."""
    must_be_alike(one.errand, other.errand)
    must_be_alike(one.errand, floor.errand)
    added = [
        statistics.median(what(its) - what(least) for its, least in zip(which.samples, floor.samples, strict=True))
        for which in (one, other)
    ]
    return added[0] / added[1] if added[1] > 0 else float("inf")


def at_share(share: float, ordered: Sequence[float]) -> float:
    """The value below which that share lies; 0 of nothing."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def per_each(before: int, after: int, number: int) -> float:
    return (after - before) / number
