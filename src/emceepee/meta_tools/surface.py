"""The meta-tools as a surface: a fixed list of tools, and each call of one to its handler.

The one rule: whatever goes wrong behind a tool is a result that says so (`isError`); only a tool that we do not have is
a protocol error.
"""

from __future__ import annotations

from msgspec import Raw
from msgspec.structs import replace

from emceepee.errors import ClientFault, EmceepeeError
from emceepee.meta_tools import diagrams
from emceepee.meta_tools.answers import SESSION_NOT_FOUND, ToolExecutionError, error_answer, tool_error
from emceepee.meta_tools.arguments import read_arguments
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.execution import EXECUTE_TOOL
from emceepee.meta_tools.execution_at_once import Execution
from emceepee.meta_tools.news_blocks import with_news
from emceepee.meta_tools.table import OFFERS
from emceepee.meta_tools.tool import WORKSPACE, Asked, Tool
from emceepee.meta_tools.workspaces import GIVES_PLACES
from emceepee.relay.middle import Middle
from emceepee.relay.pages import read_cursor
from emceepee.relay.reach import nearest
from emceepee.relay.settings import Profile
from emceepee.relay.surface import Description, Listener, OnEnd, OnNotice, Unknown
from emceepee.relay.task_room import TaskRoom
from emceepee.relay.transparent import unknown_method
from emceepee.relay.watch import Standing
from emceepee.runtime.waiting_line import WaitingLine
from emceepee.sessions.workspace import Workspace
from emceepee.state.events import Event
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.names import ANON, LogLevel, Scope, ServerName
from emceepee.vocabulary.notices import NOTHING, Interest, LogLine
from emceepee.vocabulary.outcomes import Begun, CacheHints, Done, Failed, Outcome
from emceepee.vocabulary.raw_json import Fields, Payload, read_text, to_raw
from emceepee.vocabulary.tasks import TAKE_TASKS, GoesOn

_INVALID_PARAMS = -32602
_METHOD_NOT_FOUND = -32601
_RESOURCE_NOT_FOUND = -32002

CAPABILITIES: Fields = {"tools": Raw(b"{}"), "resources": Raw(b"{}"), "logging": Raw(b"{}")}

_START = (
    "Reach any number of MCP servers through a fixed set of tools. list_servers shows the servers{adding}; list_tools "
    "finds tools (give `query` or `server`), execute_tool calls one. For the rest: {rest}. An error result names the "
    "next step."
)
INSTRUCTIONS: dict[Profile, str] = {
    "full": _START.format(
        adding=", add_server adds one", rest="list_resources, read_resource, list_prompts, get_prompt"
    ),
    "core": _START.format(adding="", rest="list_resources, read_resource"),
}

_FIXED = CacheHints(3_600_000, "public")
"""The list changes with the gateway's version only."""


_OWN_LISTS = {
    "resources/list": to_raw({"resources": [diagrams.LISTED]}),
    "resources/templates/list": to_raw({"resourceTemplates": []}),
}


def _read(uri: str | None) -> Outcome:
    if uri == diagrams.URI:
        return Done(Payload.of(diagrams.contents()), _FIXED)
    if uri is None:
        raise ClientFault(_INVALID_PARAMS, "Invalid params: 'uri' must be a string")
    said = f"Resource not found: {uri[:500]}; resources of servers are read with the tool read_resource"
    return Failed(_RESOURCE_NOT_FOUND, said, to_raw({"uri": uri[:500]}), "resource_not_found")


def _no_place() -> ToolExecutionError:
    said = "Nobody is known here, so nothing is kept for a client that does not say where"
    step = f"Call open_workspace, then send the id that it gives as '{WORKSPACE}' with this tool and all others."
    return ToolExecutionError(SESSION_NOT_FOUND, said, None, step)


