"""`execute_tool`: one tool of one server, its result as it came.

A call belongs to its workspace: when its time is over it goes on as a task, and is never made twice.

The one rule: what the server answered is passed on untouched (D9); only a refusal is looked into, and what we found out
comes beside the server's words, not instead of them.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from msgspec import Raw

from emceepee.errors import EmceepeeError
from emceepee.meta_tools.answers import (
    TOOL_NOT_FOUND,
    ToolExecutionError,
    answer,
    error_answer,
    refusal,
    text_block,
    tool_error,
)
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.explain import misfits
from emceepee.meta_tools.tool import Asked, Param, make_tool
from emceepee.relay.call import TOOLS_CALL
from emceepee.relay.job import Job
from emceepee.relay.ports import Connection
from emceepee.relay.reach import nearest
from emceepee.relay.settings import RelaySettings
from emceepee.sessions.workspace import Workspace
from emceepee.vocabulary.asks import AskProfile
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.outcomes import Done, Failed
from emceepee.vocabulary.raw_json import NotThatShape, read_items, to_raw, write
from emceepee.vocabulary.tasks import TAKE_TASKS, GoesOn

_log = logging.getLogger("emceepee.meta_tools")

EXECUTE_TOOL = "execute_tool"

_LONG = 30.0
"""From here on a call's own time-out is longer than any attempt to connect, which the pool limits by itself."""


async def _execute_tool(desk: Desk, asked: Asked) -> Done | GoesOn:
    server, tool = asked.arguments["server"], asked.arguments["tool"]
    terms = asked.call.tasks
    timeout_ms = _patience_ms(desk, asked)
    workspace = desk.middle.workspaces.at(asked.scope)
    ttl_ms = workspace.tasks.ttl(asked.call.task_ttl_ms or asked.arguments.get("task_ttl_ms"))
    try:
        call = onward(asked, desk.middle.asks.promised(server, asked.call, tools=True))
        connection, seconds = await _connection(desk, server, call, timeout_ms / 1000)
    except EmceepeeError as error:
        raise tool_error(error, about(server, tool)) from error
    job = Job(workspace, server, call, asked.on_notice, desk.middle.news.told)
    job.hear_asks(asked.call.asks, desk.middle.settings.coalesce)
    job.start(desk.middle.calls, connection, seconds)
    with desk.middle.asks.interrupting(job.call, job.interrupt):
        ended = await job.wait(seconds)
    if not ended:
        # The words of a protocol's task do not say yet what is asked; ours do.
        return job.goes_on(ttl_ms) if terms in TAKE_TASKS and not job.asked else promoted(workspace, job, ttl_ms)
    try:
        done = await answered(desk, asked, job)
    except EmceepeeError as error:
        done = error_answer(tool_error(error, about(server, tool), timeout_ms))
    except asyncio.CancelledError:
        job.called_off()
        raise
    done.delivery = job
    return done


def _patience_ms(desk: Desk, asked: Asked) -> int:
    settings, terms = desk.middle.settings, asked.call.tasks
    if terms == "asks":
        return 0
    usual = settings.execute_timeout_ms if terms != "takes" else round(settings.promote_after * 1000)
    patience: int = asked.arguments.get("timeout_ms", usual)
    return patience


def onward(asked: Asked, asks: AskProfile) -> Call:
    original = asked.call
    params = {"name": to_raw(asked.arguments["tool"])}
    given = asked.arguments.get("args")
    if given is not None:
        params["arguments"] = given
    call = Call(TOOLS_CALL, params, original.caller, original.meta, original.wants_progress, original.log_level)
    call.asks, call.untold, call.ear = asks, original.untold, original.ear
    if original.tasks in TAKE_TASKS:
        call.tasks, call.task_ttl_ms = original.tasks, original.task_ttl_ms
    return call


async def answered(desk: Desk, asked: Asked, job: Job) -> Done:
    outcome = job.answer()
    if isinstance(outcome, Failed):
        raise await _explained(desk, asked, refusal(outcome, about(job.server, asked.arguments["tool"])))
    if not outcome.payload.may_have("isError"):
        return outcome
    return await _beside_an_error(desk, asked, outcome)


NOTE = "Showing pending state for server '{}' only. Use await_activity for all servers."


ANSWER_FIRST = (
    "The server asks something before it goes on: see pending_client_action, answer with respond_to_elicitation or "
    "respond_to_sampling, then get_task_result with timeout_ms."
)


