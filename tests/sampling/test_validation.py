"""Whether a request is right: each rule of the seeds with its message, and each failure with its field."""

from __future__ import annotations

import math
from typing import Any

import pytest

from emceepee.sampling.refusals import SamplingRefused
from emceepee.sampling.validation import check, first_problem, problems
from tests.sampling.samples import assistant, request, text, user


def refused(params: Any, **options: Any) -> SamplingRefused:
    with pytest.raises(SamplingRefused) as raised:
        check(params, **options)
    return raised.value


@pytest.mark.shows("B-REQ-03", "B-VAL-01")
@pytest.mark.parametrize("messages", [None, [], {}, "hello"])
def test_a_request_without_messages_is_refused(messages: Any) -> None:
    assert refused(request(messages=messages)).data["reason"] == "At least one message required"
    assert refused({"maxTokens": 1}).data["field"] == "messages"


@pytest.mark.shows("B-REQ-04", "B-VAL-09", "B-ERR-03", "X-PY-03")
@pytest.mark.parametrize("tokens", [None, 0, -1, 1.5, 100.0, "100", True])
def test_max_tokens_has_to_be_a_positive_integer(tokens: Any) -> None:
    fault = refused(request(maxTokens=tokens))
    assert (fault.code, fault.message) == (-32602, "Invalid params")
    expected = {"field": "maxTokens", "value": tokens, "expected": "positive integer"}
    assert fault.data == {**expected, "reason": "maxTokens must be positive integer"}


@pytest.mark.shows("B-REQ-04", "B-VAL-09")
def test_max_tokens_is_required() -> None:
    assert refused({"messages": [user("hi")]}).data["field"] == "maxTokens"


@pytest.mark.shows("B-VAL-10", "B-VAL-11", "X-BUG-60")
@pytest.mark.parametrize("temperature", [-0.1, 1.1, 2.0, math.nan, math.inf, "0.5", True, [0.5]])
def test_a_temperature_outside_its_span_or_that_is_no_number_is_refused(temperature: Any) -> None:
    fault = refused(request(temperature=temperature))
    assert fault.data["reason"] == "temperature must be between 0.0 and 1.0"
    assert fault.code == -32602


@pytest.mark.shows("B-REQ-08", "B-VAL-10", "B-VAL-11")
@pytest.mark.parametrize("options", [{}, {"temperature": 0.0}, {"temperature": 1.0}, {"temperature": 0}])
def test_a_temperature_may_be_absent_or_at_the_ends(options: dict[str, Any]) -> None:
    assert first_problem(request(**options)) is None


@pytest.mark.shows("X-CON-44")
def test_the_highest_temperature_can_be_set_to_two() -> None:
    assert check(request(temperature=2.0), max_temperature=2.0)
    assert refused(request(temperature=2.1), max_temperature=2.0).data["expected"] == "a number between 0.0 and 2.0"


@pytest.mark.shows("B-MSG-01", "B-VAL-02")
@pytest.mark.parametrize("role", ["system", "", None, 1, ["user"]])
def test_an_unknown_role_is_refused(role: Any) -> None:
    fault = refused(request(messages=[{"role": role, "content": text("hi")}]))
    assert fault.data["reason"] == f"Invalid role: {role}"
    assert fault.data["field"] == "messages[0].role"


@pytest.mark.shows("B-VAL-13")
def test_all_messages_are_checked() -> None:
    messages = [user("a"), assistant("b"), user(" "), {"role": "user"}]
    found = [problem.field for problem in problems(request(messages=messages))]
    assert found == ["messages[2].content.text", "messages[3].content"]


@pytest.mark.shows("B-MSG-06")
def test_a_conversation_of_several_turns_passes_as_it_is() -> None:
    turns = [user("What's the weather like?"), assistant("Where?"), user("San Francisco, CA")]
    params = request(messages=turns)
    assert check(params) is params
    assert params["messages"] == turns


@pytest.mark.shows("B-REQ-05", "B-REQ-06", "B-REQ-07", "B-REQ-09", "B-REQ-10", "B-REQ-11")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"modelPreferences": {"hints": [{"name": "claude-3-haiku"}], "costPriority": 0.9}},
        {"systemPrompt": "You are a security expert."},
        {"includeContext": "none"},
        {"includeContext": "thisServer"},
        {"includeContext": "allServers"},
        {"stopSequences": ["END", "---", "\n\n\n"]},
        {"metadata": {"anthropic": {"top_k": 40}, "openai": {"frequency_penalty": 0.1}}},
        {"_meta": {"progressToken": "p", "own": {"a": 1}}},
        {"somethingNew": [1, 2]},
    ],
)
def test_what_is_optional_may_be_there_or_not_and_stays_as_it_is(options: dict[str, Any]) -> None:
    params = request(**options)
    assert check(params) == request(**options)


@pytest.mark.shows("B-CTX-04", "B-VAL-12", "B-PREF-01", "B-PREF-02", "X-BUG-60")
@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"includeContext": "everything"}, "includeContext"),
        ({"includeContext": ["none"]}, "includeContext"),
        ({"systemPrompt": 1}, "systemPrompt"),
        ({"stopSequences": "END"}, "stopSequences"),
        ({"stopSequences": [1]}, "stopSequences"),
        ({"metadata": []}, "metadata"),
        ({"_meta": 1}, "_meta"),
        ({"_meta": {"progressToken": 1.5}}, "_meta.progressToken"),
        ({"modelPreferences": []}, "modelPreferences"),
        ({"modelPreferences": {"costPriority": 1.1}}, "modelPreferences.costPriority"),
        ({"modelPreferences": {"speedPriority": -0.1}}, "modelPreferences.speedPriority"),
        ({"modelPreferences": {"intelligencePriority": "1"}}, "modelPreferences.intelligencePriority"),
        ({"modelPreferences": {"costPriority": True}}, "modelPreferences.costPriority"),
        ({"modelPreferences": {"hints": {}}}, "modelPreferences.hints"),
        ({"modelPreferences": {"hints": ["gpt-4"]}}, "modelPreferences.hints[0]"),
        ({"modelPreferences": {"hints": [{}, {"name": 4}]}}, "modelPreferences.hints[1].name"),
    ],
)
def test_an_option_of_another_kind_is_refused_and_named(options: dict[str, Any], field: str) -> None:
    fault = refused(request(**options))
    assert (fault.code, fault.data["field"]) == (-32602, field)
    assert fault.data["expected"]


@pytest.mark.shows("B-PREF-01", "X-GAP-25")
def test_a_hint_may_have_no_name_and_keys_that_nobody_knows() -> None:
    preferences = {"hints": [{}, {"name": "gpt-4", "family": "x"}], "ours": 1}
    assert check(request(modelPreferences=preferences))["modelPreferences"] == preferences


@pytest.mark.shows("B-VAL-14")
@pytest.mark.parametrize("params", [None, [], "x", 1, {}, {"messages": [None], "maxTokens": 1}])
def test_whatever_comes_is_refused_as_invalid_params(params: Any) -> None:
    assert refused(params).code == -32602
