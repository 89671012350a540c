"""Tasks as 2025-11-25 has them, where they were an experiment: asked for by clients, and what they are told.

Not here: whose tasks they are (`relay.task_room`), and tasks of backends (`far_tasks.py`). The one rule: no other
revision of this era is told of a task.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from emceepee.eras.legacy.reshape import reshaped
from emceepee.eras.meta import RELATED_TASK
from emceepee.eras.peek import is_null, is_object
from emceepee.errors import ClientFault
from emceepee.protocol.messages import INVALID_PARAMS, METHOD_NOT_FOUND, Request, write_notification
from emceepee.vocabulary.raw_json import EMPTY_OBJECT, NotThatShape, Payload, read_fields, read_text, to_raw, write
from emceepee.vocabulary.tasks import Task

GET, RESULT, CANCEL, LIST = "tasks/get", "tasks/result", "tasks/cancel", "tasks/list"
METHODS = frozenset((GET, RESULT, CANCEL, LIST))
REVISION = "2025-11-25"
NOTIFICATION = "notifications/tasks/status"

_TOOLS_CALL = "tools/call"
_whole = msgspec.json.Decoder(int)


def check_revision(method: str, revision: str) -> None:
    """Raises `ClientFault` where these methods do not exist."""
    if revision != REVISION:
        raise ClientFault(METHOD_NOT_FOUND, f"Method not found: {method}")


def read_wish(wish: Raw) -> int | None:
    """How long a task should live, of the `task` of a call. Raises `ClientFault` for what is no such wish."""
    try:
        ttl = read_fields(wish).get("ttl")
        milliseconds = None if ttl is None or is_null(ttl) else _whole.decode(ttl)
    except (NotThatShape, msgspec.DecodeError):
        milliseconds = 0
    if milliseconds is not None and milliseconds <= 0:
        message = "tools/call: params.task must be an object, and its ttl a whole number of milliseconds above 0"
        raise ClientFault(INVALID_PARAMS, message)
    return milliseconds


def read_task_id(request: Request) -> str:
    """Raises `ClientFault`."""
    task_id = read_text(_params(request).get("taskId"))
    if task_id is None:
        raise ClientFault(INVALID_PARAMS, f"{request.method}: params.taskId must be a string")
    return task_id


def check_list(request: Request) -> None:
    """Raises `ClientFault` for a cursor: the list has one page."""
    cursor = _params(request).get("cursor")
    if cursor is not None and not is_null(cursor):
        raise ClientFault(INVALID_PARAMS, "Invalid cursor: this list has one page")


def _params(request: Request) -> dict[str, Raw]:
    raw = request.params or EMPTY_OBJECT
    if not is_object(raw):
        raise ClientFault(INVALID_PARAMS, f"{request.method}: params must be an object")
    return read_fields(raw)


def write_created(task: Task) -> bytes:
    """The answer to a call that has become a task."""
    return write({"task": _told(task)})


def write_task(task: Task) -> bytes:
    return write(_told(task))


def write_tasks(tasks: list[Task]) -> bytes:
    return write({"tasks": [_told(task) for task in tasks]})


def write_result_of(task: Task, revision: str) -> Raw | None:
    """What the call would have answered, with the task named in it; None for a task without a result."""
    if task.result is None:
        return None
    payload = Payload(raw=reshaped(_TOOLS_CALL, task.result, revision))
    try:
        meta = read_fields(payload.get("_meta") or EMPTY_OBJECT)
    except NotThatShape:
        meta = {}
    return payload.changed({"_meta": {**meta, RELATED_TASK: {"taskId": task.id}}}).raw()


def write_status(task: Task) -> bytes:
    return write_notification(NOTIFICATION, write(_told(task)))


def about_task(params: Raw, task_id: str) -> Raw:
    """The params of an ask that belongs to a task, and names it."""
    try:
        fields = read_fields(params)
        meta = read_fields(fields.get("_meta") or EMPTY_OBJECT)
    except NotThatShape:
        return params
    return to_raw({**fields, "_meta": {**meta, RELATED_TASK: {"taskId": task_id}}})


def already_ended(task: Task) -> ClientFault:
    message = f"Cannot cancel task '{task.id}': it has ended already (status: {_told(task)['status']})"
    return ClientFault(INVALID_PARAMS, message, {"reason": "task_ended", "taskId": task.id})


def _told(task: Task) -> dict[str, Any]:
    told: dict[str, Any] = {
        "taskId": task.id,
        "status": "failed" if task.status == "expired" else task.status,
        "createdAt": task.created_at,
        "lastUpdatedAt": task.updated_at,
        "ttl": task.ttl_ms,
        "pollInterval": task.poll_ms,
    }
    return told if task.message is None else told | {"statusMessage": task.message}
