"""Tasks that a backend of this era makes of our calls, in the words of the extension: what it tells, what it is asked.

Not here: tasks that clients are told of (`tasks.py`), and when a backend is asked (`backends.far_task`). The one rule:
a task without an id, or of a status that nobody knows, is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from msgspec import Raw

from emceepee.eras.asks import declare, read_wanted
from emceepee.eras.capabilities import TASKS_EXTENSION
from emceepee.eras.faults import Violation
from emceepee.eras.meta import CLIENT_CAPABILITIES
from emceepee.eras.modern.envelope import write_envelope
from emceepee.eras.peek import is_object
from emceepee.protocol.messages import INTERNAL_ERROR, ErrorObject
from emceepee.vocabulary.asks import AskProfile
from emceepee.vocabulary.outcomes import Failed
from emceepee.vocabulary.raw_json import Fields, NotThatShape, read_fields, read_text, read_value, to_raw, write

GET, UPDATE, CANCEL = "tasks/get", "tasks/update", "tasks/cancel"
EXTENSION: dict[str, Any] = {TASKS_EXTENSION: {}}
_STATUSES = ("working", "input_required", "completed", "failed", "cancelled")


@dataclass(slots=True, frozen=True)
class FarTask:
    """As its server told it last."""

    id: str
    status: str
    ttl_ms: int | None = None
    poll_ms: int | None = None
    message: str | None = None
    asks: Fields = field(default_factory=dict)
    result: Raw | None = None
    error: ErrorObject | None = None

    @property
    def ended(self) -> bool:
        return self.status in ("completed", "failed", "cancelled")

    def told_again(self, newer: FarTask) -> FarTask:
        """What stands now; times that are not repeated hold on."""
        ttl_ms = self.ttl_ms if newer.ttl_ms is None else newer.ttl_ms
        poll_ms = self.poll_ms if newer.poll_ms is None else newer.poll_ms
        return replace(newer, ttl_ms=ttl_ms, poll_ms=poll_ms)


def read_created(result: Raw) -> FarTask | None:
    """The task that a call was answered with; None for any other result."""
    try:
        fields = read_fields(result)
    except NotThatShape:
        return None
    return _read(fields) if read_text(fields.get("resultType")) == "task" else None


def read_task(result: Raw) -> FarTask:
    """What `tasks/get` was answered. Raises `Violation`."""
    try:
        found = _read(read_fields(result))
    except NotThatShape:
        found = None
    if found is None:
        raise Violation("its task has no id, or a status that is none")
    return found


def _read(fields: Fields) -> FarTask | None:
    task_id, status = read_text(fields.get("taskId")), read_text(fields.get("status"))
    if task_id is None or status not in _STATUSES:
        return None
    asks = fields.get("inputRequests")
    return FarTask(
        task_id,
        status,
        _whole(fields.get("ttlMs")),
        _whole(fields.get("pollIntervalMs")),
        read_text(fields.get("statusMessage")),
        read_fields(asks) if status == "input_required" and asks is not None and is_object(asks) else {},
        fields.get("result"),
        _error(fields.get("error")),
    )


def _whole(raw: Raw | None) -> int | None:
    value = None if raw is None else read_value(raw)
    return value if type(value) is int and value >= 0 else None


def _error(raw: Raw | None) -> ErrorObject | None:
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw, type=ErrorObject)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ErrorObject(INTERNAL_ERROR, "its task failed, and its error cannot be read")


def unwelcome(task: FarTask, profile: AskProfile) -> str | None:
    """What it asks for though nobody promised it."""
    wanted = read_wanted(task.asks, profile)
    return wanted.message if isinstance(wanted, Failed) else None


def capabilities(profile: AskProfile) -> dict[str, Any]:
    """What is declared to a server that may make tasks of calls."""
    return {**declare(profile, "modern"), "extensions": EXTENSION}


def write_about(
    task_id: str, revision: str, client_info: Raw, profile: AskProfile, answers: Fields | None = None
) -> bytes:
    """The params of each of the three requests."""
    meta: dict[str, Any] = {**write_envelope(revision, client_info), CLIENT_CAPABILITIES: capabilities(profile)}
    said: dict[str, Any] = {"taskId": task_id, "_meta": meta}
    return write(said if answers is None else said | {"inputResponses": answers})


def named(task_id: str) -> Fields:
    """What stands in the header."""
    return {"taskId": to_raw(task_id)}
