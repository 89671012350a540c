"""What servers want to have written by the client's model: `get_sampling_requests` and `respond_to_sampling`.

The one rule: as in `meta_tools.elicitation`.
"""

from __future__ import annotations

from typing import Any

from emceepee.meta_tools.answers import answer
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.elicitation import REQUEST_ID, SERVER, answered
from emceepee.meta_tools.tool import Asked, Param, make_tool
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import NotThatShape, read_value


async def _get_sampling_requests(desk: Desk, asked: Asked) -> Done:
    asks = desk.middle.workspaces.at(asked.scope).asks
    return answer({"sampling_requests": [ask.shown() for ask in asks.open("sampling", asked.arguments.get("server"))]})


async def _respond(desk: Desk, asked: Asked) -> Done:
    arguments = asked.arguments
    said: dict[str, Any] = {
        "role": arguments.get("role", "assistant"),
        "content": _block(read_value(arguments["content"])),
        "model": arguments["model"],
        "stopReason": arguments.get("stop_reason", "endTurn"),
    }
    workspace = desk.middle.workspaces.at(asked.scope)
    return answered(workspace.answer_ask("sampling", arguments["request_id"], said))


def _block(content: Any) -> Any:
    """A content block; models write text as it is, or a block as a string that holds its JSON."""
    if not isinstance(content, str):
        return content
    try:
        held = read_value(content.encode())
    except (NotThatShape, UnicodeEncodeError):
        held = None
    return held if isinstance(held, dict) and held.get("type") in _BLOCKS else {"type": "text", "text": content}


_BLOCKS = ("text", "image", "audio")

TOOLS = (
    make_tool(
        "get_sampling_requests",
        "What servers want a model to write, in full; then respond_to_sampling.",
        _get_sampling_requests,
        {"server": SERVER},
        reads_only=True,
        reaches_out=False,
        core=True,
    ),
    make_tool(
        "respond_to_sampling",
        "Answer a request of get_sampling_requests, with what you or another model write; then get_task_result.",
        _respond,
        {
            "request_id": REQUEST_ID,
            "content": Param("text_or_object", "text, or a content block", required=True),
            "model": Param("string", "name of the model that wrote it", required=True),
            "role": Param("string", "default assistant", among=("assistant", "user")),
            "stop_reason": Param("string", "default endTurn"),
        },
        core=True,
    ),
)
