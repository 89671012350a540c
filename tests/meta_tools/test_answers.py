"""Errors as results: codes, texts, and the next step."""

from __future__ import annotations

import pytest

from emceepee.errors import (
    BackendAuth,
    BackendTimeout,
    BackendUnavailable,
    ClientFault,
    EmceepeeError,
    LimitReached,
    OutcomeUnknown,
)
from emceepee.meta_tools.answers import ToolExecutionError, answer, error_answer, error_value, refusal, tool_error
from emceepee.relay.reach import unknown_server
from emceepee.vocabulary.outcomes import Failed
from emceepee.vocabulary.raw_json import read_value, to_raw
from tests.support.fake_backends import plain

ABOUT = {"serverName": "a", "toolName": "t"}


@pytest.mark.shows("A-EXE-19", "X-BUG-24")
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (unknown_server("x", ["a"]), "TOOL_ERR_SERVER_NOT_FOUND"),
        (BackendUnavailable("a", "refused"), "TOOL_ERR_EXECUTION_FAILED"),
        (BackendAuth("a", "401"), "TOOL_ERR_EXECUTION_FAILED"),
        (BackendTimeout("a", "silent"), "TOOL_ERR_TIMEOUT"),
        (OutcomeUnknown("a", "lost"), "TOOL_ERR_SERVER_DISCONNECTED"),
        (LimitReached("links", 3), "TOOL_ERR_LIMIT_REACHED"),
        (ClientFault(-32602, "bad"), "TOOL_ERR_EXECUTION_FAILED"),
        (EmceepeeError("odd"), "TOOL_ERR_EXECUTION_FAILED"),
    ],
)
def test_each_fault_has_its_code(fault: EmceepeeError, code: str) -> None:
    assert tool_error(fault, ABOUT).code == code


@pytest.mark.shows("A-EXE-19")
def test_an_error_that_has_a_code_is_not_wrapped_again() -> None:
    error = ToolExecutionError("TOOL_ERR_NOT_FOUND", "gone")
    assert tool_error(error, ABOUT) is error


@pytest.mark.shows("A-EXE-16")
def test_a_failed_execution_names_its_cause() -> None:
    value = error_value(tool_error(BackendUnavailable("a", "refused"), ABOUT))["error"]
    assert value["message"] == "Tool execution failed: Server 'a': refused"
    assert value["details"] == ABOUT | {"error": "refused", "reason": "backend_unavailable"}
    assert "get_server_status" in value["next"]


def test_a_time_out_is_said_in_milliseconds() -> None:
    assert tool_error(BackendTimeout("a", "silent"), ABOUT, 250).message == "Timed out after 250ms"


def test_a_servers_own_error_keeps_its_code_and_data() -> None:
    error = refusal(Failed(-32002, "no such", to_raw({"uri": "x"}), "resource_not_found"), {"serverName": "a"})
    assert read_value(to_raw(error_value(error))) == {
        "error": {
            "code": "TOOL_ERR_NOT_FOUND",
            "message": "Tool execution failed: no such",
            "details": {"serverName": "a", "error": "no such", "code": -32002, "data": {"uri": "x"}},
        }
    }


def test_answers_are_one_block_of_json_text() -> None:
    assert plain(answer({"a": to_raw(1)})) == {"content": [{"type": "text", "text": '{"a":1}'}]}
    assert plain(error_answer(ToolExecutionError("C", "m"))) == {
        "content": [{"type": "text", "text": '{"error":{"code":"C","message":"m"}}'}],
        "isError": True,
    }
