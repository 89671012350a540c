"""The walk over a schema's own positions."""

from __future__ import annotations

from typing import Any

from emceepee.eras.schemas import positions


def paths(schema: Any) -> set[Any]:
    return {path for path, _ in positions(schema)}


def test_a_chain_of_properties_is_a_path_and_anything_else_breaks_it() -> None:
    schema = {
        "properties": {"a": {"properties": {"b": {"items": {"properties": {"c": {}}}}}}},
        "anyOf": [{"properties": {"d": {}}}],
    }
    assert paths(schema) == {(), ("a",), ("a", "b"), None}
    assert sum(1 for path, _ in positions(schema) if path is None) == 4


def test_data_is_never_taken_for_a_schema() -> None:
    data = {"properties": {"x": {}}}
    assert paths({"default": data, "const": data, "enum": [data], "examples": [data], "unknown": data}) == {()}


def test_a_property_may_be_named_like_a_keyword() -> None:
    assert paths({"properties": {"items": {}, "properties": {}}}) == {(), ("items",), ("properties",)}


def test_depth_is_no_matter_and_rubbish_is_no_schema() -> None:
    schema: Any = {}
    for _ in range(5000):
        schema = {"not": schema}
    assert sum(1 for _ in positions(schema)) == 5001
    assert paths([1]) == paths(True) == set()
    assert paths({"properties": [1], "items": 5, "anyOf": {"a": 1}}) == {()}
