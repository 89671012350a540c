"""The tasks of one workspace: calls that a client let go of and can ask about later.

It carries no call: whoever does gives a way to stop it, and says how it ended. It keeps no timer: `expire` is called at
`next_deadline`, or late, with the same result.

The one rule: a task ends once. What ends it second is told so (by name) or finds nothing to do (by time), and changes
neither the task nor the log.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Raw

from emceepee.errors import ClientFault, LimitReached
from emceepee.runtime.clock import iso
from emceepee.state.events import EventType
from emceepee.state.recording import Moment, Record, unheard
from emceepee.state.settings import TaskSettings
from emceepee.vocabulary.names import ServerName
from emceepee.vocabulary.outcomes import Failed
from emceepee.vocabulary.raw_json import Fields

_log = logging.getLogger("emceepee.state")

TaskStatus: TypeAlias = Literal["working", "completed", "failed", "cancelled", "expired"]
Step: TypeAlias = Literal["complete", "fail", "cancel", "expire"]

NEXT: dict[tuple[TaskStatus, Step], TaskStatus] = {
    ("working", "complete"): "completed",
    ("working", "fail"): "failed",
    ("working", "cancel"): "cancelled",
    ("working", "expire"): "expired",
}
"""What is not listed cannot happen: the four others are the end."""

TERMINAL: tuple[TaskStatus, ...] = ("completed", "failed", "cancelled", "expired")

_EVENT: dict[TaskStatus, EventType] = {
    "completed": "task_completed",
    "failed": "task_failed",
    "cancelled": "task_cancelled",
    "expired": "task_expired",
}

TASK_NOT_FOUND = "task_not_found"
TASK_ENDED = "task_ended"
_INVALID_PARAMS = -32602

Stop: TypeAlias = Callable[[], None]
"""Ends the call behind a task and has its server told. Returns at once."""

Lost: TypeAlias = Callable[[], bool]
"""Whether the connection is gone that carried the call behind a task."""

Answer: TypeAlias = Callable[[Fields], Awaitable[None]]
"""Takes the answers to what the server behind a task asks of the client, by the server's keys."""

Follower: TypeAlias = Callable[["TaskView"], None]
"""Is told how a task stands whenever that changes. Returns at once and never raises."""

OpenUntil: TypeAlias = Callable[[ServerName], float | None]
"""Until when a person is being asked something by this server, if so."""


class Keep(Protocol):
    """Whoever remembers the tasks of one workspace beyond this process. Nothing here raises, or takes long."""

    def begun(self, view: TaskView) -> None: ...

    def ended(self, view: TaskView, keep_until: datetime) -> None: ...

    def told(self, task_id: str, keep_until: datetime) -> None:
        """The event that told its end has reached the client."""
        ...

    def forgotten(self, task_ids: Iterable[str]) -> None:
        """Nobody can ask for these any more."""
        ...


@dataclass(slots=True, frozen=True)
class TaskView:
    """One task as it stood when somebody looked."""

    id: str
    server: ServerName
    tool: str
    args: Raw | None
    status: TaskStatus
    ttl_ms: int
    created_at: datetime
    updated_at: datetime
    message: str | None = None
    error: str | None = None
    result: Raw | None = None
    cause: Failed | None = None
    """The error behind `error`, where its code is known."""

    wrapped: bool = False
    """As `Done.wrapped`."""

    asks: Fields = field(default_factory=dict)
    """What its server wants of the client before it goes on; only while it works."""

    reason: str | None = None
    """One word for `error`, where it has one."""

    @property
    def working(self) -> bool:
        return self.status == "working"

    def shown(self, result: bool = False) -> dict[str, Any]:
        said: dict[str, Any] = {
            "taskId": self.id,
            "server": self.server,
            "toolName": self.tool,
            "status": self.status,
            "createdAt": iso(self.created_at),
            "lastUpdatedAt": iso(self.updated_at),
            "ttl": self.ttl_ms,
        }
        optional = {"toolArgs": self.args, "statusMessage": self.message, "error": self.error}
        said |= {key: value for key, value in optional.items() if value is not None}
        return said | {"result": self.result} if result and self.result is not None else said

    def brief(self) -> dict[str, Any]:
        return {"taskId": self.id, "toolName": self.tool, "status": self.status}


