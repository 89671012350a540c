"""The server `demo`, in this process: something to call when no other server is configured.

It is a plain MCP server of revision 2025-11-25, with one of everything: tools (an answer, a structured answer, a slow
one with progress which can be cancelled), a resource, a template, a prompt with completion, log lines. Each connection
has a `DemoServer` of its own. It has no way into the gateway and gets none: what it can do, any server can.

The one rule: it is right where examples are copied from; what it answers passes the official validators.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias
from urllib.parse import unquote

from emceepee import __version__
from emceepee.backends.in_memory import Channel, Say
from emceepee.errors import ClientFault
from emceepee.protocol.messages import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Message,
    Request,
    write_failure,
    write_notification,
    write_result,
)
from emceepee.runtime.clock import Clock
from emceepee.vocabulary.names import LOG_LEVELS, LogLevel, at_least
from emceepee.vocabulary.raw_json import read_value, write

NAME = "demo"
REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
RESOURCE_NOT_FOUND = -32002
MOST_STEPS = 1000
MOST_SECONDS = 60.0

Json: TypeAlias = dict[str, Any]

ABOUT = """# demo

This server runs inside emceepee, so that there is something to call before a server is configured.
Tools: `echo`, `add`, `countdown`. Template: `demo://greeting/{name}`. Prompt: `introduce`.
"""

TOOLS: list[Json] = [
    {
        "name": "echo",
        "title": "Echo",
        "description": "Returns the text it was given.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "What to return"}},
            "required": ["text"],
        },
        "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
    },
    {
        "name": "add",
        "title": "Add two numbers",
        "description": "Returns the sum of two numbers, as text and as structured content.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
        "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]},
        "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
    },
    {
        "name": "countdown",
        "title": "Count down",
        "description": "Counts down step by step and reports progress. Try to cancel it.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "steps": {"type": "integer", "minimum": 1, "maximum": MOST_STEPS, "default": 5},
                "seconds": {"type": "number", "minimum": 0, "maximum": MOST_SECONDS, "default": 1},
            },
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
]

RESOURCES: list[Json] = [
    {"uri": "demo://about", "name": "about", "title": "About this server", "mimeType": "text/markdown"}
]

TEMPLATES: list[Json] = [
    {
        "uriTemplate": "demo://greeting/{name}",
        "name": "greeting",
        "title": "A greeting",
        "description": "Greets whoever is named.",
        "mimeType": "text/plain",
    }
]

TONES = ("formal", "friendly", "brief", "poetic")

PROMPTS: list[Json] = [
    {
        "name": "introduce",
        "title": "Introduce somebody",
        "description": "Asks for a short introduction of a person.",
        "arguments": [
            {"name": "name", "description": "Who is introduced", "required": True},
            {"name": "tone", "description": f"One of {', '.join(TONES)}", "required": False},
        ],
    }
]

CAPABILITIES: Json = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {}}


class Turn:
    """One request being answered: its parameters, and what may be told meanwhile."""

    def __init__(self, server: DemoServer, params: Json, say: Say) -> None:
        self.params = params
        self._server = server
        self._say = say
        meta = params.get("_meta")
        self._token = meta.get("progressToken") if isinstance(meta, dict) else None

    def progress(self, done: int, total: int, message: str) -> None:
        if self._token is not None:
            params = {"progressToken": self._token, "progress": done, "total": total, "message": message}
            self._say(write_notification("notifications/progress", write(params)))

    def log(self, level: LogLevel, data: Any) -> None:
        if at_least(level, self._server.level):
            params = {"level": level, "logger": NAME, "data": data}
            self._say(write_notification("notifications/message", write(params)))

    def argument(self, name: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        """An argument of the tool that is called. Raises `WrongArgument`."""
        arguments = self.params.get("arguments") or {}
        value = arguments.get(name, default) if isinstance(arguments, dict) else None
        if isinstance(value, bool) or not isinstance(value, kind):
            raise WrongArgument(f"'{name}' is missing or of the wrong type")
        return value

    def text_param(self, name: str) -> str:
        value = self.params.get(name)
        if not isinstance(value, str):
            raise ClientFault(INVALID_PARAMS, f"'{name}' must be a string")
        return value


class WrongArgument(ValueError):
    """The model called a tool wrongly: told in a result, so that the model sees it and can mend it."""


class DemoServer:
    """Implements `in_memory.InProcessServer`."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.level: LogLevel = "info"

    def opened(self, channel: Channel) -> None:
        """It never says anything unasked."""

    def closed(self) -> None:
        """It keeps nothing that would have to go."""

    async def handle(self, message: Message, say: Say) -> None:
        if not isinstance(message, Request):
            return
        try:
            say(write_result(message.id, write(await self._answer(message, say))))
        except ClientFault as fault:
            say(write_failure(message.id, fault.code, fault.message, fault.data))

    async def _answer(self, request: Request, say: Say) -> Json:
        method = METHODS.get(request.method)
        if method is None:
            raise ClientFault(METHOD_NOT_FOUND, f"Method not found: {request.method}")
        params = read_value(request.params) if request.params is not None else {}
        return await method(self, Turn(self, params, say))


