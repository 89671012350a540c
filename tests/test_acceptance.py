"""The claims of the tests are about ids that exist, and what must be shown is shown.

It does not judge a claim, it reads them as `make acceptance` does. The one rule: `tests/acceptance_required.txt` only
grows.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.acceptance import claims_in, collect, family, missing, read_list, report, select

TESTS = Path(__file__).parent
KNOWN = read_list(TESTS / "acceptance_ids.txt")


def test_every_id_that_a_test_names_exists_and_is_written_out() -> None:
    problems = collect(TESTS, KNOWN).problems
    assert not problems, "; ".join(problems)


def test_everything_that_must_be_shown_is_shown() -> None:
    absent = missing(KNOWN, read_list(TESTS / "acceptance_required.txt"), collect(TESTS, KNOWN))
    assert not absent, "no test shows: " + " ".join(absent)


def test_no_id_is_listed_twice() -> None:
    assert len(KNOWN) == len(set(KNOWN))


@pytest.mark.parametrize(("name", "kin"), [("C-DISP-04", "C-DISP"), ("EB-A12", "EB-A"), ("T7", "T")])
def test_an_id_tells_its_family(name: str, kin: str) -> None:
    assert family(name) == kin


def test_a_marker_is_found_on_functions_classes_and_parameters() -> None:
    source = """
pytestmark = pytest.mark.shows("A-1")
@pytest.mark.shows("A-2", "A-3")
class TestIt: ...
row = pytest.param(1, marks=pytest.mark.shows("A-4"))
"""
    assert set(claims_in(source, "t.py", {"A-1", "A-2", "A-3", "A-4"}).places) == {"A-1", "A-2", "A-3", "A-4"}


def test_a_marker_with_an_unknown_or_computed_id_is_a_problem() -> None:
    claims = claims_in('mark.shows("A-9")\nmark.shows(name)\n', "t.py", {"A-1"})
    assert not claims.places
    assert [problem.split(": ")[0] for problem in claims.problems] == ["t.py:1", "t.py:2"]


def test_a_name_stands_for_a_family_or_for_one_id() -> None:
    known = ["A-X-1", "A-X-2", "B-Y-1", "B-Y-2"]
    assert select(known, ["B-Y-2", "A-X"]) == ["A-X-1", "A-X-2", "B-Y-2"]
    with pytest.raises(LookupError, match="C-Z"):
        select(known, ["C-Z"])


def test_the_report_counts_and_names_what_is_missing() -> None:
    claims = claims_in('mark.shows("A-X-1")', "t.py", {"A-X-1"})
    assert report(["A-X-1", "A-X-2"], claims) == ["A-X         1 / 2", "         A-X-2", "all         1 / 2"]
