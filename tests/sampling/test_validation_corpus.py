"""The validator beside the SDK's own models, over requests that nobody thought of. `make corpus` runs 50,000."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from mcp_types import CreateMessageRequestParams
from pydantic import ValidationError

from emceepee.sampling.problem import Problem
from emceepee.sampling.request import SamplingRequest
from emceepee.sampling.validation import first_problem
from tests.sampling.samples import broken_requests, requests

EXAMPLES = int(os.environ.get("CORPUS_EXAMPLES", "400"))
each = settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=list(HealthCheck), database=None)

STRICTER = {
    "positive integer": "the SDK takes 0, true and numbers written as texts",
    "a list of at least one message": "the SDK takes none",
    "a content block, or a list of at least one": "the SDK takes an empty list",
    "text that is not empty": "the SDK takes an empty text",
    "data and mimeType": "the SDK takes empty ones",
    "an image type such as image/png": "the SDK takes any type",
    "an audio type such as audio/wav": "the SDK takes any type",
    "one of text, image, audio, tool_use, tool_result": "the SDK guesses a kind that is left out",
    "one of text, image, audio, resource_link, resource": "the SDK guesses a kind that is left out",
    "base64": "the SDK takes any text",
    "a number between 0.0 and 1.0": "the SDK takes any number, and texts and booleans for one",
    "a number from 0.0 to 1.0": "the SDK takes any number, and texts and booleans for one",
    "a string": "the SDK takes empty names",
    "a string or a whole number": "the SDK takes a whole fraction for a token",
    "one tool_result for each tool_use of the message before": "the SDK has no rule for the order",
    "tool_use by the assistant only": "the SDK has no rule for the order",
    "tool_result by the user only": "the SDK has no rule for the order",
    "tool results alone": "the SDK has no rule for the order",
    "true or false": "the SDK takes 0 and 1",
}
"""Where we refuse what the SDK's models accept: what we expect there, and why the SDK does not speak."""


def sdk_accepts(params: Any) -> bool:
    try:
        CreateMessageRequestParams.model_validate(params)
    except ValidationError:
        return False
    return True


def agree(params: Any) -> Problem | None:
    problem = first_problem(params)
    if problem is None:
        assert sdk_accepts(params), "we accept what the SDK refuses"
        return None
    assert problem.field
    assert problem.says
    if sdk_accepts(params):
        assert problem.expected in STRICTER, problem
    return problem


@each
@given(requests)
def test_what_is_right_passes_both_and_survives_reading_and_writing(params: dict[str, Any]) -> None:
    assert agree(params) is None
    assert SamplingRequest.from_json(params).to_json() == params


@each
@given(broken_requests())
def test_what_is_broken_is_refused_by_both_or_by_a_rule_that_the_sdk_does_not_have(params: Any) -> None:
    agree(params)
