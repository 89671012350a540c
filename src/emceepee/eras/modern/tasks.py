"""Tasks as the extension of this era has them: asked about by modern clients, and what they are told.

Not here: whose tasks they are (`relay.task_room`), and tasks of backends (`far_tasks.py`). The one rule: whoever did
not declare the extension with a request is told of no task in its answer, whatever an earlier request declared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msgspec import Raw

from emceepee.eras.capabilities import TASKS_EXTENSION, declares_tasks
from emceepee.eras.meta import SERVER_INFO, SUBSCRIPTION_ID
from emceepee.eras.modern.errors import write_error
from emceepee.eras.modern.input_needed import input_requests
from emceepee.eras.refusal import MISSING_CAPABILITY
from emceepee.errors import ClientFault
from emceepee.protocol.messages import INVALID_PARAMS, Request, RequestId, write_notification
from emceepee.vocabulary.raw_json import EMPTY_OBJECT, Fields, NotThatShape, read_fields, read_text, write
from emceepee.vocabulary.tasks import Task, TaskState

GET, UPDATE, CANCEL = "tasks/get", "tasks/update", "tasks/cancel"
METHODS = frozenset((GET, UPDATE, CANCEL))
NOTIFICATION = "notifications/tasks"

_TOOLS_CALL = "tools/call"


@dataclass(slots=True, frozen=True)
class TaskRequest:
    task_id: str
    answers: Fields = field(default_factory=dict)


def read_task_request(request: Request, declared: Fields) -> TaskRequest:
    """Raises `ClientFault` for a client without the extension, and for params of a wrong shape."""
    if not declares_tasks(declared):
        raise needs_extension(request.method)
    try:
        params = read_fields(request.params or EMPTY_OBJECT)
        task_id = read_text(params.get("taskId"))
        given = params.get("inputResponses")
        if task_id is None:
            raise ClientFault(INVALID_PARAMS, f"{request.method}: params.taskId must be a string")
        if request.method != UPDATE:
            return TaskRequest(task_id)
        return TaskRequest(task_id, read_fields(given or b""))
    except NotThatShape:
        raise ClientFault(INVALID_PARAMS, f"{request.method}: params.inputResponses must be an object") from None


def needs_extension(what: str) -> ClientFault:
    required: dict[str, Any] = {"extensions": {TASKS_EXTENSION: {}}}
    message = f"{what} needs the client capability {TASKS_EXTENSION}"
    return ClientFault(MISSING_CAPABILITY, message, {"requiredCapabilities": required})


def write_created(task: Task, server_info: Raw) -> bytes:
    """The answer to a call that has become a task."""
    return write({"resultType": "task", "_meta": {SERVER_INFO: server_info}, **_plain(task)})


def write_task(task: Task, server_info: Raw) -> bytes:
    """The answer to whoever asks about one."""
    return write({"resultType": "complete", "_meta": {SERVER_INFO: server_info}, **_detailed(task)})


def write_acknowledgement(server_info: Raw) -> bytes:
    return write({"resultType": "complete", "_meta": {SERVER_INFO: server_info}})


def write_task_notice(task: Task, listen_id: RequestId) -> bytes:
    return write_notification(NOTIFICATION, write({**_detailed(task), "_meta": {SUBSCRIPTION_ID: listen_id}}))


def _plain(task: Task) -> dict[str, Any]:
    told: dict[str, Any] = {
        "taskId": task.id,
        "status": _status(task),
        "createdAt": task.created_at,
        "lastUpdatedAt": task.updated_at,
        "ttlMs": task.ttl_ms,
        "pollIntervalMs": task.poll_ms,
    }
    return told if task.message is None else told | {"statusMessage": task.message}


def _detailed(task: Task) -> dict[str, Any]:
    told = _plain(task)
    match told["status"]:
        case "input_required":
            return told | {"inputRequests": input_requests(task.asks)}
        case "completed" if task.result is not None:
            return told | {"result": task.result.payload.raw()}
        case "failed" if task.fault is not None:
            _, error = write_error(task.fault, _TOOLS_CALL)
            said: dict[str, Any] = {"code": error.code, "message": error.message}
            return told | {"error": said if error.data is None else said | {"data": error.data}}
    return told


def _status(task: Task) -> TaskState:
    """A tool that failed by its own word has completed its call; one that ran out of time has failed."""
    if task.ended and task.result is not None:
        return "completed"
    return "failed" if task.status == "expired" else task.status
