"""How long a result may be reused, said and read."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.eras.modern.cacheable import read_hints, write_hints
from emceepee.vocabulary.outcomes import CacheHints
from emceepee.vocabulary.raw_json import read_fields, read_value
from tests.support.era_requests import raw


@pytest.mark.parametrize("hints", [CacheHints(60000, "public"), CacheHints(0, "private")])
def test_hints_come_back_as_they_went(hints: CacheHints) -> None:
    assert read_hints(read_fields(b'{"a":1' + write_hints(hints) + b"}")) == hints


def test_where_nobody_knows_it_is_not_at_all_and_privately() -> None:
    assert read_value(b'{"a":1' + write_hints(None) + b"}") == {"a": 1, "ttlMs": 0, "cacheScope": "private"}


@pytest.mark.parametrize("said", [{}, {"cacheScope": "public"}, {"ttlMs": "60"}, {"ttlMs": -1}, {"ttlMs": None}])
def test_an_unusable_time_is_no_hint(said: Any) -> None:
    assert read_hints(read_fields(raw(said))) is None


def test_an_unknown_scope_is_a_private_one() -> None:
    assert read_hints(read_fields(raw({"ttlMs": 5, "cacheScope": "team"}))) == CacheHints(5, "private")


def test_a_remaining_time_below_zero_is_none() -> None:
    assert b'"ttlMs":0' in write_hints(CacheHints(-5, "public"))
