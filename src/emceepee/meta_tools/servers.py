"""Servers: adding, removing, and how each of them stands.

The one rule: a server that could not be reached leaves no trace (X-BUG-45): what was there before `add_server` is there
again after it failed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from emceepee.backends.definition import Launch, ServerDefinition, StdioLaunch, http_endpoint
from emceepee.backends.registry import Entry
from emceepee.errors import BackendFault, BackendTimeout, ClientFault, LimitReached
from emceepee.meta_tools.answers import EXECUTION_FAILED, TIMED_OUT, ToolExecutionError, answer
from emceepee.meta_tools.arguments import INVALID_ARGUMENTS
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.standing import in_brief, in_full
from emceepee.meta_tools.tool import Arguments, Asked, Param, make_tool
from emceepee.meta_tools.tools import summary
from emceepee.relay.ports import Connection
from emceepee.relay.reach import unknown_server
from emceepee.vocabulary.names import Scope, ServerName, scope_label
from emceepee.vocabulary.outcomes import Done

_MAX_SHOWN_TOOLS = 50


# -- adding


async def _add_server(desk: Desk, asked: Asked) -> Done:
    async with desk.turn(asked.arguments["name"]):
        # What another add_server of this name has not reached yet is nothing to go back to.
        definition, added, connection = await _reached(desk, asked)
    name = definition.name
    if added != "same":
        desk.middle.news.added(name, definition.address, asked.scope, replaced=added == "updated")
    return answer({"name": name, "result": added} | await welcome(desk, asked.scope, name, connection))


async def _reached(desk: Desk, asked: Asked) -> tuple[ServerDefinition, str, Connection]:
    definition = _definition(desk, asked.arguments)
    registry, name = desk.middle.registry, definition.name
    previous = registry.get(name)
    if previous is not None and previous != definition and registry.refusal(definition) is None:
        # Replacing a server ends the calls to it, everybody's: not for one that cannot be reached.
        try:
            await desk.middle.pool.try_out(definition)
        except BackendFault as fault:
            raise _unreachable(name, fault, previous, "updated") from fault
    try:
        added = registry.add(definition, asked.scope)
    except ClientFault as fault:
        raise _refused(fault) from fault
    try:
        return definition, added, await desk.middle.reach.connection(name, asked.scope)
    except (BackendFault, ClientFault, LimitReached) as fault:
        _take_back(desk, definition, previous, asked.scope)
        raise _unreachable(name, fault, previous, added) from fault
    except BaseException:
        _take_back(desk, definition, previous, asked.scope)
        raise


def _definition(desk: Desk, arguments: Arguments) -> ServerDefinition:
    name = arguments["name"]
    url, command = arguments.get("url"), arguments.get("command")
    if url is not None and command is None:
        launch: Launch = http_endpoint(url, tuple(arguments.get("headers", {}).items()))
    elif command is not None and url is None:
        env = arguments.get("env", {})
        launch = StdioLaunch(command, tuple(arguments.get("args", ())), env, arguments.get("cwd"))
    else:
        raise ToolExecutionError(
            INVALID_ARGUMENTS,
            "add_server takes either 'url' or 'command'",
            {"field": "url"},
            "Send 'url' for a remote server, or 'command' with 'args' for a local program.",
        )
    known = desk.middle.registry.get(name)
    if known is not None:
        return replace(known, launch=launch, disabled=False)
    return ServerDefinition(name, launch)


def _take_back(desk: Desk, definition: ServerDefinition, previous: ServerDefinition | None, scope: Scope) -> None:
    """Unless somebody else changed it again meanwhile: then it is theirs."""
    registry = desk.middle.registry
    if previous == definition or registry.get(definition.name) != definition:
        return
    if previous is None:
        registry.remove(definition.name, scope)
    else:
        registry.add(previous, scope)


def _refused(fault: ClientFault) -> ToolExecutionError:
    place = fault.data.get("field", "url") if isinstance(fault.data, dict) else "url"
    field = place.partition(".")[0].partition("[")[0]
    return ToolExecutionError(INVALID_ARGUMENTS, fault.message, {"field": field}, f"Correct '{field}' and try again.")


def _unreachable(
    name: ServerName, fault: Exception, previous: ServerDefinition | None, added: str
) -> ToolExecutionError:
    code = TIMED_OUT if isinstance(fault, BackendTimeout) else EXECUTION_FAILED
    left = "it was not added" if previous is None else "its former definition is kept"
    left = "it is still configured" if added == "same" else left
    why = fault.detail if isinstance(fault, BackendFault) else str(fault)
    details = {"serverName": name, "error": why}
    if isinstance(fault, BackendFault):
        details["reason"] = fault.reason
    return ToolExecutionError(
        code,
        f"Could not connect to server '{name}': {why}; {left}",
        details,
        "Check url or command, that the server runs, and its headers or env; then call add_server again.",
    )


async def welcome(desk: Desk, scope: Scope, name: ServerName, connection: Connection) -> dict[str, Any]:
    """What a model wants to know of a server that it just reached."""
    about = connection.about
    shown = await desk.middle.listing.get(name, scope, "tools", desk.middle.settings.list_timeout)
    items = shown.listed.items if shown.listed is not None else ()
    said: dict[str, Any] = {
        "status": "connected",
        "capabilities": about.capabilities,
        "tools": [summary(item) for item in items[:_MAX_SHOWN_TOOLS]],
        "toolCount": len(items),
    }
    if about.instructions:
        said["instructions"] = about.instructions
    if shown.why is not None:
        said["why"] = shown.why
    return said | {"next": f"Call list_tools with server '{name}' for schemas, then execute_tool."}


# -- removing


async def _remove_server(desk: Desk, asked: Asked) -> Done:
    name = asked.arguments["name"]
    registry = desk.middle.registry
    if not registry.remove(name, asked.scope):
        raise unknown_server(name, [known.name for known in registry.list()])
    desk.middle.news.removed(name, scope_label(asked.scope))
    closed = await desk.middle.reach.ended(name)
    message = "Server removed" if closed else "Server removed; a connection to it is still closing"
    return answer({"success": True, "name": name, "message": message})


# -- looking


async def _list_servers(desk: Desk, asked: Asked) -> Done:
    entries = desk.middle.registry.entries()
    servers = [_line(desk, asked.scope, entry) for entry in entries]
    said: dict[str, Any] = {"servers": servers}
    if not servers:
        said["next"] = "Call add_server with a name and a url or command."
    return answer(said)


def _line(desk: Desk, scope: Scope, entry: Entry) -> dict[str, Any]:
    definition = entry.definition
    status = desk.middle.pool.status(definition.name, scope)
    line: dict[str, Any] = {
        "name": definition.name,
        "url": definition.address,
        "connected": status.state == "connected",
        "status": status.state,
        "connectedAt": status.connected_at,
        "lastError": status.last_error,
        "transport": definition.describe()["transport"],
    }
    if definition.disabled:
        line["disabled"] = True
    if status.revision:
        line["protocolVersion"] = status.revision
    listed = desk.middle.listing.known(definition.name, scope, "tools")
    if listed is not None:
        line["toolCount"] = len(listed.items)
    workspace = desk.middle.workspaces.find(scope)
    working = 0 if workspace is None else len(workspace.tasks.working(definition.name))
    return line | in_brief(status, working)


async def _get_server_status(desk: Desk, asked: Asked) -> Done:
    name = asked.arguments["server"]
    entry = desk.middle.registry.entry(name)
    if entry is None:
        raise unknown_server(name, [known.name for known in desk.middle.registry.list()])
    said = _line(desk, asked.scope, entry) | entry.describe()
    if said["connected"]:
        about = (await desk.middle.reach.connection(name, asked.scope)).about
        said["capabilities"] = about.capabilities
        said |= {"serverInfo": about.server_info} if about.server_info is not None else {}
        said |= {"instructions": about.instructions} if about.instructions else {}
    said["mayAsk"] = sorted(desk.middle.asks.promised(name, asked.call, tools=True))
    working = desk.middle.workspaces.at(asked.scope).tasks.views(name)
    status = desk.middle.pool.status(name, asked.scope)
    said |= {"working_tasks": [task.brief() for task in working]}
    return answer(said | in_full(status, desk.middle.listing.standing(name, asked.scope)))


_NAME = {"name": Param("string", required=True, aliases=("server",))}
_SERVER = {"server": Param("string", required=True, aliases=("name",))}

TOOLS = (
    make_tool(
        "add_server",
        "Connect an MCP server by url or by command and share it with everybody. Then call list_tools.",
        _add_server,
        {
            "name": Param("string", "short; letters, digits, - and _", required=True),
            "url": Param("string", "http(s) URL of a remote server"),
            "headers": Param("string_map", "sent to url"),
            "command": Param("string", "program of a local server"),
            "args": Param("strings"),
            "env": Param("string_map"),
            "cwd": Param("string"),
        },
        idempotent=True,
    ),
    make_tool(
        "remove_server",
        "Disconnect a server for everybody and forget it; add_server brings it back.",
        _remove_server,
        _NAME,
        destroys=True,
    ),
    make_tool(
        "list_servers",
        "All servers and how each stands. Start here, then call list_tools.",
        _list_servers,
        {},
        reads_only=True,
        reaches_out=False,
        core=True,
    ),
    make_tool(
        "get_server_status",
        "One server in detail: connection, capabilities, instructions. If it failed: reconnect_server.",
        _get_server_status,
        _SERVER,
        reads_only=True,
        reaches_out=False,
    ),
)
