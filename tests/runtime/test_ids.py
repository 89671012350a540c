"""Ids: their form, and that no two are the same."""

import itertools
import re
from datetime import UTC, datetime

import pytest

from emceepee.runtime.ids import SystemIds, Ulids, slot_of
from tests.support.fake_clock import FakeClock


@pytest.mark.shows("X-CON-40")
def test_a_secret_has_the_form_of_a_ulid_and_is_fresh_each_time() -> None:
    ids = SystemIds()
    made = [ids.secret() for _ in range(1000)]
    assert len(set(made)) == 1000
    assert all(re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{26}", one) for one in made)
    # Not the monotonic kind: neighbours share no long prefix, so none can be guessed from another.
    assert max(_shared(a, b) for a, b in itertools.pairwise(made)) < 8


def _shared(a: str, b: str) -> int:
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=True)) if x != y), len(a))


def test_a_slot_and_a_span_have_their_forms() -> None:
    ids = SystemIds()
    assert re.fullmatch(r"[0-9a-z]{8}", ids.slot())
    assert re.fullmatch(r"[0-9a-f]{16}", ids.span())
    assert ids.slot() != ids.slot()


class _Wall(FakeClock):
    """Its time of day is set by hand, back as well."""

    ms = 0

    def wall(self) -> datetime:
        return datetime.fromtimestamp(self.ms / 1000, UTC)


@pytest.mark.shows("X-BUG-05", "X-CON-40")
def test_ulids_sort_as_they_were_made_also_within_a_millisecond_and_when_the_clock_steps_back() -> None:
    clock = _Wall()
    ulids = Ulids(clock, "0n0de001", chance=lambda bits: (1 << bits) - 1)
    made = []
    for ms in (1_800_000_000_000, 1_800_000_000_001, 1_799_999_990_000, 1_800_000_000_001, 1_800_000_000_002):
        clock.ms = ms
        made += [ulids.next() for _ in range(100)]
    assert made == sorted(set(made))
    assert all(re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", one) for one in made)


def test_ulids_still_sort_when_a_millisecond_runs_out_of_room() -> None:
    ulids = Ulids(_Wall(), "0n0de001", chance=lambda bits: (1 << (bits + 1)) - 2)
    made = [ulids.next() for _ in range(5)]
    assert made == sorted(set(made))


def test_a_ulid_says_which_process_made_it_and_when() -> None:
    slot = SystemIds().slot()
    assert slot_of(Ulids(FakeClock(), slot).next()) == slot
