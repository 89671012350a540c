"""The handshake, calls and errors of legacy clients, per revision."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types.methods import parse_server_result
from msgspec import Raw

from emceepee.eras.legacy.towards_client import (
    read_call,
    read_hello,
    read_level,
    read_subscribed,
    write_done,
    write_error,
    write_notice,
    write_welcome,
)
from emceepee.eras.modern.towards_backend import read_done
from emceepee.eras.revisions import LEGACY
from emceepee.errors import BackendTimeout, ClientFault
from emceepee.vocabulary.calls import Caller
from emceepee.vocabulary.notices import ListChanged, LogLine, OtherNotice, Progress, ResourceUpdated
from emceepee.vocabulary.outcomes import Done, Failed
from emceepee.vocabulary.raw_json import Payload, read_fields, read_value
from tests.support.era_requests import ENVELOPE, SERVER_INFO, legacy_request, raw

OLDEST, OLD, TYPED, LATEST = LEGACY
INFO = raw({"name": "emceepee", "version": "1"})


def hello(version: Any = TYPED, **rest: Any) -> Any:
    return {
        "protocolVersion": version,
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "c", "version": "1"},
        **rest,
    }


# -- the handshake


@pytest.mark.parametrize("revision", LEGACY)
def test_a_known_revision_is_negotiated(revision: str) -> None:
    found = read_hello(raw(hello(revision)))
    assert found.revision == revision
    assert list(found.capabilities) == ["roots"]
    assert read_value(found.client_info or b"") == {"name": "c", "version": "1"}


@pytest.mark.parametrize("version", ["2026-07-28", "2099-01-01", "1", ""])
@pytest.mark.shows("EB-A11")
def test_a_modern_or_unknown_proposal_gets_the_newest_handshake(version: str) -> None:
    assert read_hello(raw(hello(version))).revision == LATEST


def test_what_some_clients_leave_out_is_not_missed() -> None:
    found = read_hello(raw({"protocolVersion": TYPED}))
    assert (found.capabilities, found.client_info) == ({}, None)


@pytest.mark.parametrize(
    "params",
    [None, [], {}, {"protocolVersion": 5}, hello(None), hello(capabilities=[]), hello(clientInfo="me")],
)
def test_a_malformed_initialize_is_the_clients_fault(params: Any) -> None:
    with pytest.raises(ClientFault) as caught:
        read_hello(None if params is None else raw(params))
    assert caught.value.code == -32602


def test_the_welcome_says_what_was_negotiated_and_nothing_modern() -> None:
    capabilities = read_fields(raw({"tools": {}, "completions": {}, "logging": {}, "tasks": {}, "future": {}}))
    written = read_value(write_welcome(read_hello(raw(hello(TYPED))), capabilities, INFO, "be kind"))
    assert written == {
        "protocolVersion": TYPED,
        "capabilities": {"tools": {}, "completions": {}, "logging": {}, "future": {}},
        "serverInfo": {"name": "emceepee", "version": "1"},
        "instructions": "be kind",
    }
    parse_server_result("initialize", TYPED, written)
    oldest = read_value(write_welcome(read_hello(raw(hello(OLDEST))), capabilities, INFO, None))
    assert "completions" not in oldest["capabilities"]
    assert "instructions" not in oldest


# -- requests


def test_a_request_becomes_a_call_without_what_was_said_to_us_alone() -> None:
    meta = {**ENVELOPE, "progressToken": "7", "v/k": 1}
    caller = Caller("s1", "me")
    found = read_call(legacy_request("tools/call", {"name": "echo", "_meta": meta, "new": 1}), caller)
    assert (found.token, found.call.wants_progress, found.call.log_level) == ("7", True, None)
    assert {key: read_value(value) for key, value in found.call.params.items()} == {"name": "echo", "new": 1}
    assert {key: read_value(value) for key, value in found.call.meta.items()} == {"v/k": 1}
    assert found.call.caller is caller


@pytest.mark.parametrize(("method", "code"), [("no/such", -32601), ("tools/call", -32602)])
def test_a_request_that_cannot_be_carried_is_refused(method: str, code: int) -> None:
    with pytest.raises(ClientFault) as caught:
        read_call(legacy_request(method, {}), Caller())
    assert caught.value.code == code


def test_levels_and_subscriptions_are_read() -> None:
    assert read_level(raw({"level": "warning"})) == "warning"
    assert read_subscribed("resources/subscribe", raw({"uri": "u"})) == "u"
    for params in ({"level": "loud"}, {}, []):
        with pytest.raises(ClientFault):
            read_level(raw(params))
        with pytest.raises(ClientFault):
            read_subscribed("resources/subscribe", raw(params))


# -- results


@pytest.mark.parametrize("revision", LEGACY)
def test_a_result_of_a_modern_backend_keeps_nothing_of_its_era(revision: str) -> None:
    result = {
        "resultType": "complete",
        "contents": [{"uri": "u", "text": "x"}],
        "ttlMs": 5,
        "cacheScope": "public",
        "_meta": {SERVER_INFO: {"name": "b"}},
    }
    done = read_done("resources/read", raw(result), "2026-07-28")
    assert read_value(write_done("resources/read", done, revision)) == {"contents": [{"uri": "u", "text": "x"}]}


def test_a_result_of_a_legacy_backend_is_never_decoded() -> None:
    """Bytes that are not even JSON inside come out as they went in, so nobody looked."""
    text = b'{"content":[{"type":"text","text": not json }]}'
    assert bytes(write_done("tools/call", Done(Payload(Raw(text))), LATEST)) == text
    assert bytes(write_done("resources/read", Done(Payload(Raw(text))), OLDEST)) == text


# -- errors


def told(error: Any, method: str = "tools/call", revision: str = LATEST) -> tuple[int, Any]:
    written = write_error(error, method, revision)
    return written.code, None if written.data is None else read_value(written.data)


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        (Failed(-32002, "no", raw({"uri": "u"}), "resource_not_found"), (-32002, {"uri": "u"})),
        (Failed(-32602, "no", raw({"uri": "u"}), "resource_not_found"), (-32002, {"uri": "u"})),
        (Failed(-32602, "bad", raw(1)), (-32602, 1)),
        (Failed(-32001, "timeout"), (-32001, None)),
        (Failed(-32000, "closed", raw("x")), (-32000, "x")),
        (Failed(-32800, "cancelled"), (-32800, None)),
        (Failed(4711, "app", raw([1])), (4711, [1])),
        (Failed(-32042, "open", raw({"elicitations": []})), (-32042, {"elicitations": []})),
    ],
)
@pytest.mark.shows("EB-F19")
def test_a_backends_error_crosses_in_legacy_words(failed: Failed, expected: Any) -> None:
    assert told(failed, "resources/read") == expected


@pytest.mark.parametrize("code", [-32020, -32021, -32022])
def test_codes_of_our_own_conversation_never_cross(code: int) -> None:
    found, data = told(Failed(code, "no"), "resources/read")
    assert (found, data["upstream_code"]) == (-32603, code)


@pytest.mark.parametrize("revision", [OLDEST, OLD, TYPED])
def test_an_elicitation_by_url_is_unknown_to_older_revisions(revision: str) -> None:
    code, data = told(Failed(-32042, "open"), revision=revision)
    assert (code, data["upstream_code"]) == (-32603, -32042)


def test_our_own_faults_are_told_with_their_codes() -> None:
    assert told(ClientFault(-32602, "no", {"uri": "u"}), "resources/read") == (-32002, {"uri": "u"})
    assert told(ClientFault(-32602, "no", {"uri": "u"}), "tools/call") == (-32602, {"uri": "u"})
    assert told(BackendTimeout("files", "silent")) == (-32603, {"reason": "backend_timeout", "server": "files"})
    assert told(RuntimeError("x")) == (-32603, None)


# -- notices


def notified(notice: Any, token: Any = None, revision: str = LATEST) -> Any:
    written = write_notice(notice, token, revision)
    return None if written is None else read_value(written)


@pytest.mark.parametrize("revision", LEGACY)
def test_progress_has_a_message_where_the_revision_knows_it(revision: str) -> None:
    progress = Progress(1, read_fields(raw({"progress": 1, "message": "m", "total": 2})))
    params = notified(progress, 5, revision)["params"]
    assert params.pop("message", None) == (None if revision == OLDEST else "m")
    assert params == {"progressToken": 5, "progress": 1, "total": 2}
    assert notified(progress, None, revision) is None


def test_everything_unasked_is_told() -> None:
    assert notified(LogLine("info", read_fields(raw({"level": "info", "data": {}}))))["params"] == {
        "level": "info",
        "data": {},
    }
    assert notified(ListChanged("prompts")) == {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}
    assert notified(ResourceUpdated("u", read_fields(raw({"uri": "u"}))))["params"] == {"uri": "u"}
    assert notified(OtherNotice("vendor/told", {})) == {"jsonrpc": "2.0", "method": "vendor/told"}
