"""A request in the words of chat completions, and its answer in ours."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.sampling.model import Model
from emceepee.sampling.provider import ProviderFailed
from emceepee.sampling.providers.openai_words import read_answer, request_body
from tests.sampling.providers.conversation import CALL, IMAGE, SOUND, with_tools
from tests.sampling.samples import PNG, WAV, assistant, request, text, user

MODEL = Model("small-1", "openai")
USE = {"id": "call_1", "type": "function", "function": {"name": "tempo", "arguments": '{"clip":"c1"}'}}


def completion(content: Any = "Tides.", reason: str = "stop", message: Any = None, **changes: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, "refusal": None, **(message or {})}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1790000000,
        "model": "small-1-2026-01-01",
        "choices": [{"index": 0, "message": said, "logprobs": None, "finish_reason": reason}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17},
    } | changes


def test_a_plain_request_holds_what_was_asked_and_nothing_else() -> None:
    params = request(messages=[user("Hi"), assistant("Yes?"), user("Why?")], systemPrompt="Be brief", metadata={"n": 9})
    assert request_body(MODEL, params, "max_completion_tokens") == {
        "model": "small-1",
        "max_completion_tokens": 100,
        "messages": [
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Yes?"},
            {"role": "user", "content": "Why?"},
        ],
    }


def test_options_have_their_names_and_a_model_that_lacks_one_is_not_sent_it() -> None:
    params = request(temperature=0.0, stopSequences=["a", "b", "c", "d", "e"])
    body = request_body(MODEL, params)
    assert (body["max_tokens"], body["temperature"], body["stop"]) == (100, 0.0, ["a", "b", "c", "d"])
    bare = request_body(Model("m", "p", lacks=frozenset({"temperature", "stop"})), params)
    assert bare.keys() == {"model", "max_tokens", "messages"}


def test_images_and_recordings_are_parts() -> None:
    (message,) = request_body(MODEL, request(messages=[user([text("What?"), IMAGE, SOUND])]))["messages"]
    assert message["content"] == [
        text("What?"),
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}},
    ]


def test_an_image_said_by_the_assistant_is_refused_by_name() -> None:
    with pytest.raises(ProviderFailed) as caught:
        request_body(MODEL, request(messages=[user("?"), assistant(IMAGE)]))
    assert (caught.value.kind, "image" in caught.value.detail) == ("refused_request", True)


def test_tools_their_uses_and_their_results_keep_their_ids() -> None:
    body = request_body(MODEL, with_tools())
    function = {"name": "tempo", "description": "How fast a clip is", "parameters": {"type": "object"}}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert body["tool_choice"] == "required"
    assert body["messages"][1] == {"role": "assistant", "tool_calls": [USE], "content": "I look."}
    assert body["messages"][2] == {"role": "tool", "tool_call_id": "call_1", "content": "120 bpm"}


def test_a_tool_that_failed_is_told_to_have() -> None:
    result = {"type": "tool_result", "toolUseId": "call_1", "content": [text("no clip")], "isError": True}
    params = with_tools() | {"messages": [user("?"), assistant(CALL), user([result])]}
    assert request_body(MODEL, params)["messages"][2]["content"] == "Error: no clip"


def test_an_answer_names_the_model_that_really_wrote_it_and_counts_tokens() -> None:
    given = read_answer(completion(), MODEL, request())
    assert given.answer == {
        "role": "assistant",
        "content": text("Tides."),
        "model": "small-1-2026-01-01",
        "stopReason": "endTurn",
    }
    assert (given.input_tokens, given.output_tokens) == (12, 5)


def test_a_server_that_names_and_counts_nothing_is_understood() -> None:
    given = read_answer({"choices": [{"message": {"content": "x"}}]}, MODEL, request())
    assert given.answer == {"role": "assistant", "content": text("x"), "model": "small-1"}
    assert (given.input_tokens, given.output_tokens) == (None, None)


@pytest.mark.parametrize(
    ("reason", "ours"),
    [
        ("stop", "endTurn"),
        ("length", "maxTokens"),
        ("content_filter", "contentFilter"),
        ("tool_calls", "toolUse"),
        ("odd", "odd"),
    ],
)
def test_each_finish_reason_has_ours_and_an_unknown_one_stays(reason: str, ours: str) -> None:
    assert read_answer(completion(reason=reason), MODEL, request()).answer["stopReason"] == ours


def test_a_stop_sequence_is_told_where_the_server_tells_it() -> None:
    given = completion()
    given["choices"][0]["stop_reason"] = "END"
    assert read_answer(given, MODEL, request(stopSequences=["END"])).answer["stopReason"] == "stopSequence"


def test_a_fifth_stop_sequence_is_kept_by_us() -> None:
    answer = read_answer(completion("one X two"), MODEL, request(stopSequences=["a", "b", "c", "d", "X"])).answer
    assert (answer["content"], answer["stopReason"]) == (text("one "), "stopSequence")


def test_a_refusal_is_a_filtered_answer() -> None:
    answer = read_answer(completion(None, message={"refusal": "I will not."}), MODEL, request()).answer
    assert (answer["content"], answer["stopReason"]) == (text("I will not."), "contentFilter")


def test_a_use_of_a_tool_is_read_with_its_arguments() -> None:
    answer = read_answer(completion(None, "tool_calls", {"tool_calls": [USE]}), MODEL, with_tools()).answer
    assert (answer["content"], answer["stopReason"]) == (CALL, "toolUse")


@pytest.mark.parametrize(
    "broken",
    [
        None,
        {"choices": []},
        {"choices": [{"message": "x"}]},
        completion(["x"]),
        completion(message={"tool_calls": "x"}),
        completion(message={"tool_calls": [{"id": "1", "function": {"name": "n", "arguments": "{broken"}}]}),
        completion(message={"tool_calls": [{"id": "1", "function": {"name": "n", "arguments": "[]"}}]}),
    ],
)
def test_what_is_no_completion_is_malformed(broken: Any) -> None:
    with pytest.raises(ProviderFailed) as caught:
        read_answer(broken, MODEL, request())
    assert caught.value.kind == "malformed"
