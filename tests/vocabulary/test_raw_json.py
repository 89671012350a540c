"""JSON that stays bytes: one level is read, everything below it crosses as it came."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from emceepee.vocabulary.raw_json import (
    NotThatShape,
    Payload,
    read_fields,
    read_items,
    read_text,
    read_value,
    to_raw,
    write,
    write_members,
)

ODD = b'{"a": 1.50, "b" : {"x":[1 ,2]},"c":"\\u00e9","a2":null}'

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=12,
)


def test_values_of_the_top_level_are_the_very_bytes_that_came() -> None:
    fields = read_fields(ODD)
    assert {key: bytes(raw) for key, raw in fields.items()} == {
        "a": b"1.50",
        "b": b'{"x":[1 ,2]}',
        "c": b'"\\u00e9"',
        "a2": b"null",
    }
    assert write(fields) == b'{"a":1.50,"b":{"x":[1 ,2]},"c":"\\u00e9","a2":null}'


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), json_values, max_size=5))
def test_reading_and_writing_the_top_level_loses_nothing(value: dict[str, object]) -> None:
    text = json.dumps(value).encode()
    assert json.loads(write(read_fields(text))) == value
    assert read_value(Payload(text).changed({"added": 1}).changed(drop=["added"]).raw()) == {
        key: value[key] for key in value if key != "added"
    }


@pytest.mark.parametrize("bad", [b"[]", b"1", b"", b"{", b'{"a":}', b"[" * 100_000, b"\xff"])
def test_what_is_no_object_is_said_so(bad: bytes) -> None:
    with pytest.raises(NotThatShape):
        read_fields(bad)


def test_lists_and_texts_are_read_as_such_or_not_at_all() -> None:
    assert [bytes(item) for item in read_items(b'[1, {"a":2}]')] == [b"1", b'{"a":2}']
    with pytest.raises(NotThatShape):
        read_items(b"{}")
    assert read_text(Raw(b'"hi"')) == "hi"
    assert read_text(Raw(b"5")) is read_text(None) is None
    with pytest.raises(NotThatShape):
        read_value(b"{")


class TestPayload:
    def test_bytes_that_nobody_looked_into_are_the_bytes_that_came(self) -> None:
        assert bytes(Payload(ODD).raw()) == ODD

    def test_a_change_leaves_the_original_alone(self) -> None:
        payload = Payload(ODD)
        changed = payload.changed({"c": "new", "d": Raw(b"[1 ]")}, drop=["a", "not there"])
        assert bytes(changed.raw()) == b'{"b":{"x":[1 ,2]},"c":"new","a2":null,"d":[1 ]}'
        assert bytes(payload.raw()) == ODD
        assert payload.get("c") == payload.fields()["c"]
        assert payload.get("nothing") is None

    def test_it_can_be_made_from_fields_and_from_an_object_of_ours(self) -> None:
        assert bytes(Payload(fields={"a": to_raw(1)}).raw()) == b'{"a":1}'
        assert bytes(Payload.of({"a": [Raw(b"1.0")]}).raw()) == b'{"a":[1.0]}'

    def test_it_shows_its_beginning(self) -> None:
        assert repr(Payload(b'{"a":1}')) == "Payload(b'{\"a\":1}')"
        assert repr(Payload(b'{"a":"' + b"x" * 99 + b'"}')).endswith("…)")


@given(st.dictionaries(st.text(), st.integers() | st.text()))
def test_members_joined_are_the_object_again(value: dict[str, int | str]) -> None:
    fields = {key: to_raw(one) for key, one in value.items()}
    assert read_value(b"{" + b"".join(write_members(fields))) == value


def test_a_large_opened_payload_is_joined_to_the_same_object() -> None:
    fields = {"a": to_raw(1), 'quoted"': to_raw("x" * 20_000)}
    payload = Payload(fields=fields)
    assert payload.kept is None
    assert read_value(payload.raw()) == {"a": 1, 'quoted"': "x" * 20_000}
    assert payload.kept is not None


def test_of_a_large_payload_it_is_known_exactly_what_it_has() -> None:
    payload = Payload(write({"content": ["isError", "x" * 20_000]}))
    assert not payload.may_have("isError")
    assert payload.may_have("content")
