"""Output schemas that are not objects, put under `result` for revisions in which every output is an object.

Not here: the results themselves (`reshape`). The one rule: a schema either means the same inside the wrapping as it did
outside, or it is not shown at all.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from emceepee.eras.schemas import positions
from emceepee.vocabulary.raw_json import NotThatShape, read_fields, read_text, read_value, to_raw

_UNMOVABLE = frozenset(("$dynamicRef", "$recursiveRef"))


def must_wrap(schema: Raw) -> bool:
    """Whether a tool with this output schema gives something other than an object: what makes a `Done` wrapped."""
    try:
        return read_text(read_fields(schema).get("type")) != "object"
    except NotThatShape:
        return True


def wrapped_schema(schema: Raw) -> Raw | None:
    """The very same schema if its root is an object, the wrapped one if not, None if it cannot be moved."""
    if not must_wrap(schema):
        return schema
    try:
        inner = read_value(schema)
    except NotThatShape:
        return None
    outer: dict[str, Any] = {}
    if isinstance(inner, dict):
        if "$schema" in inner:
            outer["$schema"] = inner.pop("$schema")
        if not _moved(inner):
            return None
    return to_raw({**outer, "type": "object", "properties": {"result": inner}, "required": ["result"]})


def _moved(schema: dict[str, Any]) -> bool:
    """Turns references to the document's root into references to its new place; False where that cannot be done."""
    if "$id" in schema:
        return True  # its references start at its own name, wherever it lies
    for _, position in positions(schema):
        if not _UNMOVABLE.isdisjoint(position) or "$id" in position:
            return False
        reference = position.get("$ref")
        if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
            position["$ref"] = "#/properties/result" + reference[1:]
    return True
