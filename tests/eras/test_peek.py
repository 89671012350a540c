"""Glances at raw JSON: never a no where the truth is yes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from emceepee.eras.peek import TopLevel, first, is_array, is_null, is_object, is_text, may_mention
from emceepee.vocabulary.raw_json import Payload, read_fields

_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from(['"_meta"', "a\x01", "_meta"])),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.sampled_from(["_meta", "a", "é"]), inner)),
)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [(b'{ "a":1}', "object"), (b"[]", "array"), (b'"x"', "text"), (b"null", "null"), (b"1", ""), (b"", "")],
)
def test_a_value_shows_its_kind_by_its_first_byte(text: bytes, kinds: str) -> None:
    raw = Raw(text)
    found = [("object", is_object(raw)), ("array", is_array(raw)), ("text", is_text(raw)), ("null", is_null(raw))]
    assert [kind for kind, yes in found if yes] == ([kinds] if kinds else [])


def test_a_member_starts_at_its_value_however_much_blank_stands_before_it() -> None:
    assert first(read_fields(b'{ "a" :  \n {"b":1} }')["a"]) == ord("{")


def _mentions(value: Any) -> bool:
    if isinstance(value, dict):
        return "_meta" in value or any(map(_mentions, value.values()))
    return isinstance(value, list) and any(map(_mentions, value))


@given(_json)
def test_a_key_that_is_there_is_never_missed(value: Any) -> None:
    text = json.dumps(value).encode()
    if _mentions(value):
        assert may_mention(text, b'"_meta"')
        assert may_mention(text.replace(b'"_meta"', rb'"\u005fmeta"'), b'"_meta"')


@given(_json.filter(lambda value: isinstance(value, dict)), st.booleans(), st.booleans())
def test_a_key_at_the_top_level_is_known_exactly(value: Any, large: bool, spelled: bool) -> None:
    value = {**value, "padding": "x" * 5000} if large else value
    text = json.dumps(value).encode()
    payload = Payload(text.replace(b'"_meta"', rb'"\u005fmeta"') if spelled else text)
    assert TopLevel("_meta", "other").in_any(payload) is ("_meta" in value)


def test_a_quoted_key_inside_a_text_is_no_mention() -> None:
    assert not may_mention(json.dumps({"text": 'say "_meta" twice'}).encode(), b'"_meta"')
