"""Tasks beyond one run of the gateway: whose they are, and what is known of them when it starts again.

A legacy session dies with its process, so the place of its tasks does too; a principal's own workspace, and one that
has a name, are found again under it.

The one rule: what ran when a gateway died is told as *failed, outcome unknown*; nobody asks its server a second time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from emceepee.state.tasks import TaskView
from emceepee.vocabulary.names import Scope
from emceepee.vocabulary.outcomes import Failed
from emceepee.vocabulary.raw_json import to_raw

OUTCOME_UNKNOWN = "outcome_unknown"
GATEWAY_ENDED = "The gateway ended while the tool ran; outcome unknown"
_INTERNAL_ERROR = -32603


@dataclass(slots=True, frozen=True)
class Owner:
    """`place` is what is left of a scope that can be used again; None where it dies with the process."""

    principal: str
    place: str | None = None


def place_of(scope: Scope) -> str:
    """A handle is a secret, so that it is known again and not written down."""
    return hashlib.sha256(scope.encode()).hexdigest()


@dataclass(slots=True, frozen=True)
class KeptTask:
    owner: Owner
    view: TaskView
    keep_until: datetime
    told: bool = False
    """Whether the event of its end has reached its client."""


class TaskStore(Protocol):
    """Nothing raises: what cannot be written is told in the log, and lost with the process."""

    def put(self, task: KeptTask) -> None:
        """As it stands now, instead of what was known of it."""
        ...

    def told(self, task_id: str, keep_until: datetime) -> None: ...

    def forget(self, task_ids: Iterable[str]) -> None:
        """Unknown ones are fine."""
        ...

    def all(self) -> list[KeptTask]:
        """Oldest first."""
        ...


class InMemoryTasks:
    """For as long as somebody holds on to it: the twin by which a restart can be tried without a file."""

    def __init__(self) -> None:
        self._tasks: dict[str, KeptTask] = {}

    def put(self, task: KeptTask) -> None:
        self._tasks[task.view.id] = task

    def told(self, task_id: str, keep_until: datetime) -> None:
        known = self._tasks.get(task_id)
        if known is not None:
            self._tasks[task_id] = replace(known, told=True, keep_until=keep_until)

    def forget(self, task_ids: Iterable[str]) -> None:
        for task_id in task_ids:
            self._tasks.pop(task_id, None)

    def all(self) -> list[KeptTask]:
        return [self._tasks[task_id] for task_id in sorted(self._tasks)]


class KeepFor:
    """Implements `tasks.Keep` for the workspace of one owner."""

    def __init__(self, store: TaskStore, owner: Owner) -> None:
        self._store = store
        self._owner = owner

    def begun(self, view: TaskView) -> None:
        self._store.put(KeptTask(self._owner, view, view.created_at))

    def ended(self, view: TaskView, keep_until: datetime) -> None:
        self._store.put(KeptTask(self._owner, view, keep_until))

    def told(self, task_id: str, keep_until: datetime) -> None:
        self._store.told(task_id, keep_until)

    def forgotten(self, task_ids: Iterable[str]) -> None:
        self._store.forget(task_ids)


def broken_off(view: TaskView, at: datetime) -> TaskView:
    """A task that worked when its gateway died."""
    data = to_raw({"reason": OUTCOME_UNKNOWN, "server": view.server, "taskId": view.id})
    cause = Failed(_INTERNAL_ERROR, GATEWAY_ENDED, data)
    return replace(
        view, status="failed", updated_at=at, error=GATEWAY_ENDED, reason=OUTCOME_UNKNOWN, cause=cause, asks={}
    )