# --- methods


async def _initialize(server: DemoServer, turn: Turn) -> Json:
    asked = turn.params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in REVISIONS else REVISIONS[0],
        "capabilities": CAPABILITIES,
        "serverInfo": {"name": NAME, "title": "emceepee demo", "version": __version__},
        "instructions": "A server to try things with: echo, add, countdown.",
    }


async def _ping(server: DemoServer, turn: Turn) -> Json:
    return {}


async def _set_level(server: DemoServer, turn: Turn) -> Json:
    level = turn.params.get("level")
    if level not in LOG_LEVELS:
        raise ClientFault(INVALID_PARAMS, f"'level' must be one of {', '.join(LOG_LEVELS)}")
    server.level = level
    return {}


def _list(key: str, entries: list[Json]) -> Method:
    async def listed(server: DemoServer, turn: Turn) -> Json:
        if turn.params.get("cursor") is not None:
            raise ClientFault(INVALID_PARAMS, "Unknown cursor: everything is on the first page")
        return {key: entries}

    return listed


async def _read(server: DemoServer, turn: Turn) -> Json:
    uri = turn.text_param("uri")
    if uri == "demo://about":
        return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": ABOUT}]}
    prefix, _, name = uri.rpartition("/")
    if prefix == "demo://greeting" and name:
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": f"Hello, {unquote(name)}!"}]}
    raise ClientFault(RESOURCE_NOT_FOUND, f"Resource not found: {uri}", {"uri": uri})


async def _get_prompt(server: DemoServer, turn: Turn) -> Json:
    name = turn.text_param("name")
    if name != "introduce":
        raise ClientFault(INVALID_PARAMS, f"Unknown prompt: {name}")
    arguments = turn.params.get("arguments") or {}
    who = arguments.get("name") if isinstance(arguments, dict) else None
    if not isinstance(who, str) or not who:
        raise ClientFault(INVALID_PARAMS, "The prompt 'introduce' needs the argument 'name'")
    text = f"Introduce {who} in three sentences. The tone is {arguments.get('tone') or 'friendly'}."
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": f"Introduces {who}", "messages": [message]}


async def _complete(server: DemoServer, turn: Turn) -> Json:
    match turn.params:
        case {
            "ref": {"type": "ref/prompt", "name": "introduce"},
            "argument": {"name": "tone", "value": str(begun)},
        }:
            values = [tone for tone in TONES if tone.startswith(begun)]
        case {"ref": {"type": "ref/prompt" | "ref/resource"}, "argument": {"name": str(), "value": str()}}:
            values = []
        case _:
            raise ClientFault(INVALID_PARAMS, "'ref' and 'argument' must name what is completed")
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}


async def _call(server: DemoServer, turn: Turn) -> Json:
    name = turn.text_param("name")
    tool = CALLS.get(name)
    if tool is None:
        raise ClientFault(INVALID_PARAMS, f"Unknown tool: {name}")
    try:
        return await tool(server, turn)
    except WrongArgument as problem:
        return {"content": [{"type": "text", "text": str(problem)}], "isError": True}


# --- tools


async def _echo(server: DemoServer, turn: Turn) -> Json:
    text = turn.argument("text", str)
    turn.log("debug", f"echo of {len(text)} characters")
    return {"content": [{"type": "text", "text": text}]}


async def _add(server: DemoServer, turn: Turn) -> Json:
    total = turn.argument("a", (int, float)) + turn.argument("b", (int, float))
    if not math.isfinite(total) or abs(total) >= 2**63:
        raise WrongArgument("the sum is too large")
    return {"content": [{"type": "text", "text": str(total)}], "structuredContent": {"sum": total}}


async def _countdown(server: DemoServer, turn: Turn) -> Json:
    steps = turn.argument("steps", int, 5)
    seconds = turn.argument("seconds", (int, float), 1)
    if not 1 <= steps <= MOST_STEPS or not 0 <= seconds <= MOST_SECONDS:
        raise WrongArgument(f"'steps' is from 1 to {MOST_STEPS}, 'seconds' from 0 to {MOST_SECONDS:g}")
    turn.log("info", f"counting down from {steps}")
    for step in range(1, steps + 1):
        await server.clock.sleep(seconds)
        turn.progress(step, steps, f"{steps - step} to go")
    return {"content": [{"type": "text", "text": f"Counted down from {steps}."}]}


Method: TypeAlias = Callable[[DemoServer, Turn], Awaitable[Json]]

CALLS: dict[str, Method] = {"echo": _echo, "add": _add, "countdown": _countdown}

METHODS: dict[str, Method] = {
    "initialize": _initialize,
    "ping": _ping,
    "logging/setLevel": _set_level,
    "tools/list": _list("tools", TOOLS),
    "tools/call": _call,
    "resources/list": _list("resources", RESOURCES),
    "resources/templates/list": _list("resourceTemplates", TEMPLATES),
    "resources/read": _read,
    "prompts/list": _list("prompts", PROMPTS),
    "prompts/get": _get_prompt,
    "completion/complete": _complete,
}
