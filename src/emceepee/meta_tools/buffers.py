"""What servers said unasked: `get_notifications` and `get_logs`.

The one rule: reading takes out what it returned and nothing else (X-CON-04).
"""

from __future__ import annotations

from typing import Any

from emceepee.meta_tools.answers import ToolExecutionError, answer
from emceepee.meta_tools.arguments import INVALID_ARGUMENTS
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.tool import Asked, Param, make_tool
from emceepee.state.buffers import KeptLog, KeptNotification, Taken, read_level
from emceepee.vocabulary.names import LOG_LEVELS, at_least
from emceepee.vocabulary.outcomes import Done

_DEFAULT_LIMIT = 100


async def _get_notifications(desk: Desk, asked: Asked) -> Done:
    kept = desk.middle.workspaces.at(asked.scope).notifications
    limit = asked.arguments.get("limit", _DEFAULT_LIMIT)
    taken = kept.take(asked.arguments.get("server"), limit=limit)
    return answer({"notifications": [item.shown() for item in taken.items]} | _rest(taken))


async def _get_logs(desk: Desk, asked: Asked) -> Done:
    arguments = asked.arguments
    level = read_level(arguments.get("level", "debug"))
    if level is None:
        raise ToolExecutionError(
            INVALID_ARGUMENTS,
            "Argument 'level' of get_logs must be a log level",
            {"field": "level"},
            f"Levels are {', '.join(LOG_LEVELS)}.",
        )
    source = arguments.get("source")
    minimum = level
    taken = desk.middle.workspaces.at(asked.scope).logs.take(
        arguments.get("server"),
        lambda line: at_least(line.level, minimum) and source in (None, line.source),
        arguments.get("limit", _DEFAULT_LIMIT),
    )
    return answer({"logs": [item.shown() for item in taken.items]} | _rest(taken))


def _rest(taken: Taken[KeptLog] | Taken[KeptNotification]) -> dict[str, Any]:
    """Only what there is to say: how many more fit, and how many were pushed out before anybody read them."""
    said = {"left": taken.left, "dropped": taken.dropped}
    return {key: number for key, number in said.items() if number}


_SERVER = Param("string", "only this server's")
_LIMIT = Param("integer", "default 100; the newest", least=0, most=5000)

TOOLS = (
    make_tool(
        "get_notifications",
        "Notifications of servers, each once; they also come as events (await_activity).",
        _get_notifications,
        {"server": _SERVER, "limit": _LIMIT},
        reaches_out=False,
    ),
    make_tool(
        "get_logs",
        "Log lines of servers, each once; they never come by themselves. Read them when execute_tool failed.",
        _get_logs,
        {
            "server": _SERVER,
            "level": Param("string", "this one and worse"),
            "limit": _LIMIT,
            "source": Param("string", among=("protocol", "stderr", "gateway")),
        },
        reaches_out=False,
    ),
)
