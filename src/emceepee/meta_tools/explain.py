"""Why arguments do not fit a tool's input schema, in sentences. Pure.

It is no validator and blocks no call: it speaks after a server refused, and only of what is plainly wrong (required,
type, enum, unknown names). What it does not understand it passes over.

The one rule: whatever schema and arguments hold, it ends soon and never raises.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from msgspec import Raw

from emceepee.relay.reach import nearest
from emceepee.vocabulary.raw_json import NotThatShape, read_value

_MAX_PROBLEMS = 10
_MAX_DEPTH = 8

_IS: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
}


def misfits(schema: Raw | None, arguments: Raw | None) -> list[str]:
    """What is wrong, at most ten sentences; nothing when all fits or the schema cannot be read."""
    try:
        rules = read_value(schema) if schema is not None else None
        value = read_value(arguments) if arguments is not None else {}
    except NotThatShape:
        return []
    return list(islice(_misfits(rules, value, "arguments", 0), _MAX_PROBLEMS))


def _misfits(rules: Any, value: Any, where: str, depth: int) -> Iterator[str]:
    if not isinstance(rules, dict) or depth > _MAX_DEPTH:
        return
    kinds = _kinds(rules.get("type"))
    if kinds and not any(_IS[kind](value) for kind in kinds):
        yield f"{where} must be {' or '.join(kinds)}, not {_kind_of(value)}"
        return
    allowed = rules.get("enum")
    if isinstance(allowed, list) and value not in allowed:
        yield f"{where} must be one of {_short(allowed)}"
    if isinstance(value, dict):
        yield from _of_object(rules, value, where, depth)
    if isinstance(value, list):
        for number, item in enumerate(value[:100]):
            yield from _misfits(rules.get("items"), item, f"{where}[{number}]", depth + 1)


def _of_object(rules: dict[str, Any], value: dict[str, Any], where: str, depth: int) -> Iterator[str]:
    properties = rules.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = rules.get("required")
    for name in required if isinstance(required, list) else ():
        if isinstance(name, str) and name not in value:
            yield f"{where}.{name} is required"
    closed = rules.get("additionalProperties") is False
    for name, item in value.items():
        if name in known:
            yield from _misfits(known[name], item, f"{where}.{name}", depth + 1)
        elif closed or (known and (near := nearest(name, list(known))) and near not in value):
            yield _unknown(name, list(known), where)


def _unknown(name: str, known: list[str], where: str) -> str:
    near = nearest(name, known)
    hint = f"did you mean '{near}'?" if near else f"known: {_short(known)}"
    return f"{where}.{name[:80]} is not known; {hint}"


def _kinds(kind: Any) -> list[str]:
    kinds = kind if isinstance(kind, list) else [kind]
    return kinds if all(isinstance(one, str) and one in _IS for one in kinds) else []


def _kind_of(value: Any) -> str:
    return next((name for name, fits in _IS.items() if fits(value)), "something else")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:199] + "…"
