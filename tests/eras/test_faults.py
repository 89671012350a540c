"""What a backend's error means, and how our own failures are told, before any era has its say."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.eras.faults import own_fault, read_failed, reserved_to_its_speaker, truly_lacks, untellable
from emceepee.errors import BackendAuth, BackendTimeout, BackendUnavailable, ClientFault, LimitReached, OutcomeUnknown
from emceepee.protocol.messages import ErrorObject
from emceepee.vocabulary.outcomes import Failed
from emceepee.vocabulary.raw_json import read_value
from tests.support.era_requests import raw


def told(error: BaseException) -> tuple[int, str, Any]:
    written = own_fault(error)
    return written.code, written.message, None if written.data is None else read_value(written.data)


@pytest.mark.parametrize(
    ("method", "code", "data", "kind"),
    [
        ("resources/read", -32002, None, "resource_not_found"),
        ("resources/read", -32602, {"uri": "file:///x"}, "resource_not_found"),
        ("resources/read", -32602, None, "other"),
        ("resources/read", -32602, {"why": "x"}, "other"),
        ("resources/read", -32602, "uri", "other"),
        ("tools/call", -32602, {"uri": "file:///x"}, "other"),
        ("tools/call", 4711, {"any": 1}, "other"),
    ],
)
def test_a_missing_resource_is_known_in_the_words_of_both_eras(method: str, code: int, data: Any, kind: str) -> None:
    failed = read_failed(method, ErrorObject(code, "no", None if data is None else raw(data)))
    assert (failed.code, failed.message, failed.kind) == (code, "no", kind)
    assert (None if failed.data is None else read_value(failed.data)) == data


def test_a_clients_fault_keeps_its_code_and_data() -> None:
    assert told(ClientFault(-32602, "no such tool", {"tool": "x"})) == (-32602, "no such tool", {"tool": "x"})


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (BackendUnavailable, "backend_unavailable"),
        (BackendTimeout, "backend_timeout"),
        (BackendAuth, "backend_auth"),
        (OutcomeUnknown, "outcome_unknown"),
    ],
)
def test_a_backends_fault_has_a_stable_reason_and_names_the_server(fault: Any, reason: str) -> None:
    code, message, data = told(fault("files", "went away"))
    assert (code, data) == (-32603, {"reason": reason, "server": "files"})
    assert "files" in message


def test_an_unknown_outcome_is_told_with_its_evidence() -> None:
    *_, data = told(OutcomeUnknown("files", "went away", {"sent": True}))
    assert data == {"reason": "outcome_unknown", "server": "files", "evidence": {"sent": True}}


def test_a_limit_says_which_and_how_much() -> None:
    assert told(LimitReached("sessions", 5))[::2] == (-32603, {"reason": "limit", "what": "sessions", "limit": 5})


def test_anything_else_says_nothing_of_itself() -> None:
    assert told(RuntimeError("secret path /users/x")) == (-32603, "Internal error", None)


@pytest.mark.parametrize("code", [-32020, -32021, -32022])
def test_codes_of_our_own_conversation_never_cross(code: int) -> None:
    written = untellable(Failed(code, "no"))
    assert written is not None
    assert written.code == -32603
    assert written.data is not None
    assert read_value(written.data)["upstream_code"] == code


def test_a_missing_capability_is_named() -> None:
    required = {"requiredCapabilities": {"elicitation": {"form": {}}}}
    written = untellable(Failed(-32021, "need it", raw(required)))
    assert written is not None
    assert written.data is not None
    assert read_value(written.data) == {"reason": "missing_client_capability", "upstream_code": -32021, **required}


def test_a_complaint_is_true_of_a_client_that_did_not_declare_all_that_is_wanted() -> None:
    failed = Failed(-32021, "need it", raw({"requiredCapabilities": {"elicitation": {}, "roots": {}}}))
    assert truly_lacks(failed, {"roots": raw({})})
    assert not truly_lacks(failed, {"roots": raw({}), "elicitation": raw({})})
    assert not truly_lacks(Failed(-32021, "no word of which", raw({"requiredCapabilities": 5})), {})
    assert not truly_lacks(Failed(-32022, "version"), {})


def test_other_codes_may_cross() -> None:
    assert untellable(Failed(-32601, "no")) is None


def test_the_grandfathered_range_is_known() -> None:
    reserved = [
        code for code in (-31999, -32000, -32001, -32019, -32020, -32603, -32800) if reserved_to_its_speaker(code)
    ]
    assert reserved == [-32000, -32001, -32019, -32800]
