"""Subscriptions to resources: be told when one changes, or no more.

The one rule: what changed comes as every notification does, with the next answer; nothing waits for it here.
"""

from __future__ import annotations

from emceepee.errors import EmceepeeError
from emceepee.meta_tools.answers import answer, tool_error
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.tool import Asked, Param, make_tool
from emceepee.vocabulary.outcomes import Done

_SERVER = Param("string", required=True)


async def _subscribe(desk: Desk, asked: Asked) -> Done:
    server, uri = asked.arguments["server"], asked.arguments["uri"]
    try:
        await desk.middle.subscriptions.add(asked.scope, server, uri)
    except EmceepeeError as error:
        raise tool_error(error, {"serverName": server, "uri": uri}) from error
    return answer({"success": True, "server": server, "uri": uri, "next": _THEN})


async def _unsubscribe(desk: Desk, asked: Asked) -> Done:
    server, uri = asked.arguments["server"], asked.arguments["uri"]
    try:
        was = await desk.middle.subscriptions.remove(asked.scope, server, uri)
    except EmceepeeError as error:
        raise tool_error(error, {"serverName": server, "uri": uri}) from error
    return answer({"success": was, "server": server, "uri": uri, "message": _ENDED if was else _WAS_NONE})


_THEN = "When it changes, a notification comes with the next answer or await_activity; then call read_resource."
_ENDED = "Its changes are told no more"
_WAS_NONE = "It was not subscribed to"

TOOLS = (
    make_tool(
        "subscribe_resource",
        "Be told when a resource of list_resources changes.",
        _subscribe,
        {"server": _SERVER, "uri": Param("string", required=True)},
        idempotent=True,
    ),
    make_tool(
        "unsubscribe_resource",
        "End a subscribe_resource.",
        _unsubscribe,
        {"server": _SERVER, "uri": Param("string", required=True)},
        idempotent=True,
    ),
)
