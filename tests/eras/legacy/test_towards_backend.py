"""What legacy backends are told and what they answer, per revision."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types.methods import parse_client_request
from msgspec import Raw

from emceepee.eras.faults import Violation
from emceepee.eras.legacy.towards_backend import read_done, read_welcome, write_call, write_hello
from emceepee.eras.revisions import LEGACY
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.raw_json import read_fields, read_value
from tests.support.era_requests import SERVER_INFO, raw

OLDEST, OLD, TYPED, LATEST = LEGACY
INFO = raw({"name": "emceepee", "version": "1"})
DRAFT_07 = "http://json-schema.org/draft-07/schema#"


def a_call(method: str, params: Any, meta: Any = None) -> Call:
    return Call(
        method, read_fields(raw(params)), Caller(client_info=raw({"name": "them"})), read_fields(raw(meta or {}))
    )


# -- the handshake


def test_our_hello_declares_nothing_that_could_be_asked_of_us() -> None:
    written = read_value(write_hello(INFO))
    assert written == {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "emceepee", "version": "1"},
    }
    parse_client_request("initialize", LATEST, written)


@pytest.mark.parametrize("revision", LEGACY)
def test_a_welcome_of_any_handshake_revision_is_taken(revision: str) -> None:
    welcome = {"protocolVersion": revision, "capabilities": {"tools": {}, "new": {}}, "serverInfo": {"name": "b"}}
    about = read_welcome(raw({**welcome, "instructions": "be kind"}))
    assert about.revision == revision
    assert list(about.capabilities) == ["tools", "new"]
    assert read_value(about.server_info or b"") == {"name": "b"}
    assert about.instructions == "be kind"


def test_what_some_servers_leave_out_is_not_missed() -> None:
    about = read_welcome(raw({"protocolVersion": OLD}))
    assert (about.capabilities, about.server_info, about.instructions) == ({}, None, None)


@pytest.mark.parametrize(
    "result",
    [
        {},
        [],
        "x",
        {"protocolVersion": "2026-07-28"},
        {"protocolVersion": "1"},
        {"protocolVersion": 5},
        {"protocolVersion": OLD, "capabilities": []},
    ],
)
def test_rubbish_and_revisions_without_a_handshake_are_violations(result: Any) -> None:
    with pytest.raises(Violation):
        read_welcome(raw(result))


# -- requests


def test_params_cross_as_they_are() -> None:
    text = b'{"name":"echo","arguments":{ "a" : 1.0 },"new":[ ]}'
    call = Call("tools/call", read_fields(text), Caller())
    assert write_call(call, None, LATEST) == text


def test_our_own_token_joins_what_crosses() -> None:
    written = read_value(write_call(a_call("tools/call", {"name": "e"}, {"v/k": 1}), "ours-1", LATEST))
    assert written == {"name": "e", "_meta": {"v/k": 1, "progressToken": "ours-1"}}


def test_who_called_is_not_told() -> None:
    assert b"them" not in write_call(a_call("tools/call", {"name": "e"}), "t", LATEST)


@pytest.mark.shows("EB-F18")
def test_the_trace_goes_on_with_us_as_its_parent() -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    call = a_call("tools/call", {"name": "e"}, {"traceparent": f"00-{trace}-b7ad6b7169203331-01"})
    written = read_value(write_call(call, None, LATEST, "00f067aa0ba902b7"))
    assert written["_meta"] == {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}


def test_a_broken_trace_leaves_no_empty_meta() -> None:
    call = a_call("tools/call", {"name": "e"}, {"traceparent": "rubbish"})
    assert write_call(call, None, LATEST, "00f067aa0ba902b7") == b'{"name":"e"}'


@pytest.mark.parametrize("revision", LEGACY)
def test_the_context_of_a_completion_is_for_those_who_know_it(revision: str) -> None:
    params = {"ref": {}, "argument": {}, "context": {"arguments": {}}}
    written = read_value(write_call(a_call("completion/complete", params), None, revision))
    assert ("context" in written) == (revision in (TYPED, LATEST))


# -- results


@pytest.mark.parametrize("method", ["tools/call", "tools/list", "resources/read"])
@pytest.mark.shows("X-GAP-25")
def test_a_result_keeps_its_very_bytes(method: str) -> None:
    text = b'{ "content" : [ {"type":"video", "x":1.0} ], "tools":[ ] , "_meta":{"v/k":1} }'
    for revision in LEGACY:
        assert bytes(read_done(method, Raw(text), revision).payload.raw()) == text


def test_a_result_is_not_decoded_on_its_way() -> None:
    text = b'{"content": not json }'
    assert bytes(read_done("tools/call", Raw(text), LATEST).payload.raw()) == text


def test_what_names_the_backends_own_connection_stays_behind() -> None:
    done = read_done("tools/call", raw({"content": [], "_meta": {SERVER_INFO: {"name": "b"}}}), LATEST)
    assert read_value(done.payload.raw()) == {"content": []}


@pytest.mark.parametrize("result", [[], "x", 5, None])
def test_a_result_that_is_no_object_is_a_violation(result: Any) -> None:
    with pytest.raises(Violation):
        read_done("tools/call", raw(result), LATEST)


# -- dialects


def listed(schema: Any, revision: str, key: str = "inputSchema") -> Any:
    done = read_done("tools/list", raw({"tools": [{"name": "a", key: schema, "new": 1}], "nextCursor": "c"}), revision)
    found = read_value(done.payload.raw())
    assert found["nextCursor"] == "c"
    assert found["tools"][0]["new"] == 1
    return found["tools"][0][key]


OLD_SCHEMAS = [
    {"type": "object", "properties": {"a": {"type": "array", "items": [{"type": "string"}]}}},
    {"type": "object", "definitions": {"a": {}}},
]


@pytest.mark.parametrize("schema", OLD_SCHEMAS)
@pytest.mark.parametrize("revision", LEGACY)
def test_a_schema_that_is_plainly_draft_07_says_so(schema: Any, revision: str) -> None:
    for key in ("inputSchema", "outputSchema"):
        expected = schema if revision == LATEST else {"$schema": DRAFT_07, **schema}
        assert listed(schema, revision, key) == expected


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "definitions": {}},
        {"properties": {"definitions": {"type": "string"}}},
        {"properties": {"a": {"default": {"items": [1]}}}},
        {"properties": {"a": {"items": {"type": "string"}}}},
        True,
    ],
)
def test_any_other_schema_is_left_alone(schema: Any) -> None:
    assert listed(schema, OLD) == schema


def test_a_list_that_is_no_list_is_left_alone() -> None:
    text = b'{"tools": "\\"definitions\\"", "definitions" : 1}'
    assert bytes(read_done("tools/list", Raw(text), OLD).payload.raw()) == text
