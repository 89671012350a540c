"""Requests to modern backends: complete in themselves; and their answers, taken only when complete."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request, validate_mcp_param_headers

from emceepee.eras.faults import Incomplete, Violation
from emceepee.eras.modern.headers import HeaderMap
from emceepee.eras.modern.towards_backend import (
    compile_header_map,
    filter_tools,
    headers,
    read_done,
    write_call,
)
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.outcomes import CacheHints, Done
from emceepee.vocabulary.raw_json import Payload, read_fields, read_value
from tests.support.era_requests import CAPABILITIES, CLIENT_INFO, LOG_LEVEL, SERVER_INFO, VERSION, raw

INFO = raw({"name": "emceepee", "version": "1"})
MODERN = "2026-07-28"


def a_call(method: str = "tools/call", params: Any = None, **rest: Any) -> Call:
    given = {"name": "echo", "arguments": {"text": "hi"}} if params is None else params
    return Call(method, read_fields(raw(given)), rest.pop("caller", Caller()), **rest)


def written(call: Call, token: str | None = None, span: str | None = None) -> Any:
    return read_value(write_call(call, token, MODERN, INFO, span))


def test_a_request_says_all_that_is_needed_to_answer_it() -> None:
    assert written(a_call()) == {
        "name": "echo",
        "arguments": {"text": "hi"},
        "_meta": {VERSION: MODERN, CAPABILITIES: {}, CLIENT_INFO: {"name": "emceepee", "version": "1"}},
    }


def test_what_crosses_crosses_and_what_is_ours_is_put_in_anew() -> None:
    caller = Caller(capabilities=read_fields(raw({"sampling": {}})), client_info=raw({"name": "them"}))
    call = a_call(meta=read_fields(raw({"v/k": 1})), log_level="info", caller=caller)
    meta = written(call, "ours-1")["_meta"]
    assert meta["v/k"] == 1
    assert meta["progressToken"] == "ours-1"
    assert meta[LOG_LEVEL] == "info"
    assert meta[CLIENT_INFO]["name"] == "emceepee"
    assert meta[CAPABILITIES] == {}
    assert meta["dev.emceepee/via"] == {"name": "them"}


@pytest.mark.shows("EB-F6")
def test_a_level_is_asked_for_with_each_request_and_only_where_there_is_one() -> None:
    assert written(a_call(log_level="debug"))["_meta"][LOG_LEVEL] == "debug"
    assert LOG_LEVEL not in written(a_call())["_meta"]


@pytest.mark.shows("EB-F18")
def test_the_trace_goes_on_with_us_as_its_parent() -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    call = a_call(meta=read_fields(raw({"traceparent": f"00-{trace}-b7ad6b7169203331-01"})))
    assert written(call, span="00f067aa0ba902b7")["_meta"]["traceparent"] == f"00-{trace}-00f067aa0ba902b7-01"
    assert read_value(call.meta["traceparent"]) == f"00-{trace}-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "écho", "arguments": {}}),
        ("prompts/get", {"name": " edge "}),
        ("resources/read", {"uri": "file:///a b"}),
        ("tools/list", {}),
    ],
)
def test_the_reference_sdk_lets_our_requests_in(method: str, params: Any) -> None:
    call = a_call(method, params)
    sent = {name.lower(): value for name, value in headers(method, call.params, MODERN)}
    assert isinstance(
        classify_inbound_request({"method": method, "params": written(call)}, headers=sent), InboundModernRoute
    )
    assert ("mcp-name" in sent) == (method != "tools/list")


@pytest.mark.shows("EB-F16")
def test_mirrored_arguments_are_made_from_the_body() -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    header_map = compile_header_map(raw(schema))
    assert isinstance(header_map, HeaderMap)
    arguments = {"region": "zürich"}
    call = a_call(params={"name": "deploy", "arguments": arguments})
    sent = dict(headers("tools/call", call.params, MODERN, header_map))
    assert sent["Mcp-Param-Region"].startswith("=?base64?")
    assert validate_mcp_param_headers(schema, arguments, sent) is None


# -- results


@pytest.mark.parametrize("stamp", [{"resultType": "complete"}, {}])
def test_a_complete_result_loses_what_this_era_added(stamp: Any) -> None:
    result = {"content": [{"type": "video", "x": 1}], "new": 1, "_meta": {SERVER_INFO: {}, "v/k": 1}, **stamp}
    done = read_done("tools/call", raw(result), MODERN)
    assert read_value(done.payload.raw()) == {"content": [{"type": "video", "x": 1}], "new": 1, "_meta": {"v/k": 1}}
    assert done.hints is None


def test_hints_are_taken_from_cacheable_results() -> None:
    result = {"resultType": "complete", "tools": [], "ttlMs": 60000, "cacheScope": "public"}
    done = read_done("tools/list", raw(result), MODERN)
    assert done.hints == CacheHints(60000, "public")
    assert read_value(done.payload.raw()) == {"tools": []}


def test_a_field_of_that_name_in_any_other_result_is_the_tools_own() -> None:
    done = read_done("tools/call", raw({"content": [], "ttlMs": "soon"}), MODERN)
    assert read_value(done.payload.raw()) == {"content": [], "ttlMs": "soon"}


@pytest.mark.parametrize("kind", ["input_required", "task", "vendor/new", "", 5, None])
def test_a_result_of_any_other_type_is_not_taken_for_one(kind: Any) -> None:
    result = {"resultType": kind, "requestState": "abc", "inputRequests": {"a": {}}}
    with pytest.raises(Incomplete) as caught:
        read_done("tools/call", raw(result), MODERN)
    assert caught.value.result_type == (kind if isinstance(kind, str) else "None")
    assert read_value(caught.value.fields["requestState"]) == "abc"


@pytest.mark.parametrize("result", [[], "x", 5, None, True])
def test_a_result_that_is_no_object_is_a_violation(result: Any) -> None:
    with pytest.raises(Violation):
        read_done("tools/call", raw(result), MODERN)


# -- tools with annotations

GOOD = {"name": "good", "inputSchema": {"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}}
BAD = {"name": "bad", "inputSchema": {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}, "new": 1}
PLAIN = {"name": "plain", "inputSchema": {"type": "object"}}


def listing(*tools: Any) -> Done:
    return Done(Payload(raw({"tools": tools, "nextCursor": "c"})), CacheHints(1, "public"))


@pytest.mark.shows("EB-F14")
def test_over_http_a_tool_with_an_invalid_annotation_is_dropped_and_named() -> None:
    found = filter_tools(listing(GOOD, BAD, PLAIN), "http")
    assert read_value(found.done.payload.raw()) == {"tools": [GOOD, PLAIN], "nextCursor": "c"}
    assert [name for name, _ in found.dropped] == ["bad"]
    assert found.dropped[0][1]
    assert found.done.hints == CacheHints(1, "public")


@pytest.mark.shows("EB-F14")
def test_over_a_pipe_it_only_loses_the_annotation() -> None:
    found = filter_tools(listing(GOOD, BAD), "pipe")
    mended = {"name": "bad", "inputSchema": {"properties": {"a": {"type": "number"}}}, "new": 1}
    assert read_value(found.done.payload.raw())["tools"] == [GOOD, mended]
    assert [name for name, _ in found.dropped] == ["bad"]


def test_a_page_without_fault_is_the_very_same() -> None:
    for page in (listing(GOOD, PLAIN), listing(PLAIN), Done(Payload(raw({"tools": "x-mcp-header"})))):
        assert filter_tools(page, "http").done is page
