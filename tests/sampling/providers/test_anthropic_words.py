"""A request in the words of the Messages API, and its answer in ours."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.sampling.model import Model
from emceepee.sampling.provider import ProviderFailed
from emceepee.sampling.providers.anthropic_words import read_answer, request_body
from tests.sampling.providers.conversation import CALL, IMAGE, SOUND, with_tools
from tests.sampling.samples import PNG, assistant, request, text, user

MODEL = Model("claude-small-1", "anthropic")


def message(*content: Any, **changes: Any) -> dict[str, Any]:
    usage = {"input_tokens": 12, "output_tokens": 5, "cache_read_input_tokens": 3, "service_tier": "standard"}
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-small-1-20260101",
        "content": list(content),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    } | changes


def test_a_plain_request_holds_what_was_asked_and_nothing_else() -> None:
    params = request(messages=[user("Hi"), assistant("Yes?"), user("Why?")], metadata={"anthropic": {"speed": "fast"}})
    assert request_body(MODEL, params) == {
        "model": "claude-small-1",
        "max_tokens": 100,
        "messages": [
            {"role": "user", "content": [text("Hi")]},
            {"role": "assistant", "content": [text("Yes?")]},
            {"role": "user", "content": [text("Why?")]},
        ],
    }


def test_options_have_their_names_and_a_model_that_lacks_one_is_not_sent_it() -> None:
    params = request(systemPrompt="Be brief", temperature=0.0, stopSequences=["END", "\n\n"])
    body = request_body(MODEL, params)
    assert (body["system"], body["temperature"], body["stop_sequences"]) == ("Be brief", 0.0, ["END"])
    assert "temperature" not in request_body(Model("m", "p", lacks=frozenset({"temperature"})), params)


def test_an_image_is_sent_with_its_type() -> None:
    (block,) = request_body(MODEL, request(messages=[user(IMAGE)]))["messages"][0]["content"]
    assert block == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


def test_a_recording_is_refused_by_name() -> None:
    with pytest.raises(ProviderFailed) as caught:
        request_body(MODEL, request(messages=[user(SOUND)]))
    assert (caught.value.kind, "audio" in caught.value.detail) == ("refused_request", True)


def test_tools_their_uses_and_their_results_keep_their_ids() -> None:
    body = request_body(MODEL, with_tools())
    assert body["tools"] == [{"name": "tempo", "description": "How fast a clip is", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "any"}
    assert body["messages"][1]["content"] == [text("I look."), CALL]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "call_1", "content": [text("120 bpm")]}
    ]


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ({"content": [text("")]}, None),
        ({"structuredContent": {"bpm": 1}}, [text('{"bpm":1}')]),
        ({"content": [{"type": "resource_link", "uri": "a:b", "name": "b"}]}, [text("a:b")]),
    ],
)
def test_a_result_without_plain_text_is_told_all_the_same(result: dict[str, Any], content: Any) -> None:
    answer = {"type": "tool_result", "toolUseId": "call_1", "isError": True, **result}
    params = with_tools() | {"messages": [user("?"), assistant(CALL), user([answer])]}
    (block,) = request_body(MODEL, params)["messages"][2]["content"]
    assert (block["is_error"], block.get("content")) == (True, content)


def test_an_answer_names_the_model_that_really_wrote_it_and_counts_what_was_read() -> None:
    given = read_answer(message({"type": "thinking", "thinking": "…"}, text("Tides, "), text("then.")), request())
    assert given.answer == {
        "role": "assistant",
        "content": text("Tides, then."),
        "model": "claude-small-1-20260101",
        "stopReason": "endTurn",
    }
    assert (given.input_tokens, given.output_tokens) == (15, 5)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("end_turn", "endTurn"),
        ("max_tokens", "maxTokens"),
        ("model_context_window_exceeded", "maxTokens"),
        ("stop_sequence", "stopSequence"),
        ("tool_use", "toolUse"),
        ("refusal", "contentFilter"),
        ("pause_turn", "pause_turn"),
    ],
)
def test_each_stop_reason_has_ours_and_an_unknown_one_stays(theirs: str, ours: str) -> None:
    assert read_answer(message(text("x"), stop_reason=theirs), request()).answer["stopReason"] == ours


def test_a_use_of_a_tool_stands_beside_the_text() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "tempo", "input": {"clip": "c1"}}
    answer = read_answer(message(text("I look."), use, stop_reason="tool_use"), with_tools()).answer
    assert answer["content"] == [text("I look."), use]


def test_a_stop_sequence_of_spaces_is_kept_by_us() -> None:
    answer = read_answer(message(text("one\n\ntwo")), request(stopSequences=["\n\n"])).answer
    assert (answer["content"], answer["stopReason"]) == (text("one"), "stopSequence")


@pytest.mark.parametrize(
    "broken",
    [
        None,
        [],
        {"type": "message"},
        message("text"),
        message({"type": "text"}),
        message({"type": "tool_use", "id": "1", "name": "n", "input": "{}"}),
        message(text("x")) | {"model": None},
    ],
)
def test_what_is_no_message_is_malformed(broken: Any) -> None:
    with pytest.raises(ProviderFailed) as caught:
        read_answer(broken, request())
    assert caught.value.kind == "malformed"
