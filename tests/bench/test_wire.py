"""A wrong answer is detected, whatever is wrong with it; and unlike work is never compared."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.answers import answer
from bench.wire import BIG_TEXT, Asked, Caller, Era, Errand, Place, Unlike, check, last_event, must_be_alike

PLACE = Place(1, "/mcp")

each_era = pytest.mark.parametrize("era", ["legacy", "modern"])


def _asked(errand: Errand, place: Place = PLACE) -> tuple[Asked, bytes]:
    """A call, and the body that was sent."""
    asked = Caller(errand, place, 0).call()
    return asked, asked.data.partition(b"\r\n\r\n")[2]


def _said(text: str, id_: Any = 1, **more: Any) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": id_, "result": {"content": [{"type": "text", "text": text}], **more}}
    ).encode()


@each_era
@pytest.mark.parametrize("tool", ["echo", "big"])
def test_what_the_backend_says_is_right(era: Era, tool: Any) -> None:
    asked, body = _asked(Errand(era, tool))
    said = answer(body, era)
    assert said is not None
    assert check(asked, 200, said, is_stream=False) is None
    assert check(asked, 200, b"event: message\ndata: " + said + b"\n\n", is_stream=True) is None


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, _said("words")),
        (200, _said("other words")),
        (200, _said("words", id_=2)),
        (200, _said("words", id_="1")),
        (200, _said("words", id_=True)),
        (200, _said("words", isError=True)),
        (200, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"words"}}'),
        (200, b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'),
        (
            200,
            b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"words"},{"type":"text","text":""}]}}',
        ),
        (200, b'{"jsonrpc":"2.0","id":1'),
        (200, b"words"),
        (200, b"[]"),
        (200, b""),
    ],
)
def test_a_wrong_answer_is_told_from_a_right_one(status: int, body: bytes) -> None:
    asked = Asked(b"", 1, "words")
    assert check(asked, 200, _said("words"), is_stream=False) is None
    assert check(asked, status, body, is_stream=False) is not None


def test_only_a_wrapped_call_may_have_blocks_of_the_gateway_behind_the_tools_own() -> None:
    body = b'{"id":1,"result":{"content":[{"type":"text","text":"words"},{"type":"text","text":"more"}]}}'
    assert check(Asked(b"", 1, "words"), 200, body, is_stream=False, wrapped=True) is None
    assert check(Asked(b"", 1, "words"), 200, body, is_stream=False) is not None


@pytest.mark.parametrize(
    "wrong", [BIG_TEXT[:-1], BIG_TEXT[:-1] + "!", BIG_TEXT[:500_000] + "!" + BIG_TEXT[500_001:], BIG_TEXT + "a", ""]
)
def test_a_big_text_is_compared_to_its_last_letter(wrong: str) -> None:
    asked = Asked(b"", 1, None)
    assert check(asked, 200, _said(BIG_TEXT), is_stream=False) is None
    assert check(asked, 200, _said(wrong), is_stream=False) is not None


def test_a_big_text_under_another_id_is_wrong() -> None:
    assert check(Asked(b"", 1, None), 200, _said(BIG_TEXT, id_=2), is_stream=False) is not None


def test_the_response_is_the_last_event_that_says_something() -> None:
    assert last_event(b'id: 1\ndata:\n\ndata: {"a":1}\n\n: alive\n\n') == b'{"a":1}'
    assert last_event(b"data: [1,\r\ndata: 2]\r\n\r\n") == b"[1,\n2]"
    assert last_event(b": alive\n\n") == b""


def test_every_call_has_words_and_an_id_of_its_own() -> None:
    callers = [Caller(Errand("legacy"), PLACE, number) for number in range(3)]
    asked = [caller.call() for caller in callers for _ in range(3)]
    assert len({one.words for one in asked}) == len(asked)
    assert [one.id for one in asked[:3]] == [1, 2, 3]


def test_a_modern_call_has_its_envelope_and_the_headers_that_mirror_it() -> None:
    asked, body = _asked(Errand("modern"), Place(1, "/direct/mcp", prefix="bench__"))
    assert b"\r\nMcp-Name: bench__echo\r\n" in asked.data
    assert b"\r\nMCP-Protocol-Version: 2026-07-28\r\n" in asked.data
    params = json.loads(body)["params"]
    assert params["name"] == "bench__echo"
    assert params["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"


def test_a_legacy_call_belongs_to_the_session_it_was_given() -> None:
    caller = Caller(Errand("legacy"), PLACE, 0)
    assert b"Mcp-Session-Id" not in caller.hello()
    assert b"\r\nMcp-Session-Id: abc\r\n" in caller.welcomed("abc")
    assert b"\r\nMcp-Session-Id: abc\r\n" in caller.call().data
    assert caller.goodbye().startswith(b"DELETE /mcp HTTP/1.1\r\n")


def test_a_wrapped_call_names_server_and_tool() -> None:
    asked, body = _asked(Errand("modern", via="execute_tool"))
    arguments = json.loads(body)["params"]["arguments"]
    assert arguments == {"server": "bench", "tool": "echo", "arguments": {"text": asked.words}}


def test_unlike_work_is_not_compared_unless_the_difference_is_named() -> None:
    must_be_alike(Errand("legacy"), Errand("legacy"))
    must_be_alike(Errand("legacy"), Errand("legacy", answers="sse"), frozenset(("answers",)))
    with pytest.raises(Unlike, match="era, sessions"):
        must_be_alike(Errand("legacy", sessions=1), Errand("modern"), frozenset(("answers",)))


def test_another_errand_of_the_same_session_has_its_header_and_ids_of_its_own() -> None:
    caller = Caller(Errand("legacy"), PLACE, 0)
    caller.welcomed("s1")
    other = caller.elsewhere(Errand("legacy", via="execute_tool"), "second")
    asked = other.call()
    assert b"Mcp-Session-Id: s1\r\n" in asked.data
    assert b'"server":"second"' in asked.data
    assert asked.id != caller.call().id
    used = json.loads(other.use("list_tasks", {"status": "working"}).partition(b"\r\n\r\n")[2])
    assert used["params"] == {"name": "list_tasks", "arguments": {"status": "working"}}
    assert used["id"] != asked.id
