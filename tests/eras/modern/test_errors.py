"""Errors for modern clients: their codes, and the HTTP status that goes with each."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.eras.modern.errors import write_error
from emceepee.errors import BackendUnavailable, ClientFault, LimitReached
from emceepee.vocabulary.outcomes import Failed
from emceepee.vocabulary.raw_json import read_value
from tests.support.era_requests import raw


def told(error: Any, method: str = "tools/call") -> tuple[int, int, Any]:
    status, written = write_error(error, method)
    return status, written.code, None if written.data is None else read_value(written.data)


@pytest.mark.parametrize(
    ("code", "status"),
    [(-32700, 400), (-32600, 400), (-32602, 400), (-32021, 400), (-32601, 404), (-32603, 200), (4711, 200)],
)
def test_each_fault_of_a_client_has_its_status(code: int, status: int) -> None:
    assert told(ClientFault(code, "no")) == (status, code, None)


def test_faults_behind_us_are_internal_errors_with_a_reason() -> None:
    assert told(BackendUnavailable("files", "gone")) == (
        200,
        -32603,
        {"reason": "backend_unavailable", "server": "files"},
    )
    assert told(LimitReached("calls", 1))[:2] == (200, -32603)
    assert told(RuntimeError("x")) == (200, -32603, None)


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        (Failed(-32002, "no", raw({"uri": "u"}), "resource_not_found"), (400, -32602, {"uri": "u"})),
        (Failed(-32602, "no", raw({"uri": "u"}), "resource_not_found"), (400, -32602, {"uri": "u"})),
        (Failed(-32602, "unknown tool"), (400, -32602, None)),
        (Failed(-32601, "no prompts here"), (404, -32601, None)),
        (Failed(-32603, "boom", raw([1])), (200, -32603, [1])),
        (Failed(4711, "app", raw("x")), (200, 4711, "x")),
        (Failed(-32042, "open it", raw({"elicitations": []})), (200, -32603, {"elicitations": []})),
        (Failed(-32020, "header"), (200, -32603, None)),
        (Failed(-32022, "version"), (200, -32603, None)),
        (Failed(-32021, "capability"), (200, -32603, None)),
        (Failed(-32001, "timeout"), (200, -32603, None)),
        (Failed(-32000, "closed", raw(1)), (200, -32603, 1)),
        (Failed(-32800, "cancelled"), (200, -32603, None)),
        (Failed(-32019, "old"), (200, -32603, None)),
    ],
)
@pytest.mark.shows("EB-F19")
def test_a_backends_error_crosses_unless_its_code_means_nothing_here(failed: Failed, expected: Any) -> None:
    status, code, data = told(failed, "resources/read")
    if code == -32603 and failed.code != -32603:
        assert data["upstream_code"] == failed.code
        assert data["reason"]
        data = data.get("upstream_data")
    assert (status, code, data) == expected


@pytest.mark.parametrize(
    ("declared", "expected"),
    [({}, (400, -32021)), ({"roots": raw({})}, (400, -32021)), ({"sampling": raw({})}, (200, -32603))],
)
def test_a_capability_that_the_client_lacks_is_told_as_the_backend_told_it(declared: Any, expected: Any) -> None:
    failed = Failed(-32021, "needs sampling", raw({"requiredCapabilities": {"sampling": {}}}))
    status, written = write_error(failed, "tools/call", declared)
    assert (status, written.code) == expected


def test_a_retired_code_is_never_said() -> None:
    assert told(ClientFault(-32002, "no", {"uri": "u"}), "resources/read") == (400, -32602, {"uri": "u"})


@pytest.mark.parametrize(
    ("extension", "code"), [("vendor.example/ui", -32603), ("io.modelcontextprotocol/tasks", -32021)]
)
def test_an_extension_is_lacked_by_its_own_name(extension: str, code: int) -> None:
    failed = Failed(-32021, "needs it", raw({"requiredCapabilities": {"extensions": {extension: {}}}}))
    assert write_error(failed, "tools/call", {"extensions": raw({"vendor.example/ui": {}})})[1].code == code
