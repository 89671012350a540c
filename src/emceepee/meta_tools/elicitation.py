"""What servers want to know of the user: `get_elicitations` and `respond_to_elicitation`.

The one rule: an answer that does not fit is refused with what would fit, and the question stays open; one that fits is
on its way to the server, once.
"""

from __future__ import annotations

from typing import Any

from emceepee.meta_tools.answers import answer
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.tool import Asked, Param, make_tool
from emceepee.state.answer_checks import ACTIONS
from emceepee.state.pending_requests import Ask
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import read_value


async def _get_elicitations(desk: Desk, asked: Asked) -> Done:
    asks = desk.middle.workspaces.at(asked.scope).asks
    return answer({"elicitations": [ask.shown() for ask in asks.open("elicitation", asked.arguments.get("server"))]})


async def _respond(desk: Desk, asked: Asked) -> Done:
    arguments = asked.arguments
    said: dict[str, Any] = {"action": arguments["action"]}
    # Only who accepts sends anything along.
    if said["action"] == "accept" and "content" in arguments:
        said["content"] = read_value(arguments["content"])
    workspace = desk.middle.workspaces.at(asked.scope)
    return answered(workspace.answer_ask("elicitation", arguments["request_id"], said))


def answered(ask: Ask) -> Done:
    return answer(
        {
            "success": True,
            "requestId": ask.id,
            "server": ask.server,
            "message": "The answer was sent to the server",
            "next": NEXT,
        }
    )


NEXT = "If a task waited for it, call get_task_result with timeout_ms; else await_activity."

REQUEST_ID = Param("string", required=True)
SERVER = Param("string", "only this server's")

TOOLS = (
    make_tool(
        "get_elicitations",
        "Questions of servers to the user, with the schema of the answer; then respond_to_elicitation.",
        _get_elicitations,
        {"server": SERVER},
        reads_only=True,
        reaches_out=False,
    ),
    make_tool(
        "respond_to_elicitation",
        "Answer a question of pending_client_action, with what the user says; then get_task_result.",
        _respond,
        {
            "request_id": REQUEST_ID,
            "action": Param("string", required=True, among=ACTIONS),
            "content": Param("object", "with accept: fields of its schema; a url needs none"),
        },
        core=True,
    ),
)
