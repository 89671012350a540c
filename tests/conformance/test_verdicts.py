"""How the runs of the conformance suite are judged: what counts as kept, as lost, and as excused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conformance.verdicts import Check, Scenario, compare, idle_excuses, kept, lost, table

STATUSES = {"pass": "SUCCESS", "warn": "WARNING", "fail": "FAILURE", "skip": "SKIPPED"}


def scenario(outcome: str, scored: bool = True) -> Scenario:
    return Scenario(scored, (Check("also", "INFO"), Check("it", STATUSES[outcome], "because\n  of this")))


@pytest.mark.parametrize(
    ("statuses", "outcome"),
    [
        (["SUCCESS", "FAILURE", "WARNING"], "fail"),
        (["SUCCESS", "WARNING"], "warn"),
        (["SUCCESS", "SKIPPED"], "pass"),
        (["SKIPPED", "INFO"], "skip"),
        ([], "skip"),
    ],
)
def test_the_worst_check_decides_a_scenario(statuses: list[str], outcome: str) -> None:
    assert Scenario(True, tuple(Check("x", status) for status in statuses)).outcome == outcome


@pytest.mark.parametrize(
    ("direct", "through", "word"),
    [
        ("pass", "pass", "kept"),
        ("pass", "fail", "LOST"),
        ("pass", "warn", "LOST"),
        ("skip", "fail", "LOST"),
        ("fail", "pass", "gained"),
        ("warn", "fail", "fails directly"),
        ("fail", "fail", "fails directly"),
    ],
)
def test_only_what_passes_directly_can_be_lost(direct: str, through: str, word: str) -> None:
    (row,) = compare({"a": scenario(direct)}, {"a": scenario(through)}, {})
    assert row.word == word


def test_a_scenario_that_the_other_era_cannot_is_excused_by_its_name_only() -> None:
    direct = {"a": scenario("pass"), "b": scenario("pass")}
    rows = compare(direct, {"a": scenario("fail"), "b": scenario("fail")}, {"a": "it asks"})
    assert [row.word for row in rows] == ["other era", "LOST"]
    assert lost(rows) == ["b"]
    assert kept(rows, direct) == (0, 2)


def test_what_is_not_scored_is_shown_and_not_lost() -> None:
    direct = {"a": scenario("pass", scored=False), "b": scenario("pass")}
    rows = compare(direct, {"a": scenario("fail", scored=False), "b": scenario("pass")}, {})
    assert [row.word for row in rows] == ["not scored", "kept"]
    assert kept(rows, direct) == (1, 1)


def test_an_excuse_that_nothing_needs_is_found() -> None:
    rows = compare({"a": scenario("pass")}, {"a": scenario("pass")}, {"a": "once"})
    assert idle_excuses({"a": "once", "gone": "never there"}, rows) == ["a", "gone"]


def test_a_loss_is_told_with_its_complaint() -> None:
    text = table(compare({"a": scenario("pass")}, {"a": scenario("fail")}, {}))
    assert "LOST" in text
    assert "it: because of this" in text


def test_each_excuse_says_why_and_is_for_a_cell_of_both_eras() -> None:
    cells = json.loads(Path(__file__).with_name("other_era.json").read_text())["cells"]
    assert set(cells) == {"legacy client, modern backend", "modern client, legacy backend"}
    assert all(len(reason) > 10 for excuses in cells.values() for reason in excuses.values())