class Unkept:
    """The `Keep` of tasks that end with the process."""

    def begun(self, view: TaskView) -> None:
        pass

    def ended(self, view: TaskView, keep_until: datetime) -> None:
        pass

    def told(self, task_id: str, keep_until: datetime) -> None:
        pass

    def forgotten(self, task_ids: Iterable[str]) -> None:
        pass


UNKEPT = Unkept()


class _Task:
    """The record. `deadline` while it works, `remove_at` afterwards."""

    __slots__ = (
        "answer",
        "asked_since",
        "carried",
        "created",
        "deadline",
        "delivered",
        "ended",
        "followers",
        "lost",
        "remove_at",
        "stop",
        "view",
    )

    def __init__(self, view: TaskView, created: float, stop: Stop | None) -> None:
        self.view = view
        self.created = created
        self.deadline = created + view.ttl_ms / 1000
        self.stop = stop
        self.lost: Lost | None = None
        self.answer: Answer | None = None
        self.asked_since: float | None = None
        self.followers: list[Follower] = []
        self.ended = 0.0
        self.remove_at = 0.0
        self.delivered = False


class Tasks:
    def __init__(
        self,
        record: Record,
        settings: TaskSettings | None = None,
        open_until: OpenUntil | None = None,
        keep: Keep = UNKEPT,
    ) -> None:
        self.settings = settings or TaskSettings()
        self._keep = keep
        self._record = record
        self._open_until = open_until or (lambda server: None)
        self._working: dict[str, _Task] = {}
        self._finished: dict[str, _Task] = {}
        self.closed = False

    def __len__(self) -> int:
        return len(self._working) + len(self._finished)

    def __contains__(self, task_id: object) -> bool:
        return task_id in self._working or task_id in self._finished

    # -- beginning

    def ttl(self, asked_ms: int | None) -> int:
        """What a task lives: what was asked for, within bounds. Raises `ClientFault` for what is no time (X-BUG-19)."""
        if asked_ms is None:
            return self.settings.default_ttl_ms
        if asked_ms <= 0:
            raise ClientFault(_INVALID_PARAMS, f"A task's ttl must be above 0 ms (got {asked_ms})")
        return min(asked_ms, self.settings.max_ttl_ms)

    def create(
        self,
        task_id: str,
        what: tuple[ServerName, str, Raw | None],
        now: Moment,
        stop: Stop | None,
        ttl_ms: int,
        lost: Lost | None = None,
    ) -> TaskView:
        """`what` is the server, the tool and its arguments. Raises `LimitReached`, also when closed (X-BUG-26)."""
        if self.closed or len(self._working) >= self.settings.max_working:
            raise LimitReached("working tasks (max_working)", 0 if self.closed else self.settings.max_working)
        server, tool, args = what
        view = TaskView(task_id, server, tool, args, "working", ttl_ms, now.wall, now.wall)
        task = self._working[task_id] = _Task(view, now.at, stop)
        task.lost = lost
        self._keep.begun(view)
        self._record("task_created", server, {"taskId": task_id, "toolName": tool, "ttl": ttl_ms}, task_id)
        return view

    def restore(self, view: TaskView, told: bool, keep_until: datetime, now: Moment) -> None:
        """One that ended in an earlier run of the gateway. If its end was not told then, it is now."""
        task = _Task(view, now.at - (now.wall - view.created_at).total_seconds(), None)
        task.ended = now.at
        task.remove_at = now.at + (keep_until - now.wall).total_seconds()
        task.delivered = told
        self._finished[view.id] = task
        self._forget_surplus()
        if not told:
            self._record(_EVENT[view.status], view.server, _told(view), view.id)

    # -- going on

    def note(
        self, task_id: str, now: Moment, message: str | None = None, asks: Fields | None = None,
        answer: Answer | None = None,
    ) -> None:  # fmt: skip
        """What its server says of it while it works. Nothing for a task that does not work any more."""
        task = self._working.get(task_id)
        if task is None:
            return
        task.answer = answer
        asked, before = asks or {}, task.view
        if (message or before.message, asked) == (before.message, before.asks):
            return
        task.view = replace(before, message=message or before.message, asks=asked, updated_at=now.wall)
        self._count_asking(task, now.at)
        _tell(task)

    def _count_asking(self, task: _Task, now: float) -> None:
        """The time that a person is asked with the task itself is no part of its life."""
        if task.view.asks and task.asked_since is None:
            task.asked_since = now
        elif not task.view.asks and task.asked_since is not None:
            task.deadline = self._at_most(task, task.deadline + now - task.asked_since)
            task.asked_since = None

    def answering(self, task_id: str) -> tuple[TaskView, Answer | None]:
        """The task, and where answers to what it asks go, if anywhere. Raises as `get`."""
        task = self._working.get(task_id)
        return self.get(task_id), None if task is None else task.answer

    def follow(self, task_id: str, follower: Follower) -> TaskView:
        """Tell it of every change from now on, the end included. Raises as `get`."""
        view = self.get(task_id)
        if view.working:
            self._working[task_id].followers.append(follower)
        return view

    def unfollow(self, task_id: str, follower: Follower) -> None:
        task = self._working.get(task_id)
        if task is not None and follower in task.followers:
            task.followers.remove(follower)

    # -- ending

    def complete(self, task_id: str, result: Raw, is_error: bool, now: Moment, wrapped: bool = False) -> TaskView:
        """The server answered. An answer that says it is an error is a failure whose result is kept (X-BUG-23). Raises
        `ClientFault` for an unknown or ended task."""
        task = self._must_work(task_id)
        if is_error:
            return self._end(task, "fail", now, result=result, error="The tool reported an error", wrapped=wrapped)
        return self._end(task, "complete", now, result=result, wrapped=wrapped)

    def fail(
        self, task_id: str, error: str, now: Moment, cause: Failed | None = None, theirs: bool = False
    ) -> TaskView:
        """`theirs`: the words are the server's, which may repeat what it was given and so are not logged. Raises as
        `complete`."""
        said = f"the server answered with error {cause.code}" if theirs and cause is not None else None
        return self._end(self._must_work(task_id), "fail", now, said=said, error=error, cause=cause)

    def cancel(self, task_id: str, now: Moment) -> bool:
        """Whether it was working; then its server is told."""
        task = self._working.get(task_id)
        if task is None:
            return False
        self._end(task, "cancel", now)
        return True

    def fail_server(
        self, server: ServerName, error: str, now: Moment, cause: Failed | None = None, carried: bool = False
    ) -> list[TaskView]:
        """Everything that works there is lost: the server is gone, or was removed. With `carried`, only what was on a
        connection that is gone."""
        lost = [
            task
            for task in self._working.values()
            if task.view.server == server and (not carried or task.lost is None or task.lost())
        ]
        return [self._end(task, "fail", now, error=error, cause=cause) for task in lost]

    def expire(self, now: Moment) -> list[TaskView]:
        """End what is past its deadline, and forget what was kept long enough. Returns what expired."""
        over = [task for task in self._working.values() if self._deadline(task) <= now.at]
        text = "Task expired after {}ms TTL"
        expired = [self._end(task, "expire", now, error=text.format(task.view.ttl_ms)) for task in over]
        self._forget([task.view.id for task in self._finished.values() if task.remove_at <= now.at])
        return expired

    def _forget(self, task_ids: list[str]) -> None:
        for task_id in task_ids:
            del self._finished[task_id]
        if task_ids:
            self._keep.forgotten(task_ids)

    def _forget_surplus(self) -> None:
        while len(self._finished) > self.settings.max_finished:
            self._forget([next(iter(self._finished))])

    def waited(self, server: ServerName, since: float, until: float) -> None:
        """A person was asked something by this server for so long, which is no part of the life of its tasks."""
        for task in self._working.values():
            if task.view.server == server:
                task.deadline = self._at_most(task, task.deadline + until - max(since, task.created))

    def _deadline(self, task: _Task) -> float:
        """Not while a person is being asked, up to the longest life a task can have (X-CON-02)."""
        until = self._open_until(task.view.server)
        if task.asked_since is not None:
            until = max(until or 0.0, task.asked_since + self.settings.asked_ms / 1000)
        return task.deadline if until is None else max(task.deadline, self._at_most(task, until))

    def _at_most(self, task: _Task, deadline: float) -> float:
        return min(deadline, task.created + self.settings.max_ttl_ms / 1000)

    def _must_work(self, task_id: str) -> _Task:
        task = self._working.get(task_id)
        if task is not None:
            return task
        ended = self._finished.get(task_id)
        if ended is None:
            raise not_found(task_id)
        message = f"Task '{task_id}' is not in working state (current: {ended.view.status})"
        raise ClientFault(_INVALID_PARAMS, message, {"reason": TASK_ENDED, "taskId": task_id})

    def _end(
        self, task: _Task, step: Step, now: Moment, result: Raw | None = None, said: str | None = None, **how: Any
    ) -> TaskView:
        """`how`: the `error`, its `cause`, whether the result is `wrapped`. `said` is what is logged of the error."""
        view = task.view
        status = NEXT[view.status, step]
        del self._working[view.id]
        stop, task.stop, task.answer, task.lost = task.stop, None, None, None
        task.view = ended = replace(view, status=status, updated_at=now.wall, result=result, asks={}, **how)
        task.ended = now.at
        task.remove_at = now.at + self.settings.max_retention_ms / 1000
        self._finished[view.id] = task
        self._keep.ended(ended, now.after(task.remove_at))
        self._forget_surplus()
        self._record(_EVENT[status], view.server, _told(ended), view.id)
        level = logging.WARNING if status in ("failed", "expired") else logging.INFO
        _log.log(level, _EVENT[status], extra={"data": _logged(ended, said)})
        _tell(task)
        task.followers.clear()
        if stop is not None and step != "complete" and result is None:
            stop()
        return ended

    def delivered(self, task_id: str, now: Moment) -> None:
        """The event that told its end has reached the client; from now on the result is kept this long (X-BUG-22), and
        in any case as long as the task was promised to be there."""
        task = self._finished.get(task_id)
        if task is None or task.delivered:
            return
        task.delivered = True
        promised = task.created + task.view.ttl_ms / 1000
        task.remove_at = min(task.remove_at, max(promised, now.at + self.settings.retention_ms / 1000))
        self._keep.told(task_id, now.after(task.remove_at))

    def untold(self) -> list[str]:
        """Ended ones of whose end the client has not heard."""
        return [task.view.id for task in self._finished.values() if not task.delivered]

    # -- looking

    def get(self, task_id: str) -> TaskView:
        """Raises `ClientFault` for one that is not, or no longer, known."""
        task = self._working.get(task_id) or self._finished.get(task_id)
        if task is None:
            raise not_found(task_id)
        return task.view

    def views(self, server: ServerName | None = None, finished: bool = False) -> list[TaskView]:
        """Working ones, and finished ones if asked for, oldest first."""
        tasks: list[_Task] = [*self._working.values(), *(self._finished.values() if finished else ())]
        views = [task.view for task in tasks if server is None or task.view.server == server]
        return sorted(views, key=lambda view: view.id)

    def working(self, server: ServerName | None = None) -> list[TaskView]:
        return self.views(server)

    def next_deadline(self) -> float | None:
        """When `expire` has something to do next."""
        times: Iterable[float] = (
            *(self._deadline(task) for task in self._working.values()),
            *(task.remove_at for task in self._finished.values()),
        )
        return min(times, default=None)

    def close(self, now: Moment, forget: bool = True) -> list[TaskView]:
        """What works is cancelled, its servers are told, nothing begins any more (X-CON-07). All is forgotten unless
        the workspace ends only with this process."""
        self.closed = True
        if forget:
            self._keep.forgotten([*self._working, *self._finished])
            self._keep = UNKEPT
        self._record = unheard
        return [self._end(task, "cancel", now) for task in list(self._working.values())]


def _tell(task: _Task) -> None:
    for follower in tuple(task.followers):
        follower(task.view)


def not_found(task_id: str) -> ClientFault:
    message = f"Task '{task_id[:80]}' not found"
    return ClientFault(_INVALID_PARAMS, message, {"reason": TASK_NOT_FOUND, "taskId": task_id[:80]})


def _told(task: TaskView) -> dict[str, Any]:
    said: dict[str, Any] = {"taskId": task.id, "toolName": task.tool}
    if task.status == "failed":
        said |= {"error": task.error, "reason": task.reason or task.error}
    if task.status == "expired":
        said["ttl"] = task.ttl_ms
    return said


def _logged(task: TaskView, said: str | None) -> dict[str, Any]:
    data: dict[str, Any] = {"taskId": task.id, "server": task.server, "tool": task.tool}
    if task.status in ("failed", "expired"):
        data["error"] = said or task.error
    return data
