"""What is reached, what is missed, and what is neither."""

from __future__ import annotations

import pytest

from bench.targets import FASTMCP, NGINX, Finding, Verdict, has_missed, judge, read_ids


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(1.9, "aim"), (2.0, "aim"), (2.1, "must"), (6.0, "must"), (6.1, "missed"), (None, "not measured")],
)
def test_a_finding_is_judged_by_both_bounds(value: float | None, verdict: Verdict) -> None:
    assert judge(Finding(NGINX, "legacy", value)) == verdict


def test_what_was_not_measured_is_neither_reached_nor_missed() -> None:
    assert not has_missed([Finding(NGINX, "", None), Finding(NGINX, "", 1.0)])
    assert has_missed([Finding(NGINX, "", 1.0), Finding(FASTMCP, "", 0.021)])


def test_ids_are_read_as_people_type_them() -> None:
    assert read_ids("t1, T12,") == {"T1", "T12"}


def test_an_unknown_id_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="T0: there is T1, T2"):
        read_ids("T1,T0")
