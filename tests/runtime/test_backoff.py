"""Delays: doubling, capped, with a chance that the test decides."""

from emceepee.runtime.backoff import Backoff


def test_delays_double_up_to_the_cap_and_start_over_after_a_reset() -> None:
    backoff = Backoff(1.0, 10.0, chance=lambda: 1.0)
    assert [backoff.next() for _ in range(6)] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert not backoff.fresh
    backoff.reset()
    assert backoff.fresh
    assert backoff.next() == 1.0


def test_chance_takes_away_at_most_half() -> None:
    assert Backoff(4.0, 60.0, chance=lambda: 0.0).next() == 2.0
    assert all(2.0 <= Backoff(4.0, 60.0).next() <= 4.0 for _ in range(50))


def test_a_thousand_attempts_later_the_number_is_still_a_number() -> None:
    backoff = Backoff(1.0, 180.0, chance=lambda: 1.0)
    assert [backoff.next() for _ in range(1000)][-1] == 180.0
