"""Requests as Python values: what they look like on the wire, and what cannot be built."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types import CreateMessageRequest

from emceepee.sampling.content import TextContent
from emceepee.sampling.request import METHOD, ModelHint, ModelPreferences, SamplingMessage, SamplingRequest
from emceepee.sampling.validation import first_problem


def hello(**options: Any) -> SamplingRequest:
    return SamplingRequest(messages=[SamplingMessage.user("Hello")], **options)


@pytest.mark.shows("D-TST-01", "D-TYP-01")
def test_the_first_message_has_the_role_user() -> None:
    assert hello(max_tokens=100).to_json()["messages"][0]["role"] == "user"


@pytest.mark.shows("D-TYP-01", "D-TYP-02")
def test_messages_are_made_of_plain_text() -> None:
    assert SamplingMessage.user("a").to_json() == {"role": "user", "content": {"type": "text", "text": "a"}}
    assert SamplingMessage.assistant("b").to_json()["role"] == "assistant"
    assert SamplingMessage.assistant("b").content == TextContent("b")


@pytest.mark.shows("D-TYP-05", "B-REQ-05", "B-REQ-06", "B-REQ-07", "B-REQ-08", "B-REQ-09", "B-REQ-10")
def test_what_is_not_set_is_left_out() -> None:
    assert hello(max_tokens=100).to_json().keys() == {"messages", "maxTokens"}


@pytest.mark.shows("D-TYP-03", "D-TYP-04", "D-TYP-05", "D-TYP-06")
def test_everything_has_its_name_on_the_wire() -> None:
    request = hello(
        model_preferences=ModelPreferences([ModelHint.new("sonnet"), ModelHint()], 0.1, 0.2, 0.3),
        system_prompt="Be brief",
        include_context="thisServer",
        temperature=0.5,
        max_tokens=7,
        stop_sequences=["\n\n"],
        metadata={"anthropic": {"top_k": 4}},
        tools=[{"name": "add", "inputSchema": {"type": "object"}}],
        tool_choice={"mode": "auto"},
    )
    written = request.to_json()
    assert written == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hello"}}],
        "modelPreferences": {
            "hints": [{"name": "sonnet"}, {}],
            "costPriority": 0.1,
            "speedPriority": 0.2,
            "intelligencePriority": 0.3,
        },
        "systemPrompt": "Be brief",
        "includeContext": "thisServer",
        "temperature": 0.5,
        "maxTokens": 7,
        "stopSequences": ["\n\n"],
        "metadata": {"anthropic": {"top_k": 4}},
        "tools": [{"name": "add", "inputSchema": {"type": "object"}}],
        "toolChoice": {"mode": "auto"},
    }
    assert first_problem(written) is None
    assert SamplingRequest.from_json(written).to_json() == written
    assert ModelPreferences(cost_priority=0.5).to_json() == {"costPriority": 0.5}


@pytest.mark.shows("D-TYP-08", "X-CON-45")
def test_max_tokens_may_be_left_out_and_is_always_on_the_wire() -> None:
    assert hello().to_json()["maxTokens"] == 500


@pytest.mark.shows("D-TYP-07", "X-CON-44")
@pytest.mark.parametrize("temperature", [0.0, 1.0, 2.0])
def test_a_temperature_up_to_two_can_be_asked_for(temperature: float) -> None:
    assert hello(temperature=temperature).to_json()["temperature"] == temperature


@pytest.mark.shows("D-TYP-07")
@pytest.mark.parametrize("options", [{"temperature": 2.1}, {"temperature": -0.1}, {"max_tokens": 0}])
def test_what_nobody_could_serve_is_a_mistake_of_the_program(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        hello(**options)


@pytest.mark.shows("D-TYP-06")
@pytest.mark.parametrize("context", ["none", "thisServer", "allServers"])
def test_context_is_written_as_the_protocol_has_it(context: Any) -> None:
    assert hello(include_context=context).to_json()["includeContext"] == context


@pytest.mark.shows("B-SRV-01", "B-REQ-01", "D-TYP-11")
def test_the_request_of_the_seed_is_one_that_the_official_models_take() -> None:
    request = SamplingRequest(
        messages=[SamplingMessage.user("Analyze this code for security issues")],
        model_preferences=ModelPreferences(
            [ModelHint.new("claude-3-sonnet"), ModelHint.new("gpt-4")],
            intelligence_priority=0.9,
            speed_priority=0.5,
            cost_priority=0.2,
        ),
        system_prompt="You are a security expert. Be thorough and specific.",
        max_tokens=1000,
        temperature=0.3,
    )
    read = CreateMessageRequest.model_validate({"method": METHOD, "params": request.to_json()})
    assert read.params.max_tokens == 1000
    assert read.params.model_dump(mode="json", by_alias=True, exclude_none=True) == request.to_json()
