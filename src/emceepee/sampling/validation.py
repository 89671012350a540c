"""Whether the params of a sampling request are right, before anybody is asked anything. Pure.

It changes nothing and drops nothing: fields that are not known here pass. The one rule: a failure names its field, its
value and what would fit, and every one of them is -32602 (`refusals.invalid`).
"""

from __future__ import annotations

from typing import Any

from emceepee.sampling.content_checks import ROLES, content_problems
from emceepee.sampling.problem import (
    Problem,
    Problems,
    is_number,
    is_positive_integer,
    is_unit,
    optional,
    wrong_kind,
)
from emceepee.sampling.refusals import invalid
from emceepee.sampling.settings import DEFAULT_MAX_TEMPERATURE
from emceepee.sampling.tool_checks import offer_problems, order_problems

CONTEXTS = ("none", "thisServer", "allServers")
PRIORITIES = ("costPriority", "speedPriority", "intelligencePriority")


def check(params: Any, max_temperature: float = DEFAULT_MAX_TEMPERATURE) -> dict[str, Any]:
    """The params, which are an object then. Raises `SamplingRefused` with the first problem."""
    problem = first_problem(params, max_temperature)
    if problem is not None:
        raise invalid(problem.field, problem.value, problem.expected, problem.says)
    assert isinstance(params, dict)
    return params


def first_problem(params: Any, max_temperature: float = DEFAULT_MAX_TEMPERATURE) -> Problem | None:
    return next(problems(params, max_temperature), None)


def problems(params: Any, max_temperature: float = DEFAULT_MAX_TEMPERATURE) -> Problems:
    if not isinstance(params, dict):
        yield wrong_kind("params", params, "an object")
        return
    if not is_positive_integer(params.get("maxTokens")):
        says = "maxTokens must be positive integer"
        yield Problem("maxTokens", params.get("maxTokens"), "positive integer", says)
    yield from _temperature_problems(params.get("temperature"), max_temperature)
    yield from _option_problems(params)
    yield from _preference_problems(params.get("modelPreferences"))
    yield from offer_problems(params)
    yield from _message_problems(params.get("messages"))


def _temperature_problems(temperature: Any, most: float) -> Problems:
    if temperature is not None and not (is_number(temperature) and 0 <= temperature <= most):
        span = f"between 0.0 and {most:.1f}"
        yield Problem("temperature", temperature, f"a number {span}", f"temperature must be {span}")


def _option_problems(params: dict[str, Any]) -> Problems:
    yield from optional(params, "systemPrompt", str, "a string")
    context, stops, meta = params.get("includeContext"), params.get("stopSequences"), params.get("_meta")
    if context is not None and context not in CONTEXTS:
        yield wrong_kind("includeContext", context, f"one of {', '.join(CONTEXTS)}")
    if stops is not None and not (isinstance(stops, list) and all(isinstance(stop, str) for stop in stops)):
        yield wrong_kind("stopSequences", stops, "a list of strings")
    for key in ("metadata", "_meta", "task"):
        yield from optional(params, key, dict, "an object")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    if token is not None and (not isinstance(token, str | int) or isinstance(token, bool)):
        yield wrong_kind("_meta.progressToken", token, "a string or a whole number")


def _preference_problems(preferences: Any) -> Problems:
    if preferences is None:
        return
    if not isinstance(preferences, dict):
        yield wrong_kind("modelPreferences", preferences, "an object")
        return
    for key in PRIORITIES:
        value = preferences.get(key)
        if value is not None and not is_unit(value):
            yield wrong_kind(f"modelPreferences.{key}", value, "a number from 0.0 to 1.0")
    hints = preferences.get("hints")
    if hints is not None and not isinstance(hints, list):
        yield wrong_kind("modelPreferences.hints", hints, "a list of objects")
    for index, hint in enumerate(hints if isinstance(hints, list) else ()):
        where = f"modelPreferences.hints[{index}]"
        if isinstance(hint, dict):
            yield from optional(hint, "name", str, "a string", where)
        else:
            yield wrong_kind(where, hint, "an object")


def _message_problems(messages: Any) -> Problems:
    if not isinstance(messages, list) or not messages:
        yield Problem("messages", messages, "a list of at least one message", "At least one message required")
        return
    sound = True
    for index, message in enumerate(messages):
        for problem in _one_message(message, f"messages[{index}]"):
            sound = False
            yield problem
    if sound:
        yield from order_problems(messages)


def _one_message(message: Any, where: str) -> Problems:
    if not isinstance(message, dict):
        yield wrong_kind(where, message, "an object with role and content")
        return
    role = message.get("role")
    if role not in ROLES:
        yield Problem(f"{where}.role", role, "user or assistant", f"Invalid role: {role!s:.40}")
    yield from content_problems(message.get("content"), f"{where}.content")
    yield from optional(message, "_meta", dict, "an object", where)
