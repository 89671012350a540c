"""The tasks of whoever calls, for clients whose protocol has words for them: look, wait, cancel, answer, follow.

It keeps none itself: they are those of the caller's workspace, the very ones the meta-tools show, under the same ids.

The one rule: a task that is not of the caller's workspace does not exist.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import TypeAlias

from emceepee.errors import BackendFault, ClientFault, EmceepeeError, LimitReached
from emceepee.relay.surface import OnNotice
from emceepee.runtime.clock import iso
from emceepee.sessions.workspace import Workspace
from emceepee.sessions.workspaces import Workspaces
from emceepee.state.tasks import Tasks, TaskView, not_found
from emceepee.vocabulary.calls import Caller
from emceepee.vocabulary.notices import TaskChanged
from emceepee.vocabulary.outcomes import Done, Failed
from emceepee.vocabulary.raw_json import Fields, Payload, to_raw
from emceepee.vocabulary.tasks import Task, TaskState

_INTERNAL_ERROR = -32603

Place: TypeAlias = Callable[[Caller], Caller]


class TaskRoom:
    def __init__(self, workspaces: Workspaces, place: Place | None = None) -> None:
        """`place` says where a caller is, if that is not where he came from."""
        self._workspaces = workspaces
        self._place = place
        self._poll_ms = workspaces.settings.tasks.poll_ms

    def get(self, caller: Caller, task_id: str) -> Task:
        """Raises `ClientFault` for one that is not, or no longer, the caller's."""
        return as_task(self._workspace(caller, task_id).tasks.get(task_id), self._poll_ms)

    def placed(self, place: Place) -> TaskRoom:
        """The same, for callers who are in another workspace than the one they came from."""
        return TaskRoom(self._workspaces, place)

    def all(self, caller: Caller) -> list[Task]:
        """Ended ones too, oldest first."""
        workspace = self._here(caller)
        views = [] if workspace is None else workspace.tasks.views(finished=True)
        return [as_task(view, self._poll_ms) for view in views]

    async def ended(self, caller: Caller, task_id: str) -> Task:
        """The task once it has ended. Raises as `get`."""
        workspace = self._workspace(caller, task_id)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def hear(view: TaskView) -> None:
            if not view.working and not ended.done():
                ended.set_result(None)

        if workspace.tasks.follow(task_id, hear).working:
            try:
                await ended
            finally:
                workspace.tasks.unfollow(task_id, hear)
        return as_task(workspace.tasks.get(task_id), self._poll_ms)

    def cancel(self, caller: Caller, task_id: str) -> tuple[Task, bool]:
        """The task, and whether it was still working; then its server is told. Raises as `get`."""
        workspace = self._workspace(caller, task_id)
        cancelled = workspace.tasks.cancel(task_id, workspace.now())
        return as_task(workspace.tasks.get(task_id), self._poll_ms), cancelled

    async def answer(self, caller: Caller, task_id: str, answers: Fields) -> None:
        """What the client answers to what is asked of it. An answer to something else is ignored. Raises as `get`, and
        `BackendFault`."""
        view, answering = self._workspace(caller, task_id).tasks.answering(task_id)
        wanted = {key: raw for key, raw in answers.items() if key in view.asks}
        if wanted and answering is not None:
            await answering(wanted)

    def follow(self, caller: Caller, task_ids: Iterable[str], on_notice: OnNotice) -> Following:
        """Tell of every change of these; of one that has ended already, at once. The others are not honoured."""
        following = Following(on_notice, self._poll_ms)
        for task_id in sorted(set(task_ids)):
            with contextlib.suppress(ClientFault):
                following.add(self._workspace(caller, task_id).tasks, task_id)
        return following

    def _workspace(self, caller: Caller, task_id: str) -> Workspace:
        """Where he is, or else among those that he has by name: an id is one wherever it is asked for."""
        here = self._here(caller)
        if here is not None and task_id in here.tasks:
            return here
        for workspace in self._workspaces.named_of(caller.principal):
            if task_id in workspace.tasks:
                return workspace
        if here is None and self._workspaces.inherits:
            here = self._workspaces.at(self._placed(caller).scope)
        if here is not None:
            found = self._workspaces.holding(task_id, here, caller.principal)
            if task_id in found.tasks:
                return found
        raise not_found(task_id)

    def _placed(self, caller: Caller) -> Caller:
        return caller if self._place is None else self._place(caller)

    def _here(self, caller: Caller) -> Workspace | None:
        return self._workspaces.find(self._placed(caller).scope)


class Following:
    """One client's wish to hear of some tasks, until it is closed or they have ended."""

    def __init__(self, on_notice: OnNotice, poll_ms: int) -> None:
        self._on_notice = on_notice
        self._poll_ms = poll_ms
        self._followed: dict[str, Tasks] = {}

    @property
    def honoured(self) -> frozenset[str]:
        return frozenset(self._followed)

    def add(self, tasks: Tasks, task_id: str) -> None:
        view = tasks.follow(task_id, self._hear)
        self._followed[task_id] = tasks
        if not view.working:
            self._hear(view)

    def _hear(self, view: TaskView) -> None:
        self._on_notice(TaskChanged(as_task(view, self._poll_ms)))

    def close(self) -> None:
        for task_id, tasks in self._followed.items():
            tasks.unfollow(task_id, self._hear)
        self._followed.clear()


def as_task(view: TaskView, poll_ms: int) -> Task:
    status: TaskState = "input_required" if view.asks else view.status
    result = None if view.result is None else Done(Payload(raw=view.result), wrapped=view.wrapped)
    return Task(
        id=view.id,
        status=status,
        created_at=iso(view.created_at),
        updated_at=iso(view.updated_at),
        ttl_ms=view.ttl_ms,
        poll_ms=poll_ms,
        message=view.message or view.error,
        result=result,
        fault=None if view.working or result is not None else view.cause or _why(view),
        asks=view.asks,
    )


def _why(view: TaskView) -> Failed:
    """For a task that ended without its server having said anything."""
    text = view.error or f"Task '{view.id}' was {view.status}"
    return Failed(_INTERNAL_ERROR, text, to_raw({"reason": f"task_{view.status}", "taskId": view.id}))


def as_failed(error: EmceepeeError) -> Failed:
    """A failure of ours as the outcome of a call, in the words the call itself would have been answered with."""
    match error:
        case ClientFault(code=code, message=message, data=data):
            return Failed(code, message, None if data is None else to_raw(data))
        case BackendFault():
            return Failed(_INTERNAL_ERROR, str(error), to_raw(error.told()))
        case LimitReached():
            data = {"reason": "limit", "what": error.what, "limit": error.limit}
            return Failed(_INTERNAL_ERROR, str(error), to_raw(data))
    return Failed(_INTERNAL_ERROR, str(error))
