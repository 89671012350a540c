"""What counts as a number, and what does not."""

from __future__ import annotations

import math
from typing import Any

import pytest

from emceepee.sampling.problem import is_number, is_positive_integer, is_unit, optional


@pytest.mark.shows("X-PY-03")
@pytest.mark.parametrize("value", [True, False, "1", None, math.nan, math.inf, [1]])
def test_neither_a_boolean_nor_a_text_is_a_number(value: Any) -> None:
    assert not is_number(value)
    assert not is_positive_integer(value)
    assert not is_unit(value)


@pytest.mark.parametrize(("value", "expected"), [(0, True), (1, True), (0.5, True), (1.0001, False), (-0.1, False)])
def test_a_unit_is_from_zero_to_one(value: float, expected: bool) -> None:
    assert is_unit(value) is expected


@pytest.mark.parametrize(("value", "wrong"), [(None, 0), ("a", 0), (1, 1), (True, 1)])
def test_an_optional_field_may_be_absent_or_null_and_nothing_of_another_kind(value: Any, wrong: int) -> None:
    assert len(list(optional({"key": value}, "key", str, "a string"))) == wrong
    assert not list(optional({}, "key", str, "a string"))
