"""One client's connection to a local server: requests in, answers and questions out. A server of revision 2025-11-25.

The one rule: whatever a function does, its call is answered once: its result, or an error that the model can read; what
went wrong inside is logged and never sent.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from emceepee.backends.in_memory import Channel, Say
from emceepee.errors import ClientFault
from emceepee.protocol.messages import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Message,
    Notification,
    Request,
    write_failure,
    write_notification,
    write_result,
)
from emceepee.sampling.content import Json
from emceepee.tools.abilities import ClientAbilities
from emceepee.tools.clients import ElicitationClient, Line, RootsClient, SamplingClient
from emceepee.tools.context import Elicitor, Log, ProgressSender, Sampler, ToolContext
from emceepee.tools.faults import AskFailed, ToolError
from emceepee.tools.local_server import LocalServer
from emceepee.tools.outgoing import Outgoing
from emceepee.vocabulary.names import LOG_LEVELS, LogLevel, at_least
from emceepee.vocabulary.raw_json import NotThatShape, read_value, write

_log = logging.getLogger("emceepee.tools")

REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
RESOURCE_NOT_FOUND = -32002
ROOTS_CHANGED = "notifications/roots/list_changed"


class LocalConversation:
    """Implements `backends.in_memory.InProcessServer`."""

    def __init__(self, server: LocalServer) -> None:
        self.server = server
        self.session_id = server.ids.secret()
        self.outgoing = Outgoing(server.clock)
        self.abilities = ClientAbilities()
        self.level: LogLevel = "info"
        self._beside: Say = _nobody

    def opened(self, channel: Channel) -> None:
        """Outside of a call it asks for roots only, because those are the client's and not a call's."""
        self._beside = channel.say

    def closed(self) -> None:
        """Whoever waits for an answer hears at once that none will come."""
        self.outgoing.close("the client is gone")

    async def handle(self, message: Message, say: Say) -> None:
        if not isinstance(message, Request):
            self._heard(message)
            if isinstance(message, Notification) and message.method == ROOTS_CHANGED and self.abilities.ready:
                await self._roots_changed()
            return
        try:
            say(write_result(message.id, write(await self._answer(message, say))))
        except ClientFault as fault:
            say(write_failure(message.id, fault.code, fault.message, fault.data))

    def _heard(self, message: Message) -> None:
        if isinstance(message, Notification) and message.method == "notifications/initialized":
            self.abilities = ClientAbilities(self.abilities.capabilities, ready=True)
        else:
            self.outgoing.heard(message)

    async def _roots_changed(self) -> None:
        """Each of the server's listeners, in order; one that fails does not stop the next."""
        roots = RootsClient(Line(self.outgoing, self._beside, lambda: self.abilities))
        for listener in list(self.server.roots_listeners):
            try:
                heard = listener(roots)
                if inspect.isawaitable(heard):
                    await heard
            except Exception as error:  # noqa: BLE001 - the wall: a function's failure is its own
                _log.error("roots_listener_failed", exc_info=error, extra={"data": {"server": self.server.name}})

    async def _answer(self, request: Request, say: Say) -> Json:
        method = METHODS.get(request.method)
        if method is None or (request.method.startswith("resources/") and not self.server.resources):
            raise ClientFault(METHOD_NOT_FOUND, f"Method not found: {request.method}")
        try:
            params = read_value(request.params) if request.params is not None else {}
        except NotThatShape:
            params = None
        if not isinstance(params, dict):
            raise ClientFault(INVALID_PARAMS, "Invalid params: they must be an object")
        return await method(self, params, say)

    def context(self, params: Json, say: Say) -> ToolContext:
        line = Line(self.outgoing, say, lambda: self.abilities)
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        can = self.abilities
        timeout = self.server.sampling_timeout
        return ToolContext(
            self.session_id,
            Log(lambda level, data: self._log_line(level, data, say)),
            token,
            None if token is None else _progress_sender(token, say),
            Sampler(SamplingClient(line, timeout)) if can.supports_sampling else None,
            Elicitor(ElicitationClient(line)) if can.supports_elicitation else None,
            RootsClient(line) if can.supports_roots else None,
        )

    def _log_line(self, level: LogLevel, data: Any, say: Say) -> None:
        if at_least(level, self.level):
            params = {"level": level, "logger": self.server.name, "data": data}
            say(write_notification("notifications/message", write(params)))


