"""Ids: their form, and that no two are the same."""

import itertools
import re

import pytest

from emceepee.runtime.ids import SystemIds


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
