"""Results for clients of each legacy revision: untouched where it can say them, told otherwise where it cannot."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from emceepee.eras.legacy.reshape import reshaped
from emceepee.eras.revisions import LEGACY
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import Payload, read_fields, read_value
from tests.support.era_requests import raw

OLDEST, OLD, TYPED, LATEST = LEGACY
TEXT = {"type": "text", "text": "hi"}


def told(method: str, result: Any, revision: str, wrapped: bool = False) -> Any:
    return read_value(reshaped(method, Done(Payload(raw(result)), wrapped=wrapped), revision))


@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("tools/call", b'{ "content" : [ {"type":"text","text":"hi","x":1.0} ], "new":{ } }'),
        ("tools/call", b'{ "content" : [ {"type":"video"}, {"type":"image","annotations":{"priority":1e0}} ] }'),
        ("prompts/get", b'{ "messages" : [ {"role":"user","content":{"type":"text","text":"x"}} ] }'),
        ("tools/list", b'{ "tools" : [ {"name":"a","inputSchema":{ } } ] }'),
        ("resources/list", b'{ "resources" : [ {"uri":"a","name":"b","annotations":{ } } ] }'),
        ("resources/read", b'{ "contents" : [ ] , "title":"kept"}'),
        ("completion/complete", b'{ "completion" : { } }'),
        ("tools/call", b'{ "content" : "rubbish" , "structuredContent":{ "a": 1 }, "x":[ ]}'),
    ],
)
@pytest.mark.shows("EB-E16", "X-GAP-25")
def test_what_a_revision_can_say_keeps_its_very_bytes(method: str, text: bytes, revision: str) -> None:
    if b"structuredContent" in text and revision in (OLDEST, OLD):
        return
    assert bytes(reshaped(method, Done(Payload(Raw(text))), revision)) == text


# -- structured content


@pytest.mark.parametrize("value", [[1, 2], "x", 5, True])
@pytest.mark.parametrize("revision", [TYPED, LATEST])
@pytest.mark.shows("EB-F13")
def test_a_value_that_is_no_object_travels_under_result_and_as_text(revision: str, value: Any) -> None:
    found = told("tools/call", {"content": [], "structuredContent": value, "new": 1}, revision)
    assert found["structuredContent"] == {"result": value}
    assert [read_value(block["text"].encode()) for block in found["content"]] == [value]
    assert found["new"] == 1


def test_text_that_is_there_is_not_doubled() -> None:
    found = told("tools/call", {"content": [TEXT], "structuredContent": [1]}, LATEST)
    assert found == {"content": [TEXT], "structuredContent": {"result": [1]}}


def test_an_object_of_a_wrapped_tool_travels_under_result_too() -> None:
    result = {"content": [TEXT], "structuredContent": {"a": 1}}
    assert told("tools/call", result, LATEST, wrapped=True)["structuredContent"] == {"result": {"a": 1}}
    assert told("tools/call", result, LATEST) == result
    assert told("tools/call", {"content": [], "isError": True}, LATEST, wrapped=True) == {
        "content": [],
        "isError": True,
    }


def test_null_is_a_value() -> None:
    assert told("tools/call", {"content": [TEXT], "structuredContent": None}, LATEST) == {
        "content": [TEXT],
        "structuredContent": {"result": None},
    }


@pytest.mark.parametrize("revision", [OLDEST, OLD])
def test_revisions_without_typed_output_get_it_as_text(revision: str) -> None:
    found = told("tools/call", {"content": [], "structuredContent": {"a": [1]}, "isError": False}, revision)
    assert [read_value(block["text"].encode()) for block in found["content"]] == [{"a": [1]}]
    assert "structuredContent" not in found
    assert found["isError"] is False
    assert told("tools/call", {"content": [TEXT], "structuredContent": {}}, revision) == {"content": [TEXT]}


def test_a_payload_that_was_decoded_is_told_like_any_other() -> None:
    """As results of modern backends come."""
    done = Done(Payload(fields=read_fields(raw({"content": [], "structuredContent": [1, 2]}))))
    assert read_value(reshaped("tools/call", done, TYPED))["structuredContent"] == {"result": [1, 2]}


# -- lists

ENTRY = {"name": "a", "title": "A", "inputSchema": {}, "outputSchema": {"type": "array"}, "annotations": {"title": "x"}}


@pytest.mark.parametrize("revision", [TYPED, LATEST])
@pytest.mark.shows("EB-F13")
def test_an_output_that_is_no_object_is_listed_wrapped(revision: str) -> None:
    plain = {"name": "b", "outputSchema": {"type": "object"}, "new": 1}
    hidden = {"name": "c", "outputSchema": {"items": {"$dynamicRef": "#x"}}}
    found = told("tools/list", {"tools": [ENTRY, plain, hidden], "nextCursor": "c"}, revision)
    wrapped = {"type": "object", "properties": {"result": {"type": "array"}}, "required": ["result"]}
    assert found == {"tools": [{**ENTRY, "outputSchema": wrapped}, plain, {"name": "c"}], "nextCursor": "c"}


def test_a_list_of_objects_keeps_its_very_bytes() -> None:
    text = b'{ "tools":[ {"name":"b", "outputSchema":{"type" : "object"} } ] }'
    assert bytes(reshaped("tools/list", Done(Payload(Raw(text))), LATEST)) == text


def test_older_revisions_list_what_they_have_words_for() -> None:
    assert told("tools/list", {"tools": [ENTRY]}, OLD) == {
        "tools": [{"name": "a", "inputSchema": {}, "annotations": {"title": "x"}}]
    }
    assert told("tools/list", {"tools": [{**ENTRY, "new": 1}]}, OLDEST) == {
        "tools": [{"name": "a", "inputSchema": {}, "new": 1}]
    }


@pytest.mark.parametrize(
    ("method", "key"),
    [("prompts/list", "prompts"), ("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")],
)
def test_titles_are_left_out_of_every_list_for_them(method: str, key: str) -> None:
    listed = {key: [{"name": "a", "title": "A", "annotations": {"priority": 1}}]}
    assert told(method, listed, OLDEST) == {key: [{"name": "a", "annotations": {"priority": 1}}]}
    assert told(method, listed, TYPED) == listed


# -- content

LINK = {"type": "resource_link", "uri": "file:///a", "name": "a", "description": "what it is", "new": 1}
AUDIO = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav", "annotations": {"priority": 1}}


@pytest.mark.parametrize("revision", [OLDEST, OLD])
def test_a_resource_link_becomes_text_that_says_where_it_leads(revision: str) -> None:
    block = told("tools/call", {"content": [TEXT, LINK]}, revision)["content"][1]
    assert block["type"] == "text"
    assert block["text"] == "a: file:///a\nwhat it is"
    assert block["new"] == 1


def test_audio_becomes_text_for_the_oldest_only() -> None:
    block = told("tools/call", {"content": [AUDIO]}, OLDEST)["content"][0]
    assert block["type"] == "text"
    assert "audio/wav" in block["text"]
    assert "data" not in block
    assert block["annotations"] == {"priority": 1}
    assert told("tools/call", {"content": [AUDIO]}, OLD) == {"content": [AUDIO]}


def test_prompts_are_told_like_tool_results() -> None:
    messages = {"messages": [{"role": "user", "content": AUDIO}, {"role": "user", "content": TEXT}], "new": 1}
    found = told("prompts/get", messages, OLDEST)
    assert [message["content"]["type"] for message in found["messages"]] == ["text", "text"]
    assert found["new"] == 1
    assert told("prompts/get", messages, OLD) == messages
    assert (
        told("prompts/get", {"messages": [{"role": "user", "content": LINK}]}, TYPED)["messages"][0]["content"] == LINK
    )