def promoted(workspace: Workspace, job: Job, ttl_ms: int) -> Done:
    """The call goes on, as a task."""
    try:
        task = job.promote(ttl_ms)
    except EmceepeeError:
        # Nobody could ever ask for its answer.
        job.stop()
        raise
    data = {"server": job.server, "tool": task.tool, "taskId": task.id}
    _log.info("tool_execution_asked" if job.asked else "tool_execution_timeout", extra={"data": data})
    working = [one.brief() for one in workspace.tasks.views(job.server)]
    asked = {"timeout": False, "input_required": True} if job.asked else {"timeout": True}
    return answer(
        asked
        | {
            "task": task.shown(),
            "server_pending": {"server": job.server, "working_tasks": working},
            "note": NOTE.format(job.server),
        }
        | ({"next": ANSWER_FIRST} if job.asked else {})
    )


async def _connection(desk: Desk, server: str, call: Call, seconds: float) -> tuple[Connection, float]:
    """Within the call's own time, and what of it is left. Whoever will not wait at all still wants it begun."""
    reach, scope = desk.middle.reach, call.caller.scope
    if seconds >= _LONG or seconds == 0:
        return await reach.connection(server, scope, call.session_asks, call), seconds
    began = desk.middle.clock.now()
    connection = await reach.connection_within(server, scope, seconds, call.session_asks)
    return connection, max(0.0, seconds - (desk.middle.clock.now() - began))


def about(server: str, tool: str) -> dict[str, Any]:
    return {"serverName": server, "toolName": tool}


# -- explaining


async def _explained(desk: Desk, asked: Asked, error: ToolExecutionError) -> ToolExecutionError:
    """The server refused with an error of its own: was it the tool, or the arguments?"""
    missing = await _not_found(desk, asked)
    if missing is not None:
        return missing
    problems = _misfits(desk, asked)
    if not problems:
        return error
    return ToolExecutionError(error.code, error.message, (error.details or {}) | {"arguments": problems}, _CURE)


_CURE = "Correct the arguments and call execute_tool again; list_tools with server and detail 'full' has the schema."


async def _beside_an_error(desk: Desk, asked: Asked, outcome: Done) -> Done:
    if outcome.payload.get("isError") != Raw(b"true"):
        return outcome
    blocks = _blocks(outcome)
    missing = await _not_found(desk, asked)
    if missing is not None:
        return error_answer(missing, blocks)
    problems = _misfits(desk, asked)
    if not problems:
        return outcome
    hint = text_block(write({"hint": {"arguments": problems, "next": _CURE}}))
    return Done(outcome.payload.changed({"content": [*blocks, hint]}))


def _blocks(outcome: Done) -> list[Raw]:
    try:
        return read_items(outcome.payload.get("content") or b"[]")
    except NotThatShape:
        return []


async def _not_found(desk: Desk, asked: Asked) -> ToolExecutionError | None:
    """An error if the server's own list has no such tool; None when it has, or cannot be asked."""
    server, tool = asked.arguments["server"], asked.arguments["tool"]
    middle = desk.middle
    if middle.listing.facts(server, asked.scope, tool) is not None:
        return None
    shown = await middle.listing.get(server, asked.scope, "tools", middle.settings.listing_budget)
    if shown.state != "fresh" or shown.listed is None or shown.listed.truncated or tool in shown.listed.index():
        return None
    names = list(shown.listed.index())
    near = nearest(tool, names[:5000])
    hint = f"; did you mean '{near}'?" if near else ""
    return ToolExecutionError(
        TOOL_NOT_FOUND,
        f"Tool '{tool}' not found on server '{server}'{hint}",
        about(server, tool) | {"known": names[:20]},
        f"Call list_tools with server '{server}'.",
    )


def _misfits(desk: Desk, asked: Asked) -> list[str]:
    facts = desk.middle.listing.facts(asked.arguments["server"], asked.scope, asked.arguments["tool"])
    return misfits(facts.input_schema, asked.arguments.get("args")) if facts is not None else []


TOOLS = (
    make_tool(
        EXECUTE_TOOL,
        "Call one tool of one server; its result comes back unchanged, or a taskId if it takes longer than timeout_ms: "
        "then await_activity, then get_task_result.",
        _execute_tool,
        {
            "server": Param("string", required=True),
            "tool": Param("string", "as list_tools names it", required=True, aliases=("tool_name", "toolName")),
            "args": Param("object", "the tool's arguments", aliases=("arguments",)),
            "timeout_ms": Param(
                "integer",
                "default 120000; then it goes on as a task",
                least=0,
                most=RelaySettings().max_execute_timeout_ms,
            ),
            "task_ttl_ms": Param("integer", "how long that task may run; default 300000", least=1),
        },
        destroys=True,
        core=True,
        may_go_on=True,
    ),
)
