"""JSON text to messages: what is read, what is refused with which code, and that the limits are exact."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emceepee.framing.json_text import MAX_ID, Limits, Unreadable, read_message, read_messages
from emceepee.protocol.messages import Failure, Notification, Request, Result

LIMITS = Limits()


def _refused(data: bytes, limits: Limits = LIMITS) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        read_message(data, limits)
    return caught.value


# -- what is read


def test_the_four_kinds_are_told_apart_and_payloads_stay_raw() -> None:
    request = read_message(b'{"jsonrpc":"2.0","id":"a","method":"m","params": {"x" : [1.50]} }', LIMITS)
    assert isinstance(request, Request)
    assert (request.id, request.method, bytes(request.params or b"")) == ("a", "m", b'{"x" : [1.50]}')
    notification = read_message(b'{"jsonrpc":"2.0","method":"m"}', LIMITS)
    assert notification == Notification("m", None)
    result = read_message(b' {"result":{"big":12345678901234567890.10},"id":7,"jsonrpc":"2.0"}\r\n', LIMITS)
    assert isinstance(result, Result)
    assert (result.id, bytes(result.result)) == (7, b'{"big":12345678901234567890.10}')
    failure = read_message(b'{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no","data":[1 ]}}', LIMITS)
    assert isinstance(failure, Failure)
    assert (failure.error.code, failure.error.message, bytes(failure.error.data or b"")) == (-1, "no", b"[1 ]")


@pytest.mark.parametrize("identity", [0, -1, 2**53, 10**30, "", "1", "ünï", "x" * MAX_ID])
def test_ids_keep_type_and_value(identity: int | str) -> None:
    message = read_message(json.dumps({"jsonrpc": "2.0", "id": identity, "method": "m"}).encode(), LIMITS)
    assert isinstance(message, Request)
    assert (message.id, type(message.id)) == (identity, type(identity))


@pytest.mark.parametrize("identity", [b'"id":null,', b""])
def test_an_error_answer_without_an_id_is_one_to_a_request_they_could_not_read(identity: bytes) -> None:
    message = read_message(b'{"jsonrpc":"2.0",' + identity + b'"error":{"code":-32700,"message":"what?"}}', LIMITS)
    assert isinstance(message, Failure)
    assert message.id is None


@pytest.mark.parametrize(
    "text",
    [
        b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"m"}',
        b'{"jsonrpc":"2.0","method":"m","params":null}',
        b'{"jsonrpc":"2.0","method":"m","more":{"a":[1]}}',
        b'{"jsonrpc":"1.0","method":"x","jsonrpc":"2.0","method":"m"}',
    ],
)
def test_what_can_be_understood_in_one_way_only_is_tolerated(text: bytes) -> None:
    assert read_message(text, LIMITS) == Notification("m", None)


def test_a_null_beside_the_other_half_of_an_answer_is_not_there() -> None:
    both = b'{"jsonrpc":"2.0","id":1,"result":%b,"error":%b}'
    assert isinstance(read_message(both % (b"{}", b"null"), LIMITS), Result)
    assert isinstance(read_message(both % (b"null", b'{"code":1,"message":""}'), LIMITS), Failure)
    result = read_message(b'{"jsonrpc":"2.0","id":1,"result":null}', LIMITS)
    assert isinstance(result, Result)
    assert bytes(result.result) == b"null"


@pytest.mark.parametrize(
    ("error", "problem"),
    [(b'"broken"', "object"), (b'{"code":1.5,"message":""}', "code"), (b'{"code":1}', "message"), (b"[]", "object")],
)
def test_an_error_that_cannot_be_read_is_an_error_all_the_same(error: bytes, problem: str) -> None:
    message = read_message(b'{"jsonrpc":"2.0","id":1,"error":' + error + b"}", LIMITS)
    assert isinstance(message, Failure)
    assert (message.id, message.error.code) == (1, -32603)
    assert problem in message.error.message
    assert bytes(message.error.data or b"") == error


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (rb"cut \ud83d", "cut \ufffd"),
        (rb"\ude00 cut", "\ufffd cut"),
        (rb"\ud83d\u0041", "\ufffdA"),
        (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (rb"whole \ud83d\ude00, cut \uD83D", "whole \U0001f600, cut \ufffd"),
        (rb"text \\ud83d, cut \ud83d", "text \\ud83d, cut \ufffd"),
        (rb"\"\\\ud83d\"", '"\\\ufffd"'),
    ],
)
def test_half_an_emoji_costs_the_half_and_not_the_message(written: bytes, read: str) -> None:
    message = read_message(b'{"jsonrpc":"2.0","id":1,"result":{"text":"' + written + b'"}}', LIMITS)
    assert isinstance(message, Result)
    assert json.loads(bytes(message.result)) == {"text": read}


# -- what is no JSON: -32700


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"  ",
        b"{",
        b'{"jsonrpc":"2.0","method":"m"',
        b'{"jsonrpc":"2.0","method":"m"} x',
        b'{"jsonrpc":"2.0","method":"m"}{"jsonrpc":"2.0","method":"m"}',
        b'{"jsonrpc":"2.0","method":"m","params":{"a":NaN}}',
        b'{"jsonrpc":"2.0","method":"m","params":{"a":Infinity}}',
        b'{"jsonrpc":"2.0","method":"m","params":{"a":01}}',
        b'{"jsonrpc":"2.0","method":"m","params":{"a":1,}}',
        b'{"jsonrpc":"2.0","method":"m","params":{"a":"x\ny"}}',
        b'{"jsonrpc":"2.0","method":"m","params":{"a":"\\x"}}',
        b"{'jsonrpc':'2.0','method':'m'}",
        b'{"jsonrpc":"2.0","method":"m"\x00}',
        b"Listening on stdio...",
    ],
)
def test_what_is_no_json_is_a_parse_error_without_an_id(text: bytes) -> None:
    refused = _refused(text)
    assert (refused.code, refused.id) == (-32700, None)
    assert refused.message.startswith("Parse error: ")


@pytest.mark.parametrize("broken", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xc0\xaf"])
@pytest.mark.parametrize(
    "place", [b'"params":{"a":"%b"}', b'"params":{"%b":1}', b'"more":"%b"', b'"id":"%b"', b'"method":"%b"']
)
def test_broken_utf_8_is_refused_wherever_it_is(place: bytes, broken: bytes) -> None:
    refused = _refused(b'{"jsonrpc":"2.0","method":"m",' + place % broken + b"}")
    assert refused.code == -32700
    assert "UTF-8" in refused.message


# -- what is JSON and no message: -32600, -32602


@pytest.mark.parametrize("text", [b"[]", b"null", b"1", b'"x"', b'[{"jsonrpc":"2.0","method":"m"}]'])
def test_one_message_is_one_object(text: bytes) -> None:
    refused = _refused(text)
    assert (refused.code, refused.id) == (-32600, None)
    assert "object" in refused.message


@pytest.mark.parametrize(
    ("members", "code", "named"),
    [
        ({"jsonrpc": None}, -32600, "jsonrpc"),
        ({"jsonrpc": "1.0"}, -32600, "jsonrpc"),
        ({"jsonrpc": 2.0}, -32600, "jsonrpc"),
        ({"method": 5}, -32600, "method"),
        ({"method": ["m"]}, -32600, "method"),
        ({"method": None}, -32600, "method"),
        ({"params": 5}, -32600, "params"),
        ({"params": "x"}, -32600, "params"),
        ({"params": False}, -32600, "params"),
        ({"params": [1]}, -32602, "params"),
    ],
)
def test_a_wrong_member_is_named_and_the_id_is_kept(members: dict[str, Any], code: int, named: str) -> None:
    message = {"jsonrpc": "2.0", "id": 17, "method": "m", **members}
    refused = _refused(json.dumps(message).encode())
    assert (refused.code, refused.id) == (code, 17)
    assert f'"{named}"' in refused.message


def test_a_message_without_a_version_is_refused() -> None:
    refused = _refused(b'{"id":17,"method":"m"}')
    assert (refused.code, refused.id) == (-32600, 17)


@pytest.mark.parametrize("identity", ["null", "true", "false", "1.5", "1.0", "1e3", "{}", "[1]", "9" * 5000])
def test_an_id_of_another_type_is_refused_and_not_repeated(identity: str) -> None:
    refused = _refused(f'{{"jsonrpc":"2.0","id":{identity},"method":"m"}}'.encode())
    assert (refused.code, refused.id) == (-32600, None)
    assert '"id" must be a string or an integer' in refused.message


def test_an_id_too_long_to_be_kept_is_refused() -> None:
    refused = _refused(json.dumps({"jsonrpc": "2.0", "id": "x" * (MAX_ID + 1), "method": "m"}).encode())
    assert (refused.code, refused.id) == (-32600, None)


@pytest.mark.parametrize(
    "members", [b'"result":{},"error":{"code":1,"message":""}', b'"more":1', b'"result":{},"error":"x"']
)
def test_an_answer_that_is_both_or_neither_is_refused_but_can_end_its_ask(members: bytes) -> None:
    refused = _refused(b'{"jsonrpc":"2.0","id":"g-1",' + members + b"}")
    assert (refused.code, refused.id, refused.answers) == (-32600, "g-1", True)
    answer = refused.as_answer()
    assert answer is not None
    assert (answer.id, answer.error.message) == ("g-1", refused.message)


@pytest.mark.parametrize(
    "answer", [b'{"id":"g-1","result":{}}', b'{"jsonrpc":"2.0","id":"g-1","result":' + b"[" * 80 + b"]" * 80 + b"}"]
)
def test_an_answer_that_breaks_another_rule_can_end_its_ask_too(answer: bytes) -> None:
    refused = _refused(answer)
    assert (refused.code, refused.id, refused.answers) == (-32600, "g-1", True)


def test_a_request_that_breaks_a_rule_is_no_answer() -> None:
    refused = _refused(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":' + b"[" * 80 + b"]" * 80 + b"}}")
    assert (refused.id, refused.answers) == (1, False)


def test_what_names_no_ask_cannot_end_one() -> None:
    assert _refused(b'{"jsonrpc":"2.0","result":{}}').as_answer() is None
    assert _refused(b'{"jsonrpc":"2.0","id":null,"result":{}}').as_answer() is None
    assert _refused(b'{"jsonrpc":"2.0","id":5,"method":7}').as_answer() is None


# -- limits


def test_the_byte_limit_is_exact() -> None:
    text = b'{"jsonrpc":"2.0","method":"m"}'
    assert read_message(text, Limits(max_bytes=len(text))) == Notification("m", None)
    refused = _refused(text, Limits(max_bytes=len(text) - 1))
    assert refused.code == -32600
    assert str(len(text) - 1) in refused.message


def _nested(depth: int, opening: str = "[", closing: str = "]") -> bytes:
    """A message of that depth, which is 1 for a flat object."""
    return f'{{"jsonrpc":"2.0","method":"m","more":{opening * (depth - 1)}{closing * (depth - 1)}}}'.encode()


@pytest.mark.parametrize("limit", [2, 5, 8, 9, 10, 64, 200])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "1}")])
def test_the_depth_limit_is_exact(limit: int, opening: str, closing: str) -> None:
    def nested(depth: int) -> bytes:
        inner = opening * (depth - 1) + "1" * (opening != "[") + closing.lstrip("1") * (depth - 1)
        return f'{{"jsonrpc":"2.0","method":"m","more":{inner}}}'.encode()

    assert read_message(nested(limit), Limits(max_depth=limit)) == Notification("m", None)
    refused = _refused(nested(limit + 1), Limits(max_depth=limit))
    assert refused.code == -32600
    assert f"deeper than {limit}" in refused.message


@pytest.mark.parametrize("depth", [1_000, 100_000, 2_000_000])
@pytest.mark.parametrize("limits", [LIMITS, Limits(max_depth=None)])
def test_a_tower_of_brackets_is_refused_and_breaks_nothing(depth: int, limits: Limits) -> None:
    assert "nested deeper" in _refused(_nested(depth), limits).message


def test_brackets_within_strings_do_not_count() -> None:
    text = {"jsonrpc": "2.0", "id": 1, "result": {"code": '[[{{"' * 500 + "\\" * 7 + '"[' * 99, "[[[[": {}}}
    assert isinstance(read_message(json.dumps(text).encode(), Limits(max_depth=3)), Result)
    assert "deeper" in _refused(json.dumps(text).encode(), Limits(max_depth=2)).message


def test_many_brackets_beside_each_other_are_not_deep() -> None:
    text = {"jsonrpc": "2.0", "id": 1, "result": {"rows": [[{"a": []}] for _ in range(3000)]}}
    assert isinstance(read_message(json.dumps(text).encode(), Limits(max_depth=6)), Result)
    assert "deeper" in _refused(json.dumps(text).encode(), Limits(max_depth=5)).message


JSON = st.recursive(
    st.none() | st.integers() | st.text('ab"\\[]{}\n\u00e9\U0001f600', max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('"\\[]{}a', max_size=4), inner, max_size=4),
    max_leaves=40,
)


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


@given(JSON, st.booleans())
def test_depth_is_measured_as_one_would_by_hand(value: Any, ascii_only: bool) -> None:
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": value}, ensure_ascii=ascii_only).encode()
    depth = 1 + _depth(value)
    assert isinstance(read_message(text, Limits(max_depth=depth)), Result)
    if depth > 1:
        assert "deeper" in _refused(text, Limits(max_depth=depth - 1)).message


# -- batches


def test_a_batch_gives_each_member_or_why_it_is_none() -> None:
    read = read_messages(
        b' [{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":5},7,'
        b'{"jsonrpc":"2.0","method":"b"}]',
        LIMITS,
    )
    assert isinstance(read, list)
    assert [type(member) for member in read] == [Request, Unreadable, Unreadable, Notification]
    assert isinstance(read[1], Unreadable)
    assert (read[1].code, read[1].id) == (-32600, 2)


def test_one_message_is_not_made_a_batch() -> None:
    assert read_messages(b'\xef\xbb\xbf {"jsonrpc":"2.0","method":"m"}', LIMITS) == Notification("m", None)


@pytest.mark.parametrize(
    ("text", "code"),
    [(b"[]", -32600), (b"[1,", -32700), (b'["\xff"]', -32700), (b"[" + b"1," * 256 + b"1]", -32600), (b"", -32700)],
)
def test_a_batch_that_is_none_is_refused_as_a_whole(text: bytes, code: int) -> None:
    with pytest.raises(Unreadable) as caught:
        read_messages(text, LIMITS)
    assert caught.value.code == code


def test_the_limits_hold_for_members_too() -> None:
    member = _nested(9)
    [read] = read_messages(b"[" + member + b"]", Limits(max_depth=8))  # type: ignore[misc]
    assert isinstance(read, Unreadable)
    with pytest.raises(Unreadable, match="bytes"):
        read_messages(b"[" + member + b"]", Limits(max_bytes=len(member)))
