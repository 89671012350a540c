"""The folders that the client works in, for servers that ask: `set_roots`.

The one rule: what is said here is said to every server of the workspace, as roots of the protocol, and to nobody else.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit

from emceepee.errors import EmceepeeError
from emceepee.meta_tools.answers import ToolExecutionError, answer, tool_error
from emceepee.meta_tools.arguments import INVALID_ARGUMENTS
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.tool import Asked, Param, make_tool
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import to_raw

_MAX_ROOTS = 200


async def _set_roots(desk: Desk, asked: Asked) -> Done:
    folders: list[str] = asked.arguments["roots"]
    if len(folders) > _MAX_ROOTS:
        raise _wrong(f"has {len(folders)} entries; at most {_MAX_ROOTS} are taken")
    roots = [_root(folder) for folder in folders]
    middle = desk.middle
    try:
        first = middle.asks.roots.give(asked.scope, to_raw({"roots": roots}))
    except EmceepeeError as error:
        raise tool_error(error, {}) from error
    if not first:
        await middle.pool.roots_changed(asked.scope)
    return answer({"success": True, "roots": roots, "next": _FIRST if first else _THEN})


_FIRST = "Servers are told that they can ask for them from the next execute_tool on, in a new session."
_THEN = "Servers were told; execute_tool goes on as before."


def _root(folder: str) -> dict[str, Any]:
    """A folder as the protocol names it: its URI, and its last part for people."""
    if folder.startswith("/"):
        uri = f"file://{quote(folder)}"
    elif len(folder) > 2 and folder[0].isalpha() and folder[1] == ":" and folder[2] in "\\/":
        uri = f"file:///{quote(folder.replace(chr(92), '/'), safe='/:')}"
    elif folder.lower().startswith("file://"):
        uri = folder
    else:
        raise _wrong(f"holds '{folder[:80]}', which is neither an absolute path nor a file:// URI")
    name = urlsplit(uri).path.rstrip("/").rpartition("/")[2]
    return {"uri": uri} | ({"name": name} if name else {})


def _wrong(problem: str) -> ToolExecutionError:
    message = f"Argument 'roots' of set_roots {problem}"
    return ToolExecutionError(INVALID_ARGUMENTS, message, {"field": "roots"}, "Send absolute paths of folders.")


TOOLS = (
    make_tool(
        "set_roots",
        "Tell servers which folders you work in; before execute_tool.",
        _set_roots,
        {"roots": Param("strings", "absolute paths or file:// URIs", required=True)},
        idempotent=True,
        reaches_out=False,
    ),
)
