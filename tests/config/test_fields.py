"""Taking typed fields of an object, with what is wrong told and then absent."""

from __future__ import annotations

from emceepee.config.fields import Fields
from emceepee.config.jsonc import read
from emceepee.config.problems import Report


def fields(text: str) -> Fields:
    document = read(text.encode())
    return Fields(document.root, "root", Report("mcp.json", document), {"A": "1"})


def test_what_was_taken_is_no_longer_among_the_rest() -> None:
    taken = fields('{"a": 1, "b": [2]}')
    assert taken.take("a") is not None
    assert taken.take("none") is None
    assert taken.rest() == {"b": [2]}


def test_a_field_is_told_under_the_spelling_of_the_file() -> None:
    taken = fields('{"environment": {"X": 1}}')
    taken.take("env", "environment")
    assert taken.path("env.X") == "root.environment.X"
    assert taken.path("env") == "root.environment"
    assert taken.path("") == "root"


def test_a_value_of_the_wrong_type_is_reported_and_absent_and_the_right_ones_stay() -> None:
    taken = fields('{"list": ["${A}", {}], "map": {"x": "1", "y": []}}')
    assert taken.texts(taken.take("list"), "list") == ["1"]
    assert taken.table(taken.take("map"), "map") == {"x": "1"}
    assert [problem.where for problem in taken.report.problems] == ["root.list[1]", "root.map.y"]
