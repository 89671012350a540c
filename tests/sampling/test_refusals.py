"""Each refusal in the exact form that a server author receives."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import msgspec
import pytest

from emceepee.sampling.refusals import answer_rejected, invalid, limited, model_failed, no_model, rejected, shown


@pytest.mark.shows("B-ERR-01", "X-CON-50")
def test_a_refusal_by_the_user() -> None:
    fault = rejected()
    assert (fault.code, fault.message) == (-1, "User rejected sampling request")
    assert fault.data == {"reason": "User declined AI interaction", "rejectionType": "explicit"}


@pytest.mark.shows("X-CON-50")
@pytest.mark.parametrize("kind", ["explicit", "timeout", "policy"])
def test_a_refusal_always_says_of_which_type_it_is(kind: str) -> None:
    for refusal in (rejected, answer_rejected):
        assert refusal("why", kind).data == {"reason": "why", "rejectionType": kind}  # type: ignore[arg-type]


@pytest.mark.shows("B-ERR-02")
def test_a_refusal_of_the_answer() -> None:
    fault = answer_rejected()
    assert (fault.code, fault.message) == (-1, "User rejected AI response")
    assert fault.data["rejectionType"] == "explicit"


@pytest.mark.shows("B-ERR-04", "B-PREF-11")
def test_no_model_names_what_was_asked_for_and_what_there_is() -> None:
    fault = no_model(["gpt-5", "claude-4"], ["gpt-4", "claude-3-sonnet"])
    assert (fault.code, fault.message) == (-32603, "No suitable model available")
    assert fault.data == {
        "requestedHints": ["gpt-5", "claude-4"],
        "availableModels": ["gpt-4", "claude-3-sonnet"],
        "suggestion": "Try 'gpt-4' or 'claude-3-sonnet'",
    }
    assert "Configure a model" in no_model([], []).data["suggestion"]


@pytest.mark.shows("B-ERR-05", "X-GAP-22")
def test_a_limit_says_when_it_is_over() -> None:
    fault = limited("10 requests a minute", 59.2, 0, datetime(2024, 1, 15, 10, 29, 0, tzinfo=UTC))
    assert (fault.code, fault.message) == (-32000, "Rate limit exceeded")
    assert fault.data == {
        "retryAfter": 60,
        "remainingQuota": 0,
        "resetTime": "2024-01-15T10:30:00.000Z",
        "reason": "10 requests a minute",
    }


def test_a_model_that_failed_is_named_with_what_to_do() -> None:
    fault = model_failed("m", "it timed out", "try later")
    assert fault.code == -32603
    assert fault.data == {"model": "m", "reason": "it timed out", "suggestion": "try later"}


@pytest.mark.shows("B-VAL-14")
def test_a_value_is_repeated_as_far_as_that_is_of_use_and_can_always_be_written() -> None:
    assert shown(-1) == -1
    assert shown("a" * 5000) == "a" * 200 + "…"
    assert shown({"a": 1}) == "(an object of 1)"
    assert shown([]) == []
    fault = invalid("temperature", math.nan, "a number", "temperature must be a number")
    assert msgspec.json.decode(msgspec.json.encode(fault.data))["value"] == "nan"