def _nobody(message: bytes) -> None:
    """There is no connection yet."""


def _progress_sender(token: str | int, say: Say) -> ProgressSender:
    def send(done: float, total: float | None = None, message: str | None = None) -> None:
        params: Json = {"progressToken": token, "progress": done, "total": total, "message": message}
        said = {key: value for key, value in params.items() if value is not None}
        say(write_notification("notifications/progress", write(said)))

    return send


# -- methods


async def _initialize(conversation: LocalConversation, params: Json, say: Say) -> Json:
    asked, declared = params.get("protocolVersion"), params.get("capabilities")
    conversation.abilities = ClientAbilities(declared if isinstance(declared, dict) else {})
    server = conversation.server
    said: Json = {
        "protocolVersion": asked if asked in REVISIONS else REVISIONS[0],
        "capabilities": server.capabilities,
        "serverInfo": {"name": server.name, "version": server.version},
    }
    return said | ({"instructions": server.instructions} if server.instructions else {})


async def _ping(conversation: LocalConversation, params: Json, say: Say) -> Json:
    return {}


async def _set_level(conversation: LocalConversation, params: Json, say: Say) -> Json:
    level = params.get("level")
    if level not in LOG_LEVELS:
        raise ClientFault(INVALID_PARAMS, f"'level' must be one of {', '.join(LOG_LEVELS)}")
    conversation.level = level
    return {}


async def _list_tools(conversation: LocalConversation, params: Json, say: Say) -> Json:
    return {"tools": [tool.entry() for tool in conversation.server.tools.values()]}


async def _call_tool(conversation: LocalConversation, params: Json, say: Say) -> Json:
    tool = conversation.server.tools.get(str(params.get("name")))
    if tool is None:
        raise ClientFault(INVALID_PARAMS, f"Unknown tool: {str(params.get('name'))[:100]}")
    arguments = params.get("arguments") or {}
    try:
        return await tool.call(arguments, conversation.context(params, say))
    except ToolError as error:
        return _error(str(error))
    except AskFailed as failed:
        return _error(f"'{tool.name}' got no answer to its question: {failed}")
    except asyncio.CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 - the wall: a function's failure is its own, and its words stay here
        data = {"server": conversation.server.name, "tool": tool.name}
        _log.error("local_tool_failed", exc_info=error, extra={"data": data})
        return _error(f"'{tool.name}' failed inside ({type(error).__name__}); the gateway's log says more")


def _error(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}], "isError": True}


async def _list_resources(conversation: LocalConversation, params: Json, say: Say) -> Json:
    return {"resources": [one.entry() for one in conversation.server.resources if not one.is_template]}


async def _list_templates(conversation: LocalConversation, params: Json, say: Say) -> Json:
    return {"resourceTemplates": [one.entry() for one in conversation.server.resources if one.is_template]}


async def _read_resource(conversation: LocalConversation, params: Json, say: Say) -> Json:
    uri = str(params.get("uri"))
    for resource in conversation.server.resources:
        names = resource.match(uri)
        if names is None:
            continue
        try:
            read = resource.read(**names)
            content = await read if inspect.isawaitable(read) else read
        except LookupError:
            break
        said: Json = {"uri": uri, "mimeType": resource.mime_type}
        said |= {"text": content} if isinstance(content, str) else {"blob": b64encode(content).decode()}
        return {"contents": [said]}
    raise ClientFault(RESOURCE_NOT_FOUND, f"Resource not found: {uri[:200]}", {"uri": uri[:200]})


Method: TypeAlias = Callable[[LocalConversation, Json, Say], Awaitable[Json]]

METHODS: dict[str, Method] = {
    "initialize": _initialize,
    "ping": _ping,
    "logging/setLevel": _set_level,
    "tools/list": _list_tools,
    "tools/call": _call_tool,
    "resources/list": _list_resources,
    "resources/templates/list": _list_templates,
    "resources/read": _read_resource,
}
