"""Answers of models: read as they come, sloppy spellings too, and what is no answer is told at once."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.sampling.content import ImageContent, TextContent
from emceepee.sampling.response import MalformedAnswer, SamplingResponse, UnexpectedContent, read_response
from tests.sampling.samples import PNG, text


def answer(**changes: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text("fine"), "model": "m-1", "stopReason": "endTurn", **changes}


@pytest.mark.shows("B-RSP-01", "B-RSP-02", "B-RSP-03", "D-TYP-09")
@pytest.mark.parametrize("content", [text("a"), {"type": "image", "data": PNG, "mimeType": "image/png"}, [text("a")]])
def test_an_answer_is_read_complete(content: Any) -> None:
    given = answer(content=content, _meta={"k": 1}, new=2)
    assert read_response(given).to_json() == given
    assert read_response(given).model == "m-1"


@pytest.mark.shows("B-RSP-01", "D-TYP-09")
def test_the_stop_reason_may_be_absent() -> None:
    given = answer()
    del given["stopReason"]
    assert read_response(given).stop_reason is None
    assert read_response(given).to_json() == given


@pytest.mark.shows("B-RSP-04", "B-RSP-05", "B-RSP-06", "B-RSP-07", "B-RSP-08", "B-RSP-09", "D-TYP-10")
@pytest.mark.parametrize(
    "reason", ["endTurn", "stopSequence", "maxTokens", "contentFilter", "error", "toolUse", "something else"]
)
def test_any_stop_reason_is_kept(reason: str) -> None:
    assert read_response(answer(stopReason=reason)).to_json()["stopReason"] == reason


@pytest.mark.shows("X-CON-46")
@pytest.mark.parametrize(
    ("sloppy", "reason"),
    [("end_turn", "endTurn"), ("stop_sequence", "stopSequence"), ("max_tokens", "maxTokens")],
)
def test_the_sloppy_spelling_is_read_and_never_written(sloppy: str, reason: str) -> None:
    assert read_response(answer(stopReason=sloppy)).to_json()["stopReason"] == reason


@pytest.mark.shows("B-SRV-03", "D-SMP-08", "X-CON-47")
@pytest.mark.parametrize(
    ("given", "field"),
    [
        (None, "not an object"),
        (answer(role="system"), "role"),
        (answer(model=""), "model"),
        (answer(model=None), "model"),
        (answer(content=None), "content"),
        (answer(content="text"), "content"),
        (answer(content={"type": "text"}), "text"),
        (answer(content={"type": "image", "data": PNG}), "mimeType"),
        (answer(stopReason=1), "stopReason"),
        (answer(stopReason="error", content=None), "content"),
    ],
)
def test_what_is_no_answer_is_told_by_its_field(given: Any, field: str) -> None:
    with pytest.raises(MalformedAnswer, match=field):
        read_response(given)


@pytest.mark.shows("X-CON-47", "B-RSP-08")
def test_an_error_beside_partial_content_is_an_answer() -> None:
    assert read_response(answer(stopReason="error", content=text("half a"))).as_text() == "half a"


@pytest.mark.shows("D-CTX-04", "X-BUG-71")
def test_an_answer_without_text_is_not_an_empty_text() -> None:
    image = ImageContent(PNG, "image/png")
    with pytest.raises(UnexpectedContent, match="image"):
        SamplingResponse("assistant", image, "m").as_text()
    with pytest.raises(UnexpectedContent, match="nothing"):
        SamplingResponse("assistant", (), "m").as_text()
    assert SamplingResponse("assistant", (TextContent("a"), image, TextContent("b")), "m").as_text() == "ab"
    assert SamplingResponse("assistant", TextContent(""), "m").as_text() == ""
