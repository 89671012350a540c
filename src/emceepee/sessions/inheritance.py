"""What earlier runs of the gateway left: tasks that wait for the workspace they belong to.

A named workspace, or a principal's own, takes what is its own when it is there again. What legacy sessions left has no
place any more, so the first workspace of the same principal whose client is told of events is given it; and by its id a
task is found from any of his.

The one rule: nothing crosses from one principal to another, and each end is told to one workspace.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from emceepee.state.kept_tasks import KeepFor, KeptTask, Owner, TaskStore, broken_off
from emceepee.state.settings import TaskSettings
from emceepee.vocabulary.names import Scope


class Inheritance:
    def __init__(self, store: TaskStore, settings: TaskSettings, now: datetime, of_sessions: bool = True) -> None:
        """`of_sessions`: whether a principal is one person, who may have what his sessions left."""
        self._store = store
        self._of_sessions = of_sessions
        self._waiting: dict[str, dict[str, KeptTask]] = {}
        self._given: dict[str, tuple[KeptTask, Scope]] = {}
        for task in store.all():
            self._sort_in(task, settings, now)

    @property
    def waits(self) -> bool:
        return bool(self._waiting)

    def __len__(self) -> int:
        """How many still wait."""
        return sum(len(tasks) for tasks in self._waiting.values())

    def _sort_in(self, task: KeptTask, settings: TaskSettings, now: datetime) -> None:
        view, until = task.view, task.keep_until
        if view.working:
            view, until = broken_off(view, now), now + timedelta(milliseconds=settings.max_retention_ms)
        elif not task.told:
            # Time in which there was no gateway is no time in which somebody could have asked.
            until = max(until, now + timedelta(milliseconds=settings.retention_ms))
        if until <= now or (task.owner.place is None and not self._of_sessions):
            self._store.forget([view.id])
            return
        found = KeptTask(task.owner, view, until, task.told)
        if found != task:
            self._store.put(found)
        self._wait(found)

    def _wait(self, task: KeptTask) -> None:
        self._waiting.setdefault(task.owner.principal, {})[task.view.id] = task

    def keep_for(self, owner: Owner) -> KeepFor:
        return KeepFor(self._store, owner)

    # -- giving

    def take(self, owner: Owner, scope: Scope) -> list[KeptTask]:
        """What lay in this place, or, for none, what a principal's sessions left, oldest first; whoever is given it, no
        other is after that."""
        theirs = self._waiting.get(owner.principal, {})
        return [self._give(task, scope) for task in list(theirs.values()) if task.owner.place == owner.place]

    def claim(self, principal: str, task_id: str, scope: Scope) -> KeptTask | None:
        """One by its id, wherever it waits."""
        task = self._waiting.get(principal, {}).get(task_id)
        return None if task is None else self._give(task, scope)

    def heir_of(self, principal: str, task_id: str) -> Scope | None:
        """Whose it is now."""
        task, scope = self._given.get(task_id, (None, None))
        return None if task is None or task.owner.principal != principal else scope

    def _give(self, task: KeptTask, scope: Scope) -> KeptTask:
        self._drop(task)
        self._given[task.view.id] = task, scope
        return task

    def _drop(self, task: KeptTask) -> None:
        theirs = self._waiting[task.owner.principal]
        del theirs[task.view.id]
        if not theirs:
            del self._waiting[task.owner.principal]

    def give_back(self, scope: Scope, unseen: Iterable[str]) -> None:
        """A workspace has ended: what it was given and its client has not heard of waits again."""
        left = frozenset(unseen)
        for task_id, (task, heir) in list(self._given.items()):
            if heir != scope:
                continue
            del self._given[task_id]
            if task_id in left:
                self._store.put(task)
                self._wait(task)

    def expire(self, now: datetime) -> None:
        """What nobody came for in time."""
        over = [task for theirs in self._waiting.values() for task in theirs.values() if task.keep_until <= now]
        for task in over:
            self._drop(task)
        if over:
            self._store.forget([task.view.id for task in over])
        for task_id in [task_id for task_id, (task, _) in self._given.items() if task.keep_until <= now]:
            del self._given[task_id]
