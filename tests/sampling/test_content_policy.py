"""Rules about answers: a change is visible, a stop is a refusal, and what matches nothing stays the same object."""

from __future__ import annotations

import re

import pytest

from emceepee.sampling.content_policy import filtered
from emceepee.sampling.content_rule import ContentRule
from emceepee.sampling.refusals import SamplingRefused
from tests.sampling.models import said
from tests.sampling.samples import PNG, text

MASK = ContentRule("digits", re.compile(r"\d+"), r"\0#")
STOP = ContentRule("no", re.compile("forbidden"))


def test_what_matches_nothing_is_left_alone() -> None:
    assert filtered(answer := said("fine"), (MASK, STOP)) is answer


@pytest.mark.shows("B-FLOW-11", "B-RSP-07")
def test_a_change_shows_in_the_stop_reason_and_the_replacement_is_taken_literally() -> None:
    changed = filtered(said("call 12 or 34"), (MASK,))
    assert changed["content"]["text"] == r"call \0# or \0#"
    assert changed["stopReason"] == "contentFilter"


def test_each_text_of_several_is_looked_at_and_media_pass() -> None:
    image = {"type": "image", "data": PNG, "mimeType": "image/png"}
    changed = filtered(said() | {"content": [text("a1"), image, text("b")]}, (MASK,))
    assert changed["content"] == [text(r"a\0#"), image, text("b")]


def test_a_stop_is_a_refusal_by_policy() -> None:
    with pytest.raises(SamplingRefused) as raised:
        filtered(said("forbidden"), (MASK, STOP))
    assert raised.value.data["rejectionType"] == "policy"
