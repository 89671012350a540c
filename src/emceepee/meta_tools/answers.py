"""What our own tools answer: one block of JSON text, also when it is an error.

The one rule: an error names its code, what happened, and the next useful step; one that has a code is never wrapped
again.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from emceepee.errors import (
    BackendFault,
    BackendTimeout,
    ClientFault,
    EmceepeeError,
    LimitReached,
    OutcomeUnknown,
)
from emceepee.relay.reach import SERVER_NOT_FOUND
from emceepee.sessions.handles import SESSION_NOT_FOUND as UNKNOWN_SESSION
from emceepee.state.pending_requests import ASK_NOT_FOUND, BAD_ANSWER
from emceepee.state.tasks import TASK_NOT_FOUND
from emceepee.vocabulary.outcomes import Done, Failed
from emceepee.vocabulary.raw_json import Payload, write

SESSION_NOT_FOUND = "TOOL_ERR_SESSION_NOT_FOUND"
SERVER_NOT_FOUND_CODE = "TOOL_ERR_SERVER_NOT_FOUND"
TOOL_NOT_FOUND = "TOOL_ERR_NOT_FOUND"
EXECUTION_FAILED = "TOOL_ERR_EXECUTION_FAILED"
TIMED_OUT = "TOOL_ERR_TIMEOUT"
DISCONNECTED = "TOOL_ERR_SERVER_DISCONNECTED"
LIMIT = "TOOL_ERR_LIMIT_REACHED"
TASK_NOT_FOUND_CODE = "TOOL_ERR_TASK_NOT_FOUND"
REQUEST_NOT_FOUND = "TOOL_ERR_REQUEST_NOT_FOUND"
INVALID_ANSWER = "TOOL_ERR_INVALID_ANSWER"

_OF_STATE = {
    TASK_NOT_FOUND: (TASK_NOT_FOUND_CODE, "Call list_tasks with include_completed to see which there are."),
    UNKNOWN_SESSION: (SESSION_NOT_FOUND, "It was closed or has expired; call open_workspace for a new one."),
    ASK_NOT_FOUND: (REQUEST_NOT_FOUND, "It was answered or has expired; await_activity shows what is open."),
    BAD_ANSWER: (INVALID_ANSWER, "Correct the answer and send it again; the question is still open."),
}
"""Reasons that our own tables give, with the code and the next step a model is told."""


class ToolExecutionError(EmceepeeError):
    """An error of one of our tools, ready to be shown."""

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None, next_step: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details
        self.next_step = next_step


def answer(value: dict[str, Any]) -> Done:
    """A result of ours. Values may hold `Raw`."""
    return Done(Payload.of({"content": [text_block(write(value))]}))


def error_answer(error: ToolExecutionError, after: list[Raw] | None = None) -> Done:
    """An error as a result. `after` are further blocks, of the server that caused it."""
    return Done(Payload.of({"content": [text_block(write(error_value(error))), *(after or [])], "isError": True}))


def error_value(error: ToolExecutionError) -> dict[str, Any]:
    value: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details:
        value["details"] = error.details
    if error.next_step:
        value["next"] = error.next_step
    return {"error": value}


def text_block(json_text: bytes) -> dict[str, str]:
    return {"type": "text", "text": json_text.decode()}


def tool_error(error: EmceepeeError, about: dict[str, Any], patience_ms: int | None = None) -> ToolExecutionError:
    """What to show for a fault. `about` goes into the details: `serverName`, `toolName`."""
    match error:
        case ToolExecutionError():
            return error
        case ClientFault(data={"reason": reason} as data) if reason == SERVER_NOT_FOUND:
            details = about | {"known": data["known"]}
            return ToolExecutionError(
                SERVER_NOT_FOUND_CODE, error.message, details, "Call list_servers, or add_server to add it."
            )
        case ClientFault(data={"reason": str(reason)} as data) if reason in _OF_STATE:
            code, next_step = _OF_STATE[reason]
            details = about | {key: value for key, value in data.items() if key != "reason"}
            return ToolExecutionError(code, error.message, details, next_step)
        case LimitReached():
            return ToolExecutionError(LIMIT, str(error), {"limit": error.limit}, "Remove something first.")
        case BackendFault():
            return _of_backend(error, about, patience_ms)
        case ClientFault():
            return ToolExecutionError(EXECUTION_FAILED, error.message, about)
    return ToolExecutionError(EXECUTION_FAILED, f"Tool execution failed: {error}", about | {"error": str(error)})


def _of_backend(error: BackendFault, about: dict[str, Any], patience_ms: int | None) -> ToolExecutionError:
    details = about | {"error": error.detail, "reason": error.reason}
    if isinstance(error, OutcomeUnknown) and error.evidence:
        details["evidence"] = error.evidence
    match error:
        case BackendTimeout():
            said = f"Timed out after {patience_ms}ms" if patience_ms is not None else str(error)
            step = "Raise timeout_ms, or call get_server_status to see whether the server answers at all."
            return ToolExecutionError(TIMED_OUT, said, details, step)
        case OutcomeUnknown():
            said = f"Server '{error.server}' disconnected during the call, so its outcome is unknown: {error.detail}"
            step = "Find out whether it happened before calling again; calling again may do it twice."
            return ToolExecutionError(DISCONNECTED, said, details, step)
    said = f"Tool execution failed: {error}"
    return ToolExecutionError(EXECUTION_FAILED, said, details, "Call get_server_status, then reconnect_server.")


def refusal(failed: Failed, about: dict[str, Any]) -> ToolExecutionError:
    """An error that the server itself answered."""
    details = about | {"error": failed.message, "code": failed.code}
    if failed.data is not None:
        details["data"] = failed.data
    code = TOOL_NOT_FOUND if failed.kind == "resource_not_found" else EXECUTION_FAILED
    return ToolExecutionError(code, f"Tool execution failed: {failed.message}", details)
