"""Answers to modern clients: stamped, faithful, and each error with its code and status."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import parse_server_result
from msgspec import Raw

from emceepee.eras.modern.cacheable import CACHEABLE
from emceepee.eras.modern.towards_client import (
    done_instead,
    done_parts,
    read_call,
    write_done,
    write_notice,
)
from emceepee.vocabulary.notices import ListChanged, LogLine, OtherNotice, Progress, ResourceUpdated
from emceepee.vocabulary.outcomes import CacheHints, Done, Failed
from emceepee.vocabulary.raw_json import Payload, read_fields, read_value
from tests.support.era_requests import CAPABILITIES, LOG_LEVEL, SERVER_INFO, modern_request, raw

INFO = raw({"name": "emceepee", "version": "1"})
STAMP = {"resultType": "complete", "_meta": {SERVER_INFO: {"name": "emceepee", "version": "1"}}}
TEXT = {"content": [{"type": "text", "text": "hi"}]}


def answered(method: str, result: Any, hints: CacheHints | None = None) -> Any:
    payload = Payload(result) if isinstance(result, bytes) else Payload(raw(result))
    written = read_value(write_done(method, Done(payload, hints), INFO))
    # However the result lies there, and whether it is joined here or later, it says the same.
    opened = Done(Payload(fields=read_fields(payload.raw())), hints)
    assert read_value(b"".join(done_parts(method, opened, INFO))) == written
    return written


# -- calls


def test_a_request_becomes_a_call_of_its_own_caller() -> None:
    meta = {CAPABILITIES: {"sampling": {}}, LOG_LEVEL: "info", "progressToken": 7, "v/k": 1}
    found = read_call(modern_request("tools/call", {"name": "echo", "arguments": {"a": 1}}, meta), "scope", "me")
    call = found.call
    assert (found.token, call.wants_progress, call.log_level) == (7, True, "info")
    assert {key: read_value(value) for key, value in call.params.items()} == {"name": "echo", "arguments": {"a": 1}}
    assert {key: read_value(value) for key, value in call.meta.items()} == {"v/k": 1}
    assert (call.caller.scope, call.caller.principal) == ("scope", "me")
    assert list(call.caller.capabilities) == ["sampling"]
    assert read_value(call.caller.client_info or b"") == {"name": "tester", "version": "1"}


def test_what_a_client_brings_and_what_it_can_be_asked_are_no_params_of_the_call() -> None:
    params = {"name": "echo", "requestState": "g1.x", "inputResponses": {"k": {"action": "cancel"}}}
    meta = {CAPABILITIES: {"elicitation": {}, "roots": {}}}
    call = read_call(modern_request("tools/call", params, meta), "s", "p").call
    assert (list(call.params), call.state, call.asks) == (["name"], Raw(b'"g1.x"'), {"form", "roots"})
    assert call.answers is not None
    assert read_value(call.answers["k"]) == {"action": "cancel"}
    plain = read_call(modern_request("tools/list", {}, meta), "s", "p").call
    assert (plain.answers, plain.state, plain.asks) == (None, None, frozenset())


# -- results


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "completion/complete"])
def test_a_result_says_that_it_is_one_and_who_answered(method: str) -> None:
    assert answered(method, TEXT) == {**TEXT, **STAMP}


@pytest.mark.parametrize("method", sorted(CACHEABLE))
def test_the_six_cacheable_results_always_say_for_how_long(method: str) -> None:
    assert answered(method, {"a": 1}) == {"a": 1, **STAMP, "ttlMs": 0, "cacheScope": "private"}
    hinted = answered(method, {"a": 1}, CacheHints(40000, "public"))
    assert (hinted["ttlMs"], hinted["cacheScope"]) == (40000, "public")


@pytest.mark.parametrize("text", [b"{}", b" { } ", b"{\n}"])
def test_an_empty_result_is_stamped_too(text: bytes) -> None:
    assert answered("tools/call", text) == STAMP


def test_stamps_of_others_give_way_and_the_rest_of_meta_stays() -> None:
    result = {**TEXT, "resultType": "task", "_meta": {"v/k": 1, SERVER_INFO: {"name": "backend"}}}
    found = answered("tools/call", result)
    assert found == {**TEXT, "resultType": "complete", "_meta": {"v/k": 1, **STAMP["_meta"]}}
    listed = answered("tools/list", {"tools": [], "ttlMs": "soon", "cacheScope": 5})
    assert (listed["ttlMs"], listed["cacheScope"]) == (0, "private")


@pytest.mark.parametrize("meta", [None, [], "x"])
def test_a_meta_that_is_no_object_is_replaced(meta: Any) -> None:
    assert answered("tools/call", {**TEXT, "_meta": meta}) == {**TEXT, **STAMP}


def test_no_key_is_written_twice_even_if_it_was_spelled_with_escapes() -> None:
    spelled = Raw(rb'{"result\u0054ype":"task","\u005fmeta":{"v/k":1},"content":[]}')
    written = write_done("tools/call", Done(Payload(spelled)), INFO)
    assert written.count(b"esult") == 1
    assert read_value(written) == {"content": [], "resultType": "complete", "_meta": {"v/k": 1, **STAMP["_meta"]}}


@pytest.mark.shows("EB-E16", "X-GAP-25")
def test_unknown_blocks_and_fields_cross_byte_for_byte() -> None:
    text = (
        b'{ "content" : [ {"type":"video","uri":"x","annotations":{"audience":["user"],"priority":1e0}} ], "new":1.50 }'
    )
    written = write_done("tools/call", Done(Payload(Raw(text))), INFO)
    assert text[1:] in written


_results = st.dictionaries(
    st.sampled_from(["content", "_meta", "resultType", "ttlMs", "cacheScope", "x", "é", 'q"_meta"', "a\x01"]),
    st.recursive(
        st.one_of(st.none(), st.integers(), st.text()),
        lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.sampled_from(["_meta", "a", "resultType"]), inner)),
        max_leaves=5,
    ),
)


@given(_results, st.sampled_from(["tools/call", "resources/read"]), st.booleans())
def test_whatever_came_is_there_and_the_stamp_is_on_it(result: dict[str, Any], method: str, decoded: bool) -> None:
    payload = Payload(fields=read_fields(raw(result))) if decoded else Payload(raw(result))
    written = read_value(write_done(method, Done(payload), INFO))
    added = {"resultType", "_meta"} | ({"ttlMs", "cacheScope"} if method in CACHEABLE else set())
    assert {key: written[key] for key in result if key not in added} == {
        key: value for key, value in result.items() if key not in added
    }
    assert written["resultType"] == "complete"
    meta = result.get("_meta")
    assert written["_meta"] == {**(meta if isinstance(meta, dict) else {}), **STAMP["_meta"]}
    assert set(written) == set(result) | added


def test_tools_say_nothing_of_running_as_tasks() -> None:
    tools = [{"name": "a", "inputSchema": {"properties": {"execution": {}}}, "execution": {"taskSupport": "required"}}]
    found = answered("tools/list", {"tools": [*tools, {"name": "b", "inputSchema": {}}], "nextCursor": "c"})
    assert found["tools"] == [
        {"name": "a", "inputSchema": {"properties": {"execution": {}}}},
        {"name": "b", "inputSchema": {}},
    ]
    assert found["nextCursor"] == "c"


def test_the_reference_sdk_accepts_our_results() -> None:
    parse_server_result("tools/call", "2026-07-28", answered("tools/call", TEXT))
    parse_server_result("tools/list", "2026-07-28", answered("tools/list", {"tools": []}))


def test_a_tool_that_misses_what_its_client_has_fails_as_a_tool() -> None:
    failed = Failed(-32021, "needs sampling", raw({"requiredCapabilities": {"sampling": {}}}))
    assert done_instead("tools/call", failed, {}) is None
    instead = done_instead("tools/call", failed, {"sampling": raw({})})
    assert instead is not None
    assert read_value(instead.payload.raw())["isError"] is True


# -- notices


def test_progress_needs_a_token_and_a_log_line_its_level() -> None:
    progress = Progress(1, read_fields(raw({"progress": 1, "message": "m"})))
    assert read_value(write_notice(progress, "t", None) or b"")["params"] == {
        "progressToken": "t",
        "progress": 1,
        "message": "m",
    }
    assert write_notice(progress, None, "debug") is None


@pytest.mark.parametrize(
    ("line", "wanted", "heard"),
    [("error", "warning", True), ("warning", "warning", True), ("info", "warning", False), ("emergency", None, False)],
)
@pytest.mark.shows("EB-F4")
def test_a_log_line_is_heard_by_who_opted_in_at_its_level(line: Any, wanted: Any, heard: bool) -> None:
    notice = LogLine(line, read_fields(raw({"level": line, "data": "x"})))
    written = write_notice(notice, 1, wanted)
    assert (written is not None) is heard
    if written is not None:
        assert read_value(written)["params"] == {"level": line, "data": "x"}


def test_changes_are_told_on_listen_streams_only_and_unknown_notices_cross() -> None:
    assert write_notice(ListChanged("tools"), 1, "debug") is None
    assert write_notice(ResourceUpdated("u", {}), 1, "debug") is None
    other = write_notice(OtherNotice("vendor/told", read_fields(raw({"a": 1}))), None, None)
    assert read_value(other or b"") == {"jsonrpc": "2.0", "method": "vendor/told", "params": {"a": 1}}
