"""Large answers: read by a shorter way, with the same outcome as by the long one, and looked into once."""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emceepee.framing import json_text
from emceepee.framing.json_text import Limits, Unreadable, read_message
from emceepee.protocol.messages import Failure, Message, Result
from emceepee.vocabulary.raw_json import read_fields, write

LIMITS = Limits()
LONG = "x" * 10_000

_NASTY = st.sampled_from(['"result":{', '","result":{"', "}", "{", "\\", "]", 'a"', "\\u0072esult", "", "é", "\ud800"])
_VALUES = st.recursive(
    st.none() | st.integers() | _NASTY, lambda inner: st.lists(inner) | st.dictionaries(_NASTY, inner), max_leaves=6
)
_MEMBERS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                '"jsonrpc":"2.0"',
                '"jsonrpc": "2.0"',
                '"id":7',
                '"id":null',
                '"result":{"a":1}',
                '"result":{}',
                '"result": {"result":{"b":[{}]}}',
                '"result":null',
                '"\\u0072esult":{"c":1}',
                '"error":{"code":-1,"message":"no"}',
                '"method":"m"',
                '"params":{"result":{}}',
                '"extra":{"result":{}}',
                '"result"{}',
                '"a"result":{}',
            ]
        ),
        _NASTY.map(lambda text: f'"id":{json.dumps(text)}'),
        _VALUES.map(lambda value: f'"result":{json.dumps(value)}'),
        st.dictionaries(_NASTY, _VALUES).map(lambda value: f'"result":{json.dumps(value)}'),
    ),
    max_size=5,
)


def _outcome(data: bytes, limits: Limits, large: int) -> tuple[object, ...]:
    with patch.object(json_text, "_LARGE", large):
        try:
            return _told(read_message(data, limits))
        except Unreadable as problem:
            return (problem.code, problem.id, problem.answers, problem.message)


def _told(message: Message) -> tuple[object, ...]:
    if isinstance(message, Result):
        if message.fields is not None:
            assert message.fields == read_fields(message.result)
        return (message.id, bytes(message.result))
    if isinstance(message, Failure):
        return (message.id, message.error.code, message.error.message)
    return (message,)


_ENVELOPES = st.permutations(('"jsonrpc":"2.0"', '"id":7', '"result":{"a":"}","result":[{}]}', '"more":"]"'))


@given(_MEMBERS | _ENVELOPES, st.sampled_from(["", " ", "}", "\n", ',"id":1}', "]"]), st.sampled_from([None, 3, 64]))
def test_the_short_way_and_the_long_way_agree(members: list[str], after: str, depth: int | None) -> None:
    limits = Limits(max_depth=depth)
    data = ("{" + ",".join(members) + "}" + after).encode()
    assert _outcome(data, limits, 0) == _outcome(data, limits, 1 << 30)


@given(st.data())
def test_they_agree_on_damaged_texts_too(draw: st.DataObject) -> None:
    whole = b'{"jsonrpc":"2.0","id":"e1","result":{"a":"}","b":[{"result":{}}]},"more":1}'
    at = draw.draw(st.integers(0, len(whole) - 1))
    put = draw.draw(st.sampled_from([b"", b'"', b"\\", b"{", b"}", b",", b"\x00", b"\xff", b"\n"]))
    data = whole[:at] + put + whole[at + draw.draw(st.integers(0, 2)) :]
    assert _outcome(data, LIMITS, 0) == _outcome(data, LIMITS, 1 << 30)


@pytest.mark.parametrize(
    "text",
    [
        '{"jsonrpc":"2.0","id":"e1","result":{"content":[],"long":"%s"}}',
        '{"jsonrpc": "2.0", "id": "e1", "result": {"content":[],"long":"%s"}}\n',
        '{"result":{"content":[],"long":"%s"},"jsonrpc":"2.0","id":"e1"}',
    ],
)
def test_a_large_result_comes_with_its_top_level_and_as_it_was(text: str) -> None:
    message = read_message((text % LONG).encode(), LIMITS)
    assert isinstance(message, Result)
    assert (message.id, bytes(message.result)) == ("e1", b'{"content":[],"long":"%s"}' % LONG.encode())
    assert message.fields is not None
    assert {key: bytes(raw) for key, raw in message.fields.items()} == {
        "content": b"[]",
        "long": b'"%s"' % LONG.encode(),
    }


def test_its_parts_outlive_the_text_they_came_in() -> None:
    message = read_message(write({"jsonrpc": "2.0", "id": 1, "result": {"long": LONG}}), LIMITS)
    assert isinstance(message, Result)
    fields = message.fields
    del message
    assert fields is not None
    assert bytes(fields["long"]) == b'"%s"' % LONG.encode()


@pytest.mark.parametrize("result", ["[1]", '"text"', "7"])
def test_a_large_message_whose_result_is_no_object_is_read_too(result: str) -> None:
    message = read_message(f'{{"jsonrpc":"2.0","id":1,"more":"{LONG}","result":{result}}}'.encode(), LIMITS)
    assert isinstance(message, Result)
    assert bytes(message.result) == result.encode()


def test_a_large_result_too_deep_ends_its_ask() -> None:
    deep = "[" * 70 + "]" * 70
    with pytest.raises(Unreadable) as caught:
        read_message(f'{{"jsonrpc":"2.0","id":9,"result":{{"a":"{LONG}","b":{deep}}}}}'.encode(), LIMITS)
    assert (caught.value.id, caught.value.answers) == (9, True)