class MetaSurface:
    def __init__(self, middle: Middle) -> None:
        self._middle = middle
        self._offer = OFFERS[middle.settings.profile]
        self._desk = Desk(middle, WaitingLine(middle.clock, middle.settings.execute_timeout_ms / 1000))

    @property
    def name(self) -> str:
        return "meta"

    async def describe(self, caller: Caller) -> Description:
        # Who arrives has a workspace from then on, so that nothing that happens next is missed.
        if caller.scope != ANON:
            self._workspace(caller.scope)
        return Description(CAPABILITIES, INSTRUCTIONS[self._middle.settings.profile])

    @property
    def tasks(self) -> TaskRoom:
        return self._middle.task_room

    async def carry(self, call: Call, on_notice: OnNotice | None) -> Outcome | GoesOn:
        if call.method == "tools/call":
            return await self._call_tool(call, on_notice)
        if call.method == "resources/read":
            return _read(read_text(call.params.get("uri")))
        payload = self._offer.payload if call.method == "tools/list" else _OWN_LISTS.get(call.method)
        if payload is None:
            raise unknown_method(call.method)
        if read_cursor(call.params) is not None:
            raise ClientFault(_INVALID_PARAMS, "Invalid cursor: this list has one page")
        return Done(Payload(raw=payload), _FIXED)

    def begin(self, call: Call, on_notice: OnNotice | None, ended: OnEnd) -> Begun | None:
        """A tool of a server, for somebody who waits as long as is usual; everything else goes the ordinary way."""
        if call.method != "tools/call" or call.tasks in TAKE_TASKS or call.ear is not None or call.caller.scope == ANON:
            return None
        tool = self._offer.tools.get(read_text(call.params.get("name")) or "")
        if tool is None or tool.name != EXECUTE_TOOL:
            return None
        workspace = self._workspace(call.caller.scope)
        arguments = read_arguments(tool, call.params.get("arguments"))
        if WORKSPACE in arguments or "timeout_ms" in arguments:
            return None
        execution = Execution(self._desk, Asked(arguments, call, on_notice), workspace, ended)
        return execution if execution.begin() else None

    def _workspace(self, scope: Scope) -> Workspace:
        workspace = self._middle.workspaces.at(scope)
        if not workspace.by_tools:
            workspace.by_tools = True
            self._middle.watch.wish_again(scope)
        return workspace

    async def _call_tool(self, call: Call, on_notice: OnNotice | None) -> Outcome | GoesOn:
        name = read_text(call.params.get("name"))
        tool = self._offer.tools.get(name or "")
        if tool is None:
            raise _unknown_tool(name, list(self._offer.tools))
        if call.tasks == "asks" and not tool.may_go_on:
            raise ClientFault(_METHOD_NOT_FOUND, f"Tool '{tool.name}' is never run as a task: call it without 'task'")
        if call.caller.scope == ANON:
            done = await self._answer_stranger(tool, call, on_notice)
            if done is not None:
                return done
        workspaces = self._middle.workspaces
        try:
            workspace = self._workspace(call.caller.scope)
        except EmceepeeError as error:
            return error_answer(tool_error(error, {}))
        if workspaces.inherits:
            workspaces.adopt(workspace)
        try:
            arguments = read_arguments(tool, call.params.get("arguments"))
            if WORKSPACE not in tool.params and (handle := arguments.pop(WORKSPACE, None)) is not None:
                call.caller = replace(call.caller, scope=workspaces.scope_of(handle, call.caller.principal))
                workspace = self._workspace(handle)
            done = await tool.handler(self._desk, Asked(arguments, call, on_notice))
        except EmceepeeError as error:
            done = error_answer(tool_error(error, {}))
        workspace.touch()
        if isinstance(done, GoesOn):
            return done
        return done if tool.tells_all else with_news(done, workspace)

    async def _answer_stranger(self, tool: Tool, call: Call, on_notice: OnNotice | None) -> Done | GoesOn | None:
        """Where nobody is known, nothing is kept for whoever does not say where. None when he did: then it is there
        that he calls."""
        workspaces = self._middle.workspaces
        try:
            arguments = read_arguments(tool, call.params.get("arguments"))
            if tool.name in GIVES_PLACES:
                return await tool.handler(self._desk, Asked(arguments, call, on_notice))
            if WORKSPACE not in arguments:
                raise _no_place()
            handle = arguments[WORKSPACE]
            call.caller = replace(call.caller, scope=workspaces.scope_of(handle, call.caller.principal))
        except EmceepeeError as error:
            return error_answer(tool_error(error, {}))
        return None

    def repeatable(self, call: Call) -> bool:
        tool = self._offer.tools.get(read_text(call.params.get("name")) or "")
        return tool is not None and (tool.reads_only or tool.idempotent)

    async def listen(self, caller: Caller, interest: Interest, on_notice: OnNotice) -> Listener:
        watch = self._middle.watch
        standing = Standing(watch, caller.scope, None, on_notice, _nobody)
        await watch.listen(standing, NOTHING)
        return _Hearing(standing, self._middle.workspaces.find(caller.scope))

    async def set_log_level(self, caller: Caller, level: LogLevel) -> None:
        await self._middle.watch.set_log_level(caller.scope, level)

    def schema_at_hand(self, caller: Caller, tool: str) -> Raw | Unknown | None:
        return self._offer.schemas.get(tool)

    async def input_schema(self, caller: Caller, tool: str) -> Raw | None:
        return self._offer.schemas.get(tool)

    async def roots_changed(self, caller: Caller) -> None:
        await self._middle.roots_changed(caller.scope)

    async def forget(self, scope: Scope) -> None:
        await self._middle.forget(scope)


class _Hearing:
    """A listener here hears log lines, and what happens in its workspace as more of them; our list never changes and
    there are no subscriptions."""

    def __init__(self, standing: Standing, workspace: Workspace | None) -> None:
        self._standing = standing
        self._workspace = workspace
        if workspace is not None:
            workspace.onlookers.append(self._tell)

    def _tell(self, event: Event) -> None:
        workspace = self._workspace
        if workspace is not None:
            said = {"level": to_raw("info"), "logger": to_raw("emceepee"), "data": to_raw(event.described())}
            self._standing.on_notice(LogLine("info", said, tells=lambda: workspace.mark_sent(event)))

    @property
    def honoured(self) -> Interest:
        return NOTHING

    async def change(self, interest: Interest) -> None:
        await self._standing.change(Interest(uris=interest.uris))

    async def close(self) -> None:
        workspace, self._workspace = self._workspace, None
        if workspace is not None and self._tell in workspace.onlookers:
            workspace.onlookers.remove(self._tell)
        await self._standing.close()


async def _nobody(uri: str) -> ServerName | None:
    return None


def _unknown_tool(name: str | None, known: list[str]) -> ClientFault:
    if name is None:
        return ClientFault(_INVALID_PARAMS, "Invalid params: 'name' must be a string")
    near = nearest(name, known)
    hint = f"; did you mean '{near}'?" if near else "; tools of servers are called with execute_tool"
    return ClientFault(_INVALID_PARAMS, f"Unknown tool: {name[:100]}{hint}")
