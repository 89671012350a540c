"""How a mistake is written down."""

from __future__ import annotations

from emceepee.config.jsonc import read
from emceepee.config.problems import Problem, Report


def test_a_problem_reads_as_file_line_column_what_and_cure() -> None:
    problem = Problem("mcp.json", 3, 7, "mcpServers.files.args[1]", "this has to be a text", "put quotes")
    assert str(problem) == "mcp.json:3:7: error: mcpServers.files.args[1]: this has to be a text (put quotes)"
    assert problem.as_json()["line"] == 3


def test_a_report_begins_with_the_mistakes_of_the_text_and_counts_errors_only() -> None:
    document = read(b'{"a": 1, "a": 2}')
    report = Report("mcp.json", document)
    report.note(document.root, "", "a note")
    assert [problem.severity for problem in report.problems] == ["error", "note"]
    assert report.errors == 1
