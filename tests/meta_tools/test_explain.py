"""What is plainly wrong with arguments, said in sentences."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emceepee.meta_tools.explain import misfits
from emceepee.vocabulary.raw_json import to_raw

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "count": {"type": "integer"},
        "mode": {"enum": ["r", "w"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "deep": {"type": "object", "required": ["x"], "properties": {"x": {"type": ["number", "null"]}}},
    },
    "required": ["path"],
}


@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        ({"path": "a", "count": 3, "mode": "r", "tags": ["x"], "deep": {"x": None}}, []),
        ({}, ["arguments.path is required"]),
        ({"path": 1}, ["arguments.path must be string, not number"]),
        ({"path": "a", "count": 1.5}, ["arguments.count must be integer, not number"]),
        ({"path": "a", "count": True}, ["arguments.count must be integer, not boolean"]),
        ({"path": "a", "count": 2.0}, []),
        ({"path": "a", "mode": "x"}, ['arguments.mode must be one of ["r", "w"]']),
        ({"path": "a", "tags": ["x", 1]}, ["arguments.tags[1] must be string, not number"]),
        ({"path": "a", "deep": {}}, ["arguments.deep.x is required"]),
        ({"pth": "a"}, ["arguments.path is required", "arguments.pth is not known; did you mean 'path'?"]),
        ({"path": "a", "unrelated": 1}, []),
    ],
)
def test_what_does_not_fit_is_said(arguments: Any, problems: list[str]) -> None:
    assert misfits(to_raw(SCHEMA), to_raw(arguments)) == problems


def test_a_closed_object_knows_its_names() -> None:
    closed = {"properties": {"a": {}}, "additionalProperties": False}
    assert misfits(to_raw(closed), to_raw({"zzz": 1})) == ['arguments.zzz is not known; known: ["a"]']


def test_no_arguments_are_an_empty_object() -> None:
    assert misfits(to_raw(SCHEMA), None) == ["arguments.path is required"]


def test_it_ends_soon() -> None:
    assert len(misfits(to_raw({"required": [str(n) for n in range(99)]}), to_raw({}))) == 10


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "properties", "required", "items", "enum", "a"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(json_values, json_values)
def test_nothing_makes_it_fail(schema: Any, arguments: Any) -> None:
    assert isinstance(misfits(to_raw(schema), to_raw(arguments)), list)
