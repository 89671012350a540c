"""Walks a JSON Schema's own positions, never the data inside it, and never a reference.

Not here: validating anything against a schema. The one rule: what lies under `default`, `const`, `enum` or `examples`
is data however much it looks like a schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str, ...]

_SINGLE = frozenset(
    (
        "items",
        "additionalItems",
        "contains",
        "unevaluatedItems",
        "additionalProperties",
        "propertyNames",
        "unevaluatedProperties",
        "not",
        "if",
        "then",
        "else",
        "contentSchema",
    )
)
_LISTED = frozenset(("allOf", "anyOf", "oneOf", "prefixItems", "items"))
_NAMED = frozenset(("patternProperties", "dependentSchemas", "$defs", "definitions", "dependencies"))


def positions(root: Any) -> Iterator[tuple[Path | None, dict[str, Any]]]:
    """Each subschema with the chain of `properties` that leads to it, or None where another keyword lies between.
    An explicit stack, so that depth costs no recursion."""
    stack: list[tuple[Path | None, Any]] = [((), root)]
    while stack:
        path, schema = stack.pop()
        if isinstance(schema, dict):
            yield path, schema
            for keyword, value in schema.items():
                stack.extend(_below(path, keyword, value))


def _below(path: Path | None, keyword: str, value: Any) -> Iterator[tuple[Path | None, Any]]:
    if isinstance(value, dict):
        if keyword == "properties":
            for name, schema in value.items():
                yield (None if path is None else (*path, name)), schema
        elif keyword in _SINGLE:
            yield None, value
        elif keyword in _NAMED:
            for schema in value.values():
                yield None, schema
    elif isinstance(value, list) and keyword in _LISTED:
        for schema in value:
            yield None, schema
