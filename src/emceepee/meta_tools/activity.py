"""`await_activity`: everything new, or wait for it.

The one rule: whoever wakes to find that another was faster goes on waiting for the time that is left (X-BUG-07); what
was taken is in this answer or, if that is lost, in the next one.
"""

from __future__ import annotations

from typing import Any

from emceepee.meta_tools.answers import ToolExecutionError, answer
from emceepee.meta_tools.arguments import INVALID_ARGUMENTS
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.news_blocks import Handover
from emceepee.meta_tools.tool import Asked, Param, make_tool
from emceepee.sessions.workspace import Workspace
from emceepee.state.events import EVENT_TYPES, Event, Lease, Wanted
from emceepee.state.tasks import TaskView
from emceepee.vocabulary.outcomes import Done

_DEFAULT_MS = 30_000
_MOST_MS = 3_600_000


async def _await_activity(desk: Desk, asked: Asked) -> Done:
    workspace = desk.middle.workspaces.at(asked.scope)
    arguments = asked.arguments
    wanted = _wanted(arguments.get("server"), arguments.get("event_types"))
    # Many clients give up at 60 s; an answer that they hear is worth more than a wait that they asked for.
    patience = min(arguments.get("timeout_ms", _DEFAULT_MS), desk.middle.settings.max_await_ms) / 1000
    lease, known = _first(workspace, wanted, arguments.get("since_event_id"))
    triggers = [{"type": "immediate"}, *_lost(lease.events)]
    if not lease:
        lease = await _next(workspace, wanted, patience)
        triggers = _triggers(lease.events) if lease else [{"type": "timeout"}]
    said = {"triggers": triggers} | _told(workspace, lease)
    if not known:
        said["cursor_not_found"] = True
    done = answer(said)
    done.delivery = Handover(workspace, lease, None)
    return done


def _first(workspace: Workspace, wanted: Wanted | None, cursor: str | None) -> tuple[Lease, bool]:
    if cursor is None:
        return workspace.lease(wanted), True
    return workspace.events.lease_since(cursor, wanted)


async def _next(workspace: Workspace, wanted: Wanted | None, seconds: float) -> Lease:
    """The next that is wanted, or an empty lease when the time is over."""
    clock = workspace.clock
    until = clock.now() + seconds
    while True:
        seen = workspace.events.sequence
        if not await workspace.waiters.past(seen, until - clock.now()):
            return workspace.lease(lambda event: False)
        lease = workspace.lease(wanted)
        if lease:
            return lease


def _wanted(server: str | None, kinds: list[str] | None) -> Wanted | None:
    if server is None and not kinds:
        return None
    if unknown := [kind for kind in kinds or () if kind not in EVENT_TYPES]:
        raise ToolExecutionError(
            INVALID_ARGUMENTS,
            f"Unknown event type '{unknown[0][:80]}'",
            {"field": "event_types"},
            f"Event types are {', '.join(EVENT_TYPES)}.",
        )
    return lambda event: (server is None or event.server == server) and (not kinds or event.type in kinds)


def _triggers(events: list[Event]) -> list[dict[str, str]]:
    """Of all that happened, not of what happened first (X-BUG-09)."""
    kinds = {(event.server, event.type): None for event in events if event.type != "server_disconnected"}
    return [
        *({"type": "event", "server": server, "eventType": kind} for server, kind in kinds),
        *_lost(events),
    ]


def _lost(events: list[Event]) -> list[dict[str, str]]:
    servers = {event.server: None for event in events if event.type == "server_disconnected"}
    return [{"type": "server_disconnected", "server": server} for server in servers]


def _told(workspace: Workspace, lease: Lease) -> dict[str, Any]:
    events: dict[str, list[dict[str, Any]]] = {}
    for event in lease.events:
        shown = event.shown()
        del shown["server"]
        events.setdefault(event.server, []).append(shown)
    newest = lease.events[-1].id if lease.events else workspace.events.given_id
    nothing: dict[str, Any] = {"elicitations": [], "sampling_requests": []}
    said: dict[str, Any] = {
        "events": [{"server": server, "events": of_server} for server, of_server in events.items()],
        "pending_server": pending_server(workspace.tasks.views()),
        "pending_client": workspace.asks.reminders() or nothing,
        "lastEventId": newest,
    }
    return said if lease.gap is None else said | {"events_dropped": lease.gap.shown()}


def pending_server(working: list[TaskView]) -> list[dict[str, Any]]:
    """By tasks, not by connections: a server that is not connected may still owe one (X-BUG-11)."""
    by_server: dict[str, list[dict[str, Any]]] = {}
    for task in working:
        by_server.setdefault(task.server, []).append(task.brief())
    return [{"server": server, "working_tasks": tasks} for server, tasks in by_server.items()]


TOOLS = (
    make_tool(
        "await_activity",
        "Everything new since your last answer, or wait for it: finished tasks, questions, notifications, server "
        "changes. Call it while tasks run; then get_task_result.",
        _await_activity,
        {
            "timeout_ms": Param("integer", "default 30000; waits at most 50 s", least=0, most=_MOST_MS),
            "since_event_id": Param("string", "lastEventId of an earlier answer: all after it again"),
            "server": Param("string", "wake only for this one"),
            "event_types": Param("strings", "wake only for these"),
        },
        reads_only=True,
        reaches_out=False,
        tells_all=True,
        core=True,
    ),
)
