"""From rounds to ratios."""

from __future__ import annotations

import pytest

from bench.figures import Measured, Sample, added_ratio, at_share, cpu_per_call, median_latency, per_each, ratio, tail
from bench.wire import Errand, Unlike

WORK = Errand("legacy")


def _measured(*cpu: float, errand: Errand = WORK, p50: float = 1.0, p99: float = 2.0) -> Measured:
    return Measured("hop", errand, tuple(Sample(10, 0, 1.0, each, p50, p99) for each in cpu))


def test_cpu_is_divided_by_the_calls() -> None:
    assert cpu_per_call(Sample(200, 0, 2.0, 0.5, 0.0, 0.0)) == 0.0025


def test_a_ratio_is_the_median_of_the_rounds_own_ratios() -> None:
    """In the second round the machine was five times slower for both; in the third it struck one alone."""
    assert ratio(_measured(4, 20, 40), _measured(2, 10, 2), cpu_per_call) == 2.0


def test_a_ratio_of_unlike_work_is_refused() -> None:
    with pytest.raises(Unlike):
        ratio(_measured(1), _measured(1, errand=Errand("modern")), cpu_per_call)


def test_a_ratio_of_unlike_numbers_of_rounds_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        ratio(_measured(1, 2), _measured(1), cpu_per_call)


def test_what_is_added_is_counted_from_the_floor() -> None:
    ours, its, floor = _measured(1, p50=7.0), _measured(1, p50=3.0), _measured(1, p50=1.0)
    assert added_ratio(ours, its, floor, median_latency) == 3.0


def test_a_hop_that_adds_nothing_cannot_be_beaten() -> None:
    ours, its = _measured(1, p50=7.0), _measured(1, p50=1.0)
    assert added_ratio(ours, its, its, median_latency) == float("inf")


def test_the_tail_is_told_by_the_middle() -> None:
    assert tail(Sample(1, 0, 1.0, 1.0, 2.0, 6.0)) == 3.0


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 51), (0.99, 100), (1.0, 100)])
def test_a_share_of_ordered_values(share: float, value: int) -> None:
    assert at_share(share, list(range(1, 101))) == value


def test_a_share_of_nothing_is_nothing() -> None:
    assert at_share(0.5, []) == 0.0


def test_growth_is_divided_among_those_who_came() -> None:
    assert per_each(1_000, 3_000, 100) == 20.0
