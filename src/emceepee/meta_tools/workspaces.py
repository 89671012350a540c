"""Workspaces by name: opening one, and closing it.

The one rule: a handle is all that it takes to come back to a workspace, from any client of the same principal.
"""

from __future__ import annotations

from emceepee.meta_tools.answers import answer
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.tool import WORKSPACE, Asked, Param, make_tool
from emceepee.vocabulary.outcomes import Done

GIVES_PLACES = frozenset(("open_workspace", "close_workspace"))
"""What works without a workspace to work in."""


async def _open_workspace(desk: Desk, asked: Asked) -> Done:
    workspaces = desk.middle.workspaces
    principal = asked.call.caller.principal
    opened = workspaces.open(principal)
    opened.by_tools, handle = True, opened.scope
    idle_ms = round(workspaces.named_idle_limit(principal) * 1000)
    return answer({"workspace": handle, "idleMs": idle_ms, "next": f"Send it as '{WORKSPACE}' with every call."})


async def _close_workspace(desk: Desk, asked: Asked) -> Done:
    handle = desk.middle.workspaces.scope_of(asked.arguments[WORKSPACE], asked.call.caller.principal)
    working = len(desk.middle.workspaces.at(handle).tasks.views())
    await desk.middle.forget(handle)
    return answer({"success": True, WORKSPACE: handle, "cancelled_tasks": working})


TOOLS = (
    make_tool(
        "open_workspace",
        "A place of your own: events, tasks and server sessions apart from others'. Then send its id as `workspace` "
        "with execute_tool and all others.",
        _open_workspace,
        {},
        reaches_out=False,
    ),
    make_tool(
        "close_workspace",
        "End a workspace of open_workspace: its tasks and server sessions too.",
        _close_workspace,
        {WORKSPACE: Param("string", required=True)},
        destroys=True,
    ),
)
