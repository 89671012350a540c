"""One thing that is wrong with a request, and the small checks that every file of checks is made of. Pure.

The one rule: a boolean is no number, a number as text is no number, and a fraction is no integer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(slots=True, frozen=True)
class Problem:
    """`field` is a path such as `messages[1].content.text`; `says` is a sentence that a person understands."""

    field: str
    value: Any
    expected: str
    says: str


Problems: TypeAlias = Iterator[Problem]
"""Found one after the other; whoever wants only the first takes the first."""


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_positive_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def is_unit(value: Any) -> bool:
    """A number from 0 to 1."""
    return is_number(value) and 0 <= value <= 1


def wrong_kind(where: str, value: Any, expected: str) -> Problem:
    return Problem(where, value, expected, f"{where} must be {expected}")


def optional(given: dict[str, Any], key: str, kind: type, expected: str, where: str = "") -> Problems:
    """A field that may be absent, or null, which some programs write for it."""
    value = given.get(key)
    if value is not None and (not isinstance(value, kind) or (kind is not bool and isinstance(value, bool))):
        yield wrong_kind(f"{where}.{key}" if where else key, value, expected)
