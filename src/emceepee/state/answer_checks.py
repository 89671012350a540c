"""Whether an answer to an ask fits what was asked. Pure.

Of JSON Schema it knows what an elicitation may use: an object of strings, numbers, booleans and choices. What it does
not know it lets pass, because the server checks too.

The one rule: a problem is a sentence that names the field and says what would fit.
"""

from __future__ import annotations

import re
from typing import Any

ACTIONS = ("accept", "decline", "cancel")

_FORMATS = {
    "email": (re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+\Z"), "an e-mail address"),
    "uri": (re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+\Z"), "a URI"),
    "date": (re.compile(r"\d{4}-\d{2}-\d{2}\Z"), "a date such as 2026-01-31"),
    "date-time": (re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}.*\Z"), "a date and time such as 2026-01-31T12:00:00Z"),
}


def elicitation_problem(params: Any, answer: dict[str, Any]) -> str | None:
    """What is wrong with an answer to `elicitation/create`, or None."""
    action, content = answer.get("action"), answer.get("content")
    if action not in ACTIONS:
        return f"'action' must be one of {', '.join(ACTIONS)}"
    schema = params.get("requestedSchema") if isinstance(params, dict) else None
    if action != "accept" or not isinstance(schema, dict):
        return None
    if not isinstance(content, dict):
        return "'content' must be an object with the fields of the schema"
    return _object_problem(schema, content)


def _object_problem(schema: dict[str, Any], content: dict[str, Any]) -> str | None:
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in content:
            return f"field '{name}' is missing"
    for name, value in content.items():
        rules = known.get(name)
        if isinstance(rules, dict) and (problem := _value_problem(rules, value)):
            return f"field '{name}' {problem}"
        if rules is None and (schema.get("additionalProperties") is False or known):
            return f"field '{name}' was not asked for; the schema has {', '.join(known) or 'no fields'}"
    return None


def _value_problem(rules: dict[str, Any], value: Any) -> str | None:
    choices = _choices(rules)
    if choices is not None and not any(_same(value, one) for one in choices):
        return f"must be one of {', '.join(map(str, choices))}"
    match rules.get("type"):
        case "string":
            return _text_problem(rules, value)
        case "integer" | "number" as kind:
            return _number_problem(rules, value, kind)
        case "boolean":
            return None if isinstance(value, bool) else "must be true or false"
        case "array":
            return _array_problem(rules, value)
    return None


def _choices(rules: dict[str, Any]) -> list[Any] | None:
    if isinstance(rules.get("enum"), list):
        found: list[Any] = rules["enum"]
        return found
    for key in ("oneOf", "anyOf"):
        options = rules.get(key)
        if isinstance(options, list) and all(isinstance(one, dict) and "const" in one for one in options):
            return [one["const"] for one in options]
    return None


def _same(value: Any, other: Any) -> bool:
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _text_problem(rules: dict[str, Any], value: Any) -> str | None:
    if not isinstance(value, str):
        return "must be a string"
    least, most = rules.get("minLength"), rules.get("maxLength")
    if isinstance(least, int) and len(value) < least:
        return f"must have at least {least} characters"
    if isinstance(most, int) and len(value) > most:
        return f"must have at most {most} characters"
    pattern, says = _FORMATS.get(str(rules.get("format")), (None, ""))
    return f"must be {says}" if pattern is not None and not pattern.match(value) else None


def _number_problem(rules: dict[str, Any], value: Any, kind: str) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "must be a number"
    if kind == "integer" and isinstance(value, float) and not value.is_integer():
        return "must be a whole number"
    least, most = rules.get("minimum"), rules.get("maximum")
    if isinstance(least, int | float) and value < least:
        return f"must be at least {least}"
    if isinstance(most, int | float) and value > most:
        return f"must be at most {most}"
    return None


def _array_problem(rules: dict[str, Any], value: Any) -> str | None:
    if not isinstance(value, list):
        return "must be a list"
    least, most, items = rules.get("minItems"), rules.get("maxItems"), rules.get("items")
    if isinstance(least, int) and len(value) < least:
        return f"must have at least {least} entries"
    if isinstance(most, int) and len(value) > most:
        return f"must have at most {most} entries"
    rules_of_one = items if isinstance(items, dict) else {}
    problem = next(filter(None, (_value_problem(rules_of_one, one) for one in value)), None)
    return None if problem is None else f"has an entry that {problem}"


def sampling_problem(params: Any, answer: dict[str, Any]) -> str | None:
    """What is wrong with an answer to `sampling/createMessage`, or None."""
    model = answer.get("model")
    if answer.get("role") not in ("assistant", "user"):
        return "'role' must be assistant or user"
    if not isinstance(model, str) or not model:
        return "'model' must name the model that answered"
    content = answer.get("content")
    given = content if isinstance(content, list) else [content]
    blocks = [one for one in given if isinstance(one, dict) and isinstance(one.get("type"), str)]
    if not blocks or len(blocks) != len(given):
        return '\'content\' must be a content block such as {"type": "text", "text": "..."}'
    if any(one["type"] == "text" and not isinstance(one.get("text"), str) for one in blocks):
        return "'content' of type text must have a 'text' that is a string"
    reason = answer.get("stopReason")
    return None if reason is None or isinstance(reason, str) else "'stopReason' must be a string"
