"""The modern ladder: each rung, their order, and the same verdict as the reference SDK wherever it has one."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request, encode_header_value

from emceepee.eras.modern.envelope import METHODS, check, write_envelope
from emceepee.protocol.messages import Notification, Request
from emceepee.vocabulary.raw_json import read_value, write
from tests.support.era_requests import CAPABILITIES, ENVELOPE, VERSION, modern_request, raw, routing_headers

ECHO = {"name": "echo", "arguments": {"text": "hi"}}
FIVE = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]


def test_a_whole_request_climbs_to_the_top() -> None:
    for method in METHODS:
        params = {"name": "n", "uri": "file:///x"}
        assert check(modern_request(method, params), routing_headers(method, params)) is None
        assert check(modern_request(method, params), None) is None


@pytest.mark.shows("EB-A2")
def test_an_envelope_without_version_header_is_a_header_mismatch() -> None:
    headers = routing_headers("tools/call", ECHO)
    del headers["mcp-protocol-version"]
    refusal = check(modern_request("tools/call", ECHO, request_id="seven"), headers)
    assert refusal is not None
    assert (refusal.status, refusal.code, refusal.id) == (400, -32020, "seven")


@pytest.mark.shows("EB-A3")
def test_a_legacy_version_header_over_a_modern_envelope_is_a_header_mismatch() -> None:
    headers = {**routing_headers("tools/call", ECHO), "mcp-protocol-version": ["2025-11-25"]}
    refusal = check(modern_request("tools/call", ECHO), headers)
    assert refusal is not None
    assert (refusal.status, refusal.code) == (400, -32020)


@pytest.mark.shows("EB-A4")
def test_an_unknown_version_in_both_is_told_the_five_that_we_speak() -> None:
    headers = {**routing_headers("tools/call", ECHO), "mcp-protocol-version": ["2099-01-01"]}
    refusal = check(modern_request("tools/call", ECHO, {VERSION: "2099-01-01"}), headers)
    assert refusal is not None
    assert (refusal.status, refusal.code) == (400, -32022)
    assert refusal.data == {"supported": FIVE, "requested": "2099-01-01"}


@pytest.mark.parametrize("missing", [VERSION, CAPABILITIES])
@pytest.mark.shows("EB-A5")
def test_an_envelope_without_one_of_its_two_keys_is_invalid_and_the_id_is_echoed(missing: str) -> None:
    meta = {key: value for key, value in ENVELOPE.items() if key != missing}
    request = Request("abc", "tools/call", raw({**ECHO, "_meta": meta}))
    refusal = check(request, routing_headers("tools/call", ECHO))
    assert refusal is not None
    assert (refusal.status, refusal.code, refusal.id) == (400, -32602, "abc")
    assert missing in refusal.message


@pytest.mark.parametrize("params", [None, [], {}, {"_meta": None}, {"_meta": 5}, {"_meta": []}])
def test_params_without_a_meta_object_are_invalid(params: Any) -> None:
    request = Request(1, "tools/list", None if params is None else raw(params))
    refusal = check(request, routing_headers("tools/list"))
    assert refusal is not None
    assert (refusal.status, refusal.code) == (400, -32602)


@pytest.mark.shows("X-PY-02")
def test_empty_client_capabilities_are_declared_capabilities() -> None:
    assert check(modern_request("tools/list", meta={CAPABILITIES: {}}), routing_headers("tools/list")) is None


@pytest.mark.parametrize("capabilities", [None, [], "all", True])
def test_capabilities_that_are_no_object_are_invalid(capabilities: Any) -> None:
    refusal = check(modern_request("tools/list", meta={CAPABILITIES: capabilities}), routing_headers("tools/list"))
    assert refusal is not None
    assert refusal.code == -32602


@pytest.mark.parametrize("name", ["echo", "écho ☃", " edge ", "=?base64?eA==?=", "with\nnewline"])
@pytest.mark.shows("EB-A6")
def test_a_name_may_come_wrapped_in_base64(name: str) -> None:
    params = {"name": name, "arguments": {}}
    headers = {**routing_headers("tools/call", params), "mcp-name": [encode_header_value(name)]}
    assert check(modern_request("tools/call", params), headers) is None


@pytest.mark.parametrize("name", ["other", "=?base64?!!?=", "=?base64?ZWNobx==?=", "=?base64?/w==?=", "ECHO"])
def test_another_name_or_a_malformed_wrapping_is_a_header_mismatch(name: str) -> None:
    headers = {**routing_headers("tools/call", ECHO), "mcp-name": [name]}
    refusal = check(modern_request("tools/call", ECHO), headers)
    assert refusal is not None
    assert refusal.code == -32020


@pytest.mark.parametrize("header", ["mcp-protocol-version", "mcp-method", "mcp-name"])
@pytest.mark.shows("EB-A7")
def test_a_routing_header_sent_twice_is_a_header_mismatch_even_if_both_agree(header: str) -> None:
    headers = routing_headers("tools/call", ECHO)
    headers[header] = headers[header] * 2
    refusal = check(modern_request("tools/call", ECHO), headers)
    assert refusal is not None
    assert (refusal.status, refusal.code) == (400, -32020)
    assert "more than once" in refusal.message


@pytest.mark.parametrize("header", ["mcp-method", "mcp-name"])
def test_a_missing_routing_header_is_a_header_mismatch(header: str) -> None:
    headers = routing_headers("tools/call", ECHO)
    del headers[header]
    refusal = check(modern_request("tools/call", ECHO), headers)
    assert refusal is not None
    assert refusal.code == -32020
    assert "missing" in refusal.message


@pytest.mark.parametrize(
    "method",
    [
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "no/such",
        "tasks/result",
        "tasks/list",
        "roots/list",
        "initialize",
    ],
)
@pytest.mark.shows("EB-A8")
def test_a_method_of_another_revision_or_of_none_is_not_found(method: str) -> None:
    refusal = check(modern_request(method), routing_headers(method))
    assert refusal is not None
    assert (refusal.status, refusal.code, refusal.id) == (404, -32601, 1)
    assert check(modern_request(method), None) == refusal


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_a_task_named_in_a_header_must_be_the_one_in_the_body_but_need_not_be_named(method: str) -> None:
    request, headers = modern_request(method, {"taskId": "t"}), routing_headers(method)
    assert check(request, headers) is None
    assert check(request, headers | {"mcp-name": ["t"]}) is None
    refusal = check(request, headers | {"mcp-name": ["other"]})
    assert refusal is not None
    assert (refusal.status, refusal.code) == (400, -32020)


@pytest.mark.shows("EB-A9")
def test_headers_of_former_revisions_are_ignored() -> None:
    headers = {**routing_headers("tools/call", ECHO), "mcp-session-id": ["s1", "s2"], "last-event-id": ["4"]}
    assert check(modern_request("tools/call", ECHO), headers) is None


LADDER = [
    (-32020, lambda h, m: h.update({"mcp-method": ["tools/call", "tools/call"]})),
    (-32602, lambda h, m: m.pop(CAPABILITIES)),
    (-32020, lambda h, m: h.update({"mcp-name": ["other"]})),
    (-32022, lambda h, m: (m.update({VERSION: "2099-01-01"}), h.update({"mcp-protocol-version": ["2099-01-01"]}))),
]


@pytest.mark.parametrize("rung", range(len(LADDER)))
def test_of_several_faults_the_one_on_the_lowest_rung_decides(rung: int) -> None:
    """All faults from this rung upwards at once, and a method that does not exist is above them all."""
    headers, meta = routing_headers("tools/call", ECHO), dict(ENVELOPE)
    for _, spoil in LADDER[rung:]:
        spoil(headers, meta)
    refusal = check(Request(1, "tools/call", raw({**ECHO, "_meta": meta})), headers)
    assert refusal is not None
    assert refusal.code == LADDER[rung][0]


def test_an_unsupported_version_is_told_before_an_unknown_method() -> None:
    headers = {**routing_headers("no/such"), "mcp-protocol-version": ["2099-01-01"]}
    refusal = check(modern_request("no/such", meta={VERSION: "2099-01-01"}), headers)
    assert refusal is not None
    assert refusal.code == -32022


def test_a_version_that_is_no_string_is_invalid_on_a_pipe() -> None:
    refusal = check(modern_request("tools/list", meta={VERSION: 20260728}), None)
    assert refusal is not None
    assert refusal.code == -32602


def test_a_notification_needs_only_a_version_header_that_we_serve() -> None:
    told = Notification("notifications/anything")
    assert check(told, {"mcp-protocol-version": ["2026-07-28"]}) is None
    assert check(told, None) is None
    unsupported = check(told, {"mcp-protocol-version": ["2099-01-01"]})
    assert unsupported is not None
    assert (unsupported.status, unsupported.code, unsupported.id) == (400, -32022, None)


def test_a_notification_whose_envelope_disagrees_with_its_header_is_a_header_mismatch() -> None:
    told = Notification("notifications/anything", raw({"_meta": ENVELOPE}))
    refusal = check(told, {"mcp-protocol-version": ["2025-11-25"]})
    assert refusal is not None
    assert refusal.code == -32020


def test_our_own_envelope_passes_our_own_ladder() -> None:
    info = raw({"name": "emceepee", "version": "1"})
    request = Request(1, "tools/list", msgspec.Raw(write({"_meta": write_envelope("2026-07-28", info)})))
    assert check(request, routing_headers("tools/list")) is None


# -- the reference SDK as oracle

_versions = st.sampled_from(["2026-07-28", "2025-11-25", "2099-01-01", "", 5, None])
_methods = st.sampled_from(["tools/call", "resources/read", "tools/list", "server/discover"])
_texts = st.sampled_from(["echo", "écho", " a", "=?base64?ZWNobw==?=", "=?base64?", "x y"])


@st.composite
def _requests(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, str] | None]:
    meta: Any = {}
    if draw(st.integers(0, 9)):
        meta[VERSION] = draw(_versions)
    if draw(st.integers(0, 9)):
        meta[CAPABILITIES] = {}
    meta = draw(st.sampled_from([meta, meta, meta, meta, None, 7, []]))
    method = draw(_methods)
    body_name = draw(st.one_of(_texts, st.none(), st.just(5)))
    params: dict[str, Any] = {"_meta": meta, "name": body_name, "uri": body_name}
    headers: dict[str, str] = {}
    said_version = draw(st.one_of(_versions, st.just(meta.get(VERSION) if isinstance(meta, dict) else None)))
    if isinstance(said_version, str):
        headers["mcp-protocol-version"] = said_version
    if draw(st.integers(0, 9)):
        headers["mcp-method"] = draw(st.sampled_from([method, method, method, "tools/list"]))
    name = draw(st.one_of(_texts, _texts.map(encode_header_value), st.none()))
    name = body_name if isinstance(body_name, str) and draw(st.booleans()) else name
    if name is not None and name == name.strip():
        headers["mcp-name"] = name
    return {"method": method, "params": params}, draw(st.sampled_from([headers, headers, headers, None]))


@given(_requests())
def test_the_verdict_is_that_of_the_reference_sdk(case: tuple[dict[str, Any], dict[str, str] | None]) -> None:
    body, headers = case
    oracle = classify_inbound_request(body, headers=headers)
    ours = check(
        Request(1, body["method"], raw(body["params"])),
        None if headers is None else {name: [value] for name, value in headers.items()},
    )
    expected = oracle.code if isinstance(oracle, InboundLadderRejection) else None
    assert (None if ours is None else ours.code) == expected


def test_a_refusal_written_is_a_json_rpc_error_with_the_id_of_its_request() -> None:
    refusal = check(modern_request("ping", request_id=5), None)
    assert refusal is not None
    assert read_value(refusal.body()) == json.loads(
        '{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"Method not found: ping"}}'
    )
