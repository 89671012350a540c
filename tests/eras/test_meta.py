"""What of `_meta` crosses, what stays, and how a trace goes on."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec import Raw

from emceepee.eras.meta import HOP_LOCAL, WORKSPACE, continue_trace, split_meta, without_hop_local
from emceepee.errors import ClientFault
from emceepee.vocabulary.raw_json import Payload, read_fields, read_value
from tests.support.era_requests import CAPABILITIES, CLIENT_INFO, ENVELOPE, LOG_LEVEL, SERVER_INFO, raw

SPAN = "00f067aa0ba902b7"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def split(meta: Any) -> Any:
    return split_meta(read_fields(raw({"name": "echo", "_meta": meta})))


def plain(fields: Any) -> Any:
    return {key: read_value(value) for key, value in fields.items()}


def test_nothing_hop_local_crosses_and_everything_else_does() -> None:
    told = {key: "x" for key in HOP_LOCAL if key not in ENVELOPE} | ENVELOPE | {LOG_LEVEL: "info"}
    ours = {"vendor.example/key": {"deep": [1]}, "tracestate": "a=b", "baggage": "c=d", "unprefixed": None}
    found = split(told | ours)
    assert plain(found.params) == {"name": "echo"}
    assert plain(found.crossing) == ours


def test_what_was_said_to_us_alone_is_kept_for_us() -> None:
    found = split({**ENVELOPE, "progressToken": "7", LOG_LEVEL: "warning", CAPABILITIES: {"sampling": {}}})
    assert (found.token, found.log_level) == ("7", "warning")
    assert plain(found.capabilities) == {"sampling": {}}
    assert read_value(found.client_info) == {"name": "tester", "version": "1"}


@pytest.mark.parametrize("token", [1, "1", 0, "", -5])
def test_a_progress_token_keeps_its_type(token: Any) -> None:
    found = split({"progressToken": token}).token
    assert (type(found), found) == (type(token), token)


def test_the_params_that_came_are_left_as_they_were() -> None:
    params = read_fields(raw({"_meta": {"progressToken": 1}}))
    split_meta(params)
    assert "_meta" in params


@pytest.mark.parametrize("meta", [None, {}])
def test_an_empty_meta_is_none(meta: Any) -> None:
    found = split(meta)
    assert (plain(found.params), found.crossing, found.token) == ({"name": "echo"}, {}, None)


@pytest.mark.parametrize(
    "meta",
    [
        [],
        "x",
        {"progressToken": 1.5},
        {"progressToken": True},
        {"progressToken": []},
        {LOG_LEVEL: "loud"},
        {LOG_LEVEL: 3},
        {CAPABILITIES: []},
    ],
)
def test_a_malformed_meta_is_the_clients_fault(meta: Any) -> None:
    with pytest.raises(ClientFault) as caught:
        split(meta)
    assert caught.value.code == -32602


def test_a_client_info_that_is_no_object_is_nobody() -> None:
    """It is display only, and may not decide anything."""
    assert split({CLIENT_INFO: "me"}).client_info is None


def test_a_result_loses_what_names_the_backends_connection() -> None:
    result = {
        "content": [],
        "_meta": {SERVER_INFO: {"name": "b"}, "io.modelcontextprotocol/related-task": {}, "v/k": 1},
    }
    kept = without_hop_local(Payload(raw(result)))
    assert read_value(kept.raw()) == {"content": [], "_meta": {"v/k": 1}}
    assert read_value(without_hop_local(Payload(raw({"_meta": {SERVER_INFO: {}}}))).raw()) == {}


@pytest.mark.parametrize(
    "text",
    [b'{"content": [ ]}', b'{"_meta":{ "v/k":1}}', b'{"a":"github.com/modelcontextprotocol", "_meta":{"b" : 1}}'],
)
def test_a_result_without_such_keys_keeps_its_very_bytes(text: bytes) -> None:
    payload = Payload(Raw(text))
    assert without_hop_local(payload) is payload
    assert bytes(payload.raw()) == text


@pytest.mark.shows("EB-F18")
def test_a_trace_goes_on_with_a_new_parent() -> None:
    before = f"00-{TRACE}-b7ad6b7169203331-01"
    after = continue_trace({"traceparent": raw(before), "tracestate": raw("a=b")}, SPAN)
    assert plain(after) == {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "a=b"}
    assert plain(after)["traceparent"] != before


def test_a_trace_of_a_later_version_goes_on_in_ours() -> None:
    after = continue_trace({"traceparent": raw(f"cc-{TRACE}-b7ad6b7169203331-00-what-the-future-says")}, SPAN)
    assert plain(after) == {"traceparent": f"00-{TRACE}-{SPAN}-00"}


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "00",
        f"ff-{TRACE}-b7ad6b7169203331-01",
        f"00-{'0' * 32}-b7ad6b7169203331-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-b7ad6b7169203331-01",
        f"00-{TRACE}-b7ad6b7169203331-01-more",
        5,
        None,
    ],
)
def test_a_broken_trace_is_dropped_with_its_state(broken: Any) -> None:
    after = continue_trace({"traceparent": raw(broken), "tracestate": raw("a=b"), "baggage": raw("c=d")}, SPAN)
    assert plain(after) == {"baggage": "c=d"}


def test_no_trace_is_begun_where_there_was_none() -> None:
    assert continue_trace({"v/k": raw(1)}, SPAN) == {"v/k": raw(1)}


def test_our_own_keys_have_a_prefix_that_is_not_reserved() -> None:
    ours = [key for key in HOP_LOCAL if "emceepee" in key]
    assert len(ours) == 3
    assert not [key for key in ours if re.match(r"[a-z]+\.(modelcontextprotocol|mcp)\b", key)]


def test_a_workspace_is_said_to_us_alone() -> None:
    said = split({WORKSPACE: "ws_1", "v/k": 1})
    assert said.workspace == "ws_1"
    assert plain(said.crossing) == {"v/k": 1}
    assert split({WORKSPACE: None}).workspace is None
    with pytest.raises(ClientFault, match="workspace'\\] must be a string"):
        split({WORKSPACE: 7})
