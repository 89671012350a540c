"""Tasks, the calls that went on when nobody waited any more: which there are, how they stand, what came out of them.

The one rule: a result that is fetched is the server's own, as `execute_tool` would have given it.
"""

from __future__ import annotations

from typing import Any

from emceepee.meta_tools.answers import EXECUTION_FAILED, ToolExecutionError, answer
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.tool import Asked, Param, make_tool
from emceepee.sessions.workspace import Workspace
from emceepee.state.tasks import TERMINAL, TaskView
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import Payload

_STATUSES = ("working", *TERMINAL)
_MOST_WAIT_MS = 3_600_000


def _workspace(desk: Desk, asked: Asked) -> Workspace:
    return desk.middle.workspaces.at(asked.scope)


def _holding(desk: Desk, asked: Asked) -> Workspace:
    """His own, unless it is a task that an earlier run of the gateway left."""
    workspaces, here = desk.middle.workspaces, _workspace(desk, asked)
    return workspaces.holding(asked.arguments["task_id"], here, asked.call.caller.principal)


async def _list_tasks(desk: Desk, asked: Asked) -> Done:
    arguments = asked.arguments
    status = arguments.get("status")
    finished = arguments.get("include_completed", False) or status in TERMINAL
    views = _workspace(desk, asked).tasks.views(arguments.get("server"), finished)
    shown = [view.shown() for view in views if status in (None, view.status)]
    return answer({"tasks": shown})


async def _get_task(desk: Desk, asked: Asked) -> Done:
    workspace = _holding(desk, asked)
    task = workspace.tasks.get(asked.arguments["task_id"])
    pending = [ask.reminder() for ask in workspace.asks.open("elicitation", task.server)]
    said: dict[str, Any] = {"task": task.shown(), "pending_elicitations": pending}
    return answer(said | {"next": _next_step(task, bool(pending))})


def _next_step(task: TaskView, asks: bool) -> str:
    if not task.working:
        return "Call get_task_result."
    return "Call respond_to_elicitation." if asks else "Call await_activity."


async def _get_task_result(desk: Desk, asked: Asked) -> Done:
    workspace, task_id = _holding(desk, asked), asked.arguments["task_id"]
    patience = min(asked.arguments.get("timeout_ms", 0), desk.middle.settings.max_await_ms) / 1000
    task = await _ended(workspace, task_id, patience)
    if task.working:
        return answer({"task": task.shown(), "next": "Still working; call await_activity."})
    if task.result is not None:
        return Done(Payload(raw=task.result))
    raise ToolExecutionError(
        EXECUTION_FAILED,
        f"Task '{task.id}' {task.status}: {task.error or 'it has no result'}",
        {"task": task.shown()},
        "Call execute_tool again if it is safe to do it twice.",
    )


async def _ended(workspace: Workspace, task_id: str, seconds: float) -> TaskView:
    """The task once it has ended, or as it stands when the time is over. Every end is an event, so that wakes us."""
    clock = workspace.clock
    until = clock.now() + seconds
    while True:
        seen = workspace.events.sequence
        task = workspace.tasks.get(task_id)
        if not task.working or not await workspace.waiters.past(seen, until - clock.now()):
            return workspace.tasks.get(task_id)


async def _cancel_task(desk: Desk, asked: Asked) -> Done:
    workspace, task_id = _holding(desk, asked), asked.arguments["task_id"]
    before = workspace.tasks.get(task_id)
    cancelled = workspace.tasks.cancel(task_id, workspace.now())
    message = "Task cancelled" if cancelled else f"Task had already ended (current: {before.status})"
    return answer({"success": cancelled, "message": message, "task": workspace.tasks.get(task_id).shown()})


_TASK_ID = Param("string", required=True)

TOOLS = (
    make_tool(
        "list_tasks",
        "Calls that go on in the background. Then await_activity, or get_task_result of an ended one.",
        _list_tasks,
        {
            "server": Param("string", "only this server's"),
            "status": Param("string", among=_STATUSES),
            "include_completed": Param("boolean", "ended ones too"),
        },
        reads_only=True,
        reaches_out=False,
    ),
    make_tool(
        "get_task",
        "How one task stands, and what it waits for; the answer names the next call.",
        _get_task,
        {"task_id": _TASK_ID},
        reads_only=True,
        reaches_out=False,
    ),
    make_tool(
        "get_task_result",
        "The result of a task, as execute_tool would have given it. Not there yet: await_activity.",
        _get_task_result,
        {
            "task_id": _TASK_ID,
            "timeout_ms": Param("integer", "wait this long for it; default 0", least=0, most=_MOST_WAIT_MS),
        },
        reads_only=True,
        reaches_out=False,
        core=True,
    ),
    make_tool(
        "cancel_task",
        "End a task that await_activity need not wait for; its server is told.",
        _cancel_task,
        {"task_id": _TASK_ID},
        destroys=True,
        core=True,
    ),
)
