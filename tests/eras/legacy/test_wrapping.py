"""Output schemas under `result`: the same meaning in the new place, or none at all."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.eras.legacy.wrapping import must_wrap, wrapped_schema
from emceepee.vocabulary.raw_json import read_value
from tests.support.era_requests import raw


def wrapped(schema: Any) -> Any:
    found = wrapped_schema(raw(schema))
    return None if found is None else read_value(found)


def under_result(inner: Any, **outer: Any) -> Any:
    return {**outer, "type": "object", "properties": {"result": inner}, "required": ["result"]}


def test_an_object_stays_the_very_same() -> None:
    schema = raw({"type": "object", "properties": {"a": {"$ref": "#"}}})
    assert wrapped_schema(schema) is schema
    assert not must_wrap(schema)


@pytest.mark.parametrize("schema", [{"type": "array"}, {"type": "string"}, {"anyOf": [{"type": "object"}]}, {}, True])
@pytest.mark.shows("EB-F13")
def test_anything_else_goes_under_result(schema: Any) -> None:
    assert must_wrap(raw(schema))
    assert wrapped(schema) == under_result(schema)


def test_its_references_point_to_the_new_place() -> None:
    schema = {
        "type": "array",
        "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/a"}, {"$ref": "#named"}, {"$ref": "other.json#/a"}]},
        "$defs": {"a": {"properties": {"b": {"$ref": "#/$defs/a"}}}},
        "default": [{"$ref": "#"}],
    }
    inner = wrapped(schema)["properties"]["result"]
    assert [entry["$ref"] for entry in inner["items"]["anyOf"]] == [
        "#/properties/result",
        "#/properties/result/$defs/a",
        "#named",
        "other.json#/a",
    ]
    assert inner["$defs"]["a"]["properties"]["b"]["$ref"] == "#/properties/result/$defs/a"
    assert inner["default"] == [{"$ref": "#"}]


def test_its_dialect_is_said_of_the_whole() -> None:
    assert wrapped({"$schema": "d", "type": "array"}) == under_result({"type": "array"}, **{"$schema": "d"})


def test_a_schema_with_a_name_of_its_own_keeps_its_references() -> None:
    schema = {"$id": "https://x.example/s", "type": "array", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {}}}
    assert wrapped(schema) == under_result(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"$dynamicRef": "#x"}},
        {"type": "array", "items": {"$recursiveRef": "#"}},
        {"type": "array", "items": {"$id": "inner", "$ref": "#/a"}},
    ],
)
def test_one_that_cannot_be_moved_is_not_shown(schema: Any) -> None:
    assert wrapped(schema) is None
