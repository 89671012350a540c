"""Content of each kind: what passes, and the sentence that what does not pass gets."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.sampling.content_checks import content_problems
from tests.sampling.samples import PNG, WAV, text


def found(content: Any) -> tuple[str, str] | None:
    problem = next(content_problems(content, "c"), None)
    return None if problem is None else (problem.field, problem.says)


IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": WAV, "mimeType": "audio/wav"}


@pytest.mark.shows("B-MSG-02", "B-MSG-03", "B-MSG-04", "B-MSG-05", "X-BUG-59")
@pytest.mark.parametrize(
    "content",
    [
        text("hello"),
        text("hello") | {"annotations": {"audience": ["user"], "priority": 0.8}},
        IMAGE,
        IMAGE | {"annotations": {"audience": ["assistant"], "priority": 1.0, "lastModified": "2026-01-01T00:00:00Z"}},
        AUDIO,
        [text("look"), IMAGE, AUDIO],
        {"type": "tool_use", "id": "1", "name": "add", "input": {}},
        [{"type": "tool_result", "toolUseId": "1", "content": [text(""), IMAGE]}],
    ],
)
def test_each_kind_of_content_passes(content: Any) -> None:
    assert found(content) is None


@pytest.mark.shows("B-VAL-03")
@pytest.mark.parametrize("said", ["", "  \n\t", None, 7])
def test_a_text_without_text_is_refused(said: Any) -> None:
    assert found({"type": "text", "text": said}) == ("c.text", "Text content cannot be empty")
    assert found({"type": "text"}) == ("c.text", "Text content cannot be empty")


@pytest.mark.shows("B-VAL-04", "B-VAL-05", "B-VAL-06", "B-VAL-07")
@pytest.mark.parametrize(
    ("content", "field", "says"),
    [
        ({"type": "image", "mimeType": "image/png"}, "c.data", "Image content requires data and mimeType"),
        ({"type": "image", "data": "", "mimeType": "image/png"}, "c.data", "Image content requires data and mimeType"),
        ({"type": "image", "data": PNG}, "c.mimeType", "Image content requires data and mimeType"),
        (IMAGE | {"mimeType": "audio/wav"}, "c.mimeType", "Invalid image MIME type"),
        ({"type": "audio", "mimeType": "audio/wav"}, "c.data", "Audio content requires data and mimeType"),
        ({"type": "audio", "data": WAV, "mimeType": ""}, "c.mimeType", "Audio content requires data and mimeType"),
        (AUDIO | {"mimeType": "image/png"}, "c.mimeType", "Invalid audio MIME type"),
        (IMAGE | {"data": "not base64!"}, "c.data", "c.data must be base64"),
    ],
)
def test_media_need_data_and_a_type_of_their_kind(content: Any, field: str, says: str) -> None:
    assert found(content) == (field, says)


@pytest.mark.shows("B-VAL-08", "X-BUG-59")
@pytest.mark.parametrize("content", [{"type": "video"}, {"type": None}, {}, {"type": ["text"]}, {"type": "resource"}])
def test_an_unknown_kind_is_refused(content: Any) -> None:
    field, says = found(content) or ("", "")
    assert field == "c.type"
    assert says.startswith("Unknown content type")


@pytest.mark.shows("X-BUG-59", "X-BUG-60")
@pytest.mark.parametrize(
    ("content", "field"),
    [
        (None, "c"),
        ("hello", "c"),
        ([], "c"),
        ([text("a"), 1], "c[1]"),
        (text("a") | {"annotations": []}, "c.annotations"),
        (text("a") | {"annotations": {"audience": "user"}}, "c.annotations.audience"),
        (text("a") | {"annotations": {"audience": ["robot"]}}, "c.annotations.audience"),
        (text("a") | {"annotations": {"priority": 1.5}}, "c.annotations.priority"),
        (text("a") | {"_meta": 1}, "c._meta"),
        ({"type": "tool_use", "name": "x", "input": {}}, "c.id"),
        ({"type": "tool_use", "id": "1", "name": "x", "input": []}, "c.input"),
        ({"type": "tool_result"}, "c.toolUseId"),
        ({"type": "tool_result", "toolUseId": "1", "content": text("a")}, "c.content"),
        ({"type": "tool_result", "toolUseId": "1", "content": [{"type": "tool_use"}]}, "c.content[0].type"),
        ({"type": "tool_result", "toolUseId": "1", "content": [{"type": "resource"}]}, "c.content[0].resource"),
        ({"type": "tool_result", "toolUseId": "1", "content": [{"type": "resource_link"}]}, "c.content[0].uri"),
        ({"type": "tool_result", "toolUseId": "1", "isError": 1}, "c.isError"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(content: Any, field: str) -> None:
    assert (found(content) or ("",))[0] == field
