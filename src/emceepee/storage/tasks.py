"""Implements `state.kept_tasks.TaskStore` over the state file: one row for each task, written when it begins and ends.

The one rule: a result is kept whole or not at all; one that is too large to be kept leaves a task that says so.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Raw

from emceepee.state.kept_tasks import KeptTask, Owner
from emceepee.state.tasks import TaskStatus, TaskView
from emceepee.storage.database import Database
from emceepee.vocabulary.outcomes import Failed
from emceepee.vocabulary.raw_json import Fields, NotThatShape, read_fields, write

_log = logging.getLogger("emceepee.storage")

MAX_RESULT = 1024 * 1024
"""Bytes of one result. Writing as much takes some milliseconds, in which nothing else goes on."""

MAX_TASKS = 10_000
MAX_BYTES = 256 * 1024 * 1024
"""Both of all principals; the oldest ended ones go first."""

_COLUMNS = "id, principal, place, status, told, keep_until, body"


class _Small(msgspec.Struct, omit_defaults=True):
    """What of a task is ours; `args`, `result` and the error's `data` lie beside it, as they came."""

    server: str
    tool: str
    ttl: int
    created: datetime
    updated: datetime
    message: str | None = None
    error: str | None = None
    reason: str | None = None
    code: int | None = None
    cause: str | None = None
    wrapped: bool = False


class SqliteTasks:
    def __init__(self, database: Database, limit: int = MAX_TASKS, max_bytes: int = MAX_BYTES) -> None:
        self._database = database
        self._limit = limit
        self._max_bytes = max_bytes
        self._sizes: dict[str, int] = dict(database.rows("SELECT id, length(body) FROM task"))
        self._bytes = sum(self._sizes.values())

    def put(self, task: KeptTask) -> None:
        owner, view, body = task.owner, task.view, _body(task.view)
        self._gone(view.id)
        if len(self._sizes) >= self._limit or self._bytes + len(body) > self._max_bytes:
            self._make_room(len(body))
        row = (view.id, owner.principal, owner.place, view.status, task.told, _seconds(task.keep_until), body)
        if self._database.write(f"INSERT OR REPLACE INTO task ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", row):
            self._sizes[view.id] = len(body)
            self._bytes += len(body)

    def _make_room(self, size: int) -> None:
        """A tenth more than is needed, so that it is not needed each time."""
        ended = self._database.rows("SELECT id FROM task WHERE status != 'working' ORDER BY id")
        most, most_bytes = self._limit * 9 // 10, self._max_bytes * 9 // 10 - size
        count, total, over = len(self._sizes), self._bytes, []
        for (task_id,) in ended:
            if count <= most and total <= most_bytes:
                break
            over.append(task_id)
            count, total = count - 1, total - self._sizes.get(task_id, 0)
        _log.warning("state_tasks_evicted", extra={"data": {"evictedCount": len(over)}})
        self.forget(over)

    def _gone(self, task_id: str) -> None:
        self._bytes -= self._sizes.pop(task_id, 0)

    def told(self, task_id: str, keep_until: datetime) -> None:
        self._database.write("UPDATE task SET told = 1, keep_until = ? WHERE id = ?", (_seconds(keep_until), task_id))

    def forget(self, task_ids: Iterable[str]) -> None:
        ids = [(task_id,) for task_id in task_ids]
        for (task_id,) in ids:
            self._gone(task_id)
        if ids:
            self._database.write_all(("DELETE FROM task WHERE id = ?", one) for one in ids)

    def all(self) -> list[KeptTask]:
        found = []
        for row in self._database.rows(f"SELECT {_COLUMNS} FROM task ORDER BY id"):
            try:
                found.append(_task(row))
            except (msgspec.DecodeError, NotThatShape, KeyError) as error:
                data = {"taskId": row[0], "error": type(error).__name__}
                _log.warning("state_task_unreadable", extra={"data": data})
        return found


def _seconds(moment: datetime) -> float:
    return moment.timestamp()


def _body(view: TaskView) -> bytes:
    view = _within_bounds(view)
    cause = view.cause
    small = _Small(
        server=view.server,
        tool=view.tool,
        ttl=view.ttl_ms,
        created=view.created_at,
        updated=view.updated_at,
        message=view.message,
        error=view.error,
        reason=view.reason,
        code=None if cause is None else cause.code,
        cause=None if cause is None else cause.message,
        wrapped=view.wrapped,
    )
    parts = {"args": view.args, "result": view.result, "data": None if cause is None else cause.data}
    return write({"task": small} | {key: raw for key, raw in parts.items() if raw is not None})


def _within_bounds(view: TaskView) -> TaskView:
    if view.args is not None and len(memoryview(view.args)) > MAX_RESULT:
        view = replace(view, args=None)
    size = 0 if view.result is None else len(memoryview(view.result))
    if size <= MAX_RESULT:
        return view
    error = f"Its result of {size} bytes was too large to outlive the gateway (at most {MAX_RESULT})"
    return replace(view, result=None, error=error)


def _task(row: tuple[Any, ...]) -> KeptTask:
    task_id, principal, place, status, told, keep_until, body = row
    fields = read_fields(body)
    small = msgspec.json.decode(fields["task"], type=_Small)
    view = _view(task_id, status, small, fields)
    return KeptTask(Owner(principal, place), view, datetime.fromtimestamp(keep_until, UTC), bool(told))


def _view(task_id: str, status: TaskStatus, small: _Small, fields: Fields) -> TaskView:
    cause = None if small.code is None else Failed(small.code, small.cause or "", _own(fields.get("data")))
    return TaskView(
        task_id,
        small.server,
        small.tool,
        _own(fields.get("args")),
        status,
        small.ttl,
        small.created,
        small.updated,
        message=small.message,
        error=small.error,
        result=_own(fields.get("result")),
        cause=cause,
        wrapped=small.wrapped,
        reason=small.reason,
    )


def _own(raw: Raw | None) -> Raw | None:
    """A copy lets go of the row it came in."""
    return None if raw is None else raw.copy()
