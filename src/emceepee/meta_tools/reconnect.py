"""Making the connection to a server anew, because somebody wants it.

The one rule: it is the caller's own connection; nobody else notices.
"""

from __future__ import annotations

from emceepee.meta_tools.answers import answer
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.servers import welcome
from emceepee.meta_tools.tool import Asked, Param, make_tool
from emceepee.vocabulary.outcomes import Done

_SERVER = {"server": Param("string", required=True, aliases=("name",))}


async def _reconnect_server(desk: Desk, asked: Asked) -> Done:
    name = asked.arguments["server"]
    middle = desk.middle
    middle.reach.definition(name)
    await middle.pool.reconnect(name, asked.scope)
    connection = await middle.reach.connection(name, asked.scope)
    return answer({"name": name} | await welcome(desk, asked.scope, name, connection))


TOOLS = (
    make_tool(
        "reconnect_server",
        "Close your connection to a server and connect anew; its session state is lost. Then call list_tools.",
        _reconnect_server,
        _SERVER,
        idempotent=True,
    ),
)
