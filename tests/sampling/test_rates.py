"""Token buckets: how many at once, how many over time, and how many buckets."""

from __future__ import annotations

import pytest

from emceepee.sampling.rates import Rates
from emceepee.sampling.settings import RateSettings

KEY = ("local", "tuner")


@pytest.mark.shows("X-GAP-24")
def test_a_bucket_gives_what_it_holds_and_fills_with_time() -> None:
    rates = Rates(RateSettings(burst=2, per_minute=60))
    assert [rates.take(KEY, 100.0) for _ in range(3)] == [0, 0, 1.0]
    assert rates.take(KEY, 100.5) == pytest.approx(0.5)
    assert rates.take(KEY, 101.0) == 0
    assert rates.take(KEY, 101.0) > 0


def test_a_bucket_never_holds_more_than_the_burst() -> None:
    rates = Rates(RateSettings(burst=2, per_minute=60))
    rates.take(KEY, 0.0)
    assert [rates.take(KEY, 1e6) for _ in range(3)] == [0, 0, 1.0]


def test_each_pair_has_its_own() -> None:
    rates = Rates(RateSettings(burst=1))
    assert rates.take(KEY, 0.0) == rates.take(("local", "b"), 0.0) == rates.take(("x", "tuner"), 0.0) == 0
    assert rates.take(KEY, 0.0) > 0


def test_buckets_are_bounded_and_full_ones_go_first() -> None:
    rates = Rates(RateSettings(burst=1, per_minute=60, max_buckets=2))
    rates.take(("a", "s"), 0.0)
    rates.take(("b", "s"), 0.9)
    rates.take(("c", "s"), 1.0)
    assert len(rates) == 2
    assert rates.take(("b", "s"), 1.0) > 0, "it was not full, so it was kept"
    for number in range(50):
        rates.take((str(number), "s"), 1.0)
    assert len(rates) == 2
