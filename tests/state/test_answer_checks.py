"""Answers against what was asked: what fits passes, and what does not is told by field."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.state.answer_checks import elicitation_problem, sampling_problem


def asked(rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"message": "?", "requestedSchema": {"type": "object", "properties": {"x": rules}} | more}


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


@pytest.mark.parametrize(
    ("rules", "fits", "does_not"),
    [
        ({"type": "string"}, "a", 1),
        ({"type": "string", "minLength": 2, "maxLength": 3}, "ab", "a"),
        ({"type": "string", "minLength": 2, "maxLength": 3}, "abc", "abcd"),
        ({"type": "string", "format": "email"}, "a@b.org", "a@b"),
        ({"type": "string", "format": "uri"}, "https://a.b", "no uri"),
        ({"type": "string", "format": "date"}, "2026-01-31", "31.1.26"),
        ({"type": "string", "format": "date-time"}, "2026-01-31T12:00:00Z", "2026-01-31"),
        ({"type": "integer"}, 3.0, 3.5),
        ({"type": "integer", "minimum": 1, "maximum": 9}, 9, 10),
        ({"type": "number", "minimum": 1}, 1.5, 0.5),
        ({"type": "number"}, 0, True),
        ({"type": "boolean"}, False, 0),
        ({"type": "string", "enum": ["a", "b"]}, "a", "c"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, "a", "A"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, ["a"], ["c"]),
        ({"type": "array", "items": {"anyOf": [{"const": "a"}]}, "minItems": 1}, ["a"], []),
        ({"type": "array", "maxItems": 1}, ["a"], ["a", "b"]),
        ({"type": "array"}, [], "a"),
    ],
)
def test_each_kind_of_field_is_checked(rules: dict[str, Any], fits: Any, does_not: Any) -> None:
    assert elicitation_problem(asked(rules), accept(x=fits)) is None
    problem = elicitation_problem(asked(rules), accept(x=does_not))
    assert problem is not None
    assert problem.startswith("field 'x' ")


def test_missing_and_invented_fields_are_named() -> None:
    params = asked({"type": "string"}, required=["x"])
    assert elicitation_problem(params, accept()) == "field 'x' is missing"
    assert elicitation_problem(params, accept(x="a", y=1)) == "field 'y' was not asked for; the schema has x"
    assert (
        elicitation_problem(params, {"action": "accept"}) == "'content' must be an object with the fields of the schema"
    )


def test_declining_needs_no_content_and_an_action_is_one_of_three() -> None:
    params = asked({"type": "string"}, required=["x"])
    assert elicitation_problem(params, {"action": "decline"}) is None
    assert elicitation_problem(params, {"action": "cancel"}) is None
    assert elicitation_problem(params, {"action": "ok"}) == "'action' must be one of accept, decline, cancel"


@pytest.mark.parametrize("params", [None, [], {}, {"requestedSchema": 1}, asked({"type": "mystery"}), {"url": "u:x"}])
def test_what_is_not_understood_is_left_to_the_server(params: Any) -> None:
    assert elicitation_problem(params, accept(x=1)) is None


def test_a_sampling_answer_names_its_role_its_model_and_its_content() -> None:
    good = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}
    assert sampling_problem({}, good) is None
    assert sampling_problem({}, good | {"content": [{"type": "image", "data": "", "mimeType": "x/y"}]}) is None
    assert sampling_problem({}, good | {"stopReason": "endTurn"}) is None
    wrong = (
        {"role": "system"}, {"model": ""}, {"model": 1}, {"content": "hi"}, {"content": []},
        {"content": {"type": "text"}}, {"stopReason": 1},
    )  # fmt: skip
    for change in wrong:
        problem = sampling_problem({}, good | change)
        assert problem is not None
        assert f"'{next(iter(change))}'" in problem
