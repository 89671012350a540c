"""The report hides nothing: what is wrong, what was missed and what was left out are in it."""

from __future__ import annotations

from bench.figures import Measured, Sample
from bench.hops import Missing
from bench.measures import Outcome
from bench.report import as_json, table, write_findings, write_outcome
from bench.targets import FASTMCP, IDLE, NGINX, Finding
from bench.wire import Errand

SAMPLES = (Sample(100, 0, 1.0, 0.01, 0.001, 0.002), Sample(100, 2, 1.0, 0.03, 0.001, 0.002, ("other words",)))
OUTCOME = Outcome(
    "calls",
    [Measured("emceepee /servers", Errand("legacy", answers="sse"), SAMPLES)],
    [Finding(NGINX, "legacy", 6.5)],
    [Missing("nginx", "install it")],
)


def test_wrong_answers_and_what_was_left_out_are_told() -> None:
    text = write_outcome(OUTCOME)
    assert "WRONG emceepee /servers (SSE backend): other words" in text
    assert "left out, nginx is not here: install it" in text
    assert "| emceepee /servers (SSE backend) |       200.0 |" in text


def test_a_missed_target_stands_out() -> None:
    text = write_findings([Finding(NGINX, "legacy", 6.5), Finding(FASTMCP, "", 1 / 80), Finding(IDLE, "", None)])
    missed, reached, unknown = text.splitlines()[2:]
    assert "6.50" in missed
    assert missed.endswith("| MISSED               |")
    assert "1/80" in reached
    assert "reached, and the aim" in reached
    assert "not measured" in unknown


def test_the_json_has_every_round() -> None:
    said = as_json([OUTCOME])
    assert [one["wrong"] for one in said["parts"][0]["hops"][0]["rounds"]] == [0, 2]
    assert said["findings"][0]["verdict"] == "missed"


def test_a_table_has_numbers_to_the_right() -> None:
    assert table(("hop", "µs"), [("nginx", "5"), ("direct", "123")]).splitlines()[1:] == [
        "|--------|----:|",
        "| nginx  |   5 |",
        "| direct | 123 |",
    ]
