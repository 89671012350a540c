"""Content as Python values and as JSON: both ways, nothing lost, nothing null."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.sampling.content import (
    AudioContent,
    ImageContent,
    TextContent,
    UnknownContent,
    read_content,
    read_contents,
    write_contents,
)
from tests.sampling.samples import PNG, WAV, text

EACH: list[dict[str, Any]] = [
    text("a"),
    text("a") | {"annotations": {"audience": ["user"], "priority": 0.8}, "_meta": {"k": 1}, "new": [1]},
    {"type": "image", "data": PNG, "mimeType": "image/png", "annotations": {"priority": 1.0}, "new": 1},
    {"type": "audio", "data": WAV, "mimeType": "audio/wav", "new": 1},
    {"type": "tool_use", "id": "1", "name": "add", "input": {"a": 1}, "new": 1},
    {"type": "tool_result", "toolUseId": "1", "content": [text("")], "isError": True, "new": 1},
    {"type": "hologram", "depth": 3},
]


@pytest.mark.shows("B-MSG-02", "B-MSG-03", "B-MSG-04", "B-MSG-05", "D-TYP-11", "X-GAP-25")
@pytest.mark.parametrize("block", EACH, ids=lambda block: block["type"])
def test_reading_and_writing_gives_the_same(block: dict[str, Any]) -> None:
    assert read_content(block).to_json() == block
    assert read_content(read_content(block).to_json()) == read_content(block)


def test_several_blocks_stay_several() -> None:
    assert write_contents(read_contents(EACH)) == EACH
    assert write_contents(read_contents(EACH[0])) == EACH[0]


def test_what_is_not_set_is_left_out() -> None:
    assert TextContent("a").to_json() == text("a")
    assert ImageContent(PNG, "image/png").to_json() == {"type": "image", "data": PNG, "mimeType": "image/png"}


def test_data_is_not_shown_when_a_value_is_printed() -> None:
    assert PNG not in repr(ImageContent(PNG, "image/png"))
    assert WAV not in repr(AudioContent(WAV, "audio/wav"))


def test_a_kind_that_nobody_knows_is_kept_and_a_missing_field_is_told() -> None:
    assert read_content({"type": "hologram", "depth": 3}) == UnknownContent("hologram", {"depth": 3})
    with pytest.raises(KeyError, match="mimeType"):
        read_content({"type": "image", "data": PNG})
