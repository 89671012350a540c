"""`list_tools`: what can be executed, told in as few words as the caller wants.

The one rule: at `full` an entry is the server's own, complete; what is shortened is called a summary.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from emceepee.meta_tools.answers import answer
from emceepee.meta_tools.desk import Desk, known_lists, servers_block
from emceepee.meta_tools.paging import PAGE_PARAMS, page, with_server
from emceepee.meta_tools.search import Text, ranked
from emceepee.meta_tools.tool import Asked, Param, make_tool
from emceepee.vocabulary.names import ServerName
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import NotThatShape, read_fields, read_text, read_value, to_raw

_DESCRIPTION = 200
_MAX_ARGS = 30


async def _list_tools(desk: Desk, asked: Asked) -> Done:
    arguments = asked.arguments
    server = arguments.get("server")
    shown = await desk.lists(asked.scope, "tools", server)
    found = [
        (_text(owner, name, item), (owner, name, item))
        for owner, listed in known_lists(shown)
        for name, item in listed.index().items()
    ]
    chosen = ranked(arguments.get("query", ""), found)
    detail = arguments.get("detail", "full" if server is not None else "summary")
    entries = [_entry(detail, owner, name, item) for owner, name, item in chosen]
    return answer(page("tools", entries, arguments) | {"servers": servers_block(shown, "tools")})


def _text(server: ServerName, name: str, item: Raw) -> Text:
    fields = read_fields(item)
    title, description = read_text(fields.get("title")), read_text(fields.get("description"))
    return Text(name, f"{title or ''} {description or ''}", server)


def _entry(detail: str, server: ServerName, name: str, item: Raw) -> Raw:
    if detail == "full":
        return with_server(server, read_fields(item))
    if detail == "names":
        return to_raw({"server": server, "name": name})
    return to_raw(summary(item) | {"server": server})


def summary(item: Raw) -> dict[str, Any]:
    """Name, first sentence or so, and the arguments with their types; optional ones end in `?`."""
    fields = read_fields(item)
    short: dict[str, Any] = {"name": read_text(fields.get("name"))}
    description = read_text(fields.get("description"))
    if description:
        short["description"] = shortened(description)
    short["args"] = _signature(fields.get("inputSchema"))
    return short


def shortened(text: str) -> str:
    line = " ".join(text.split("\n\n", maxsplit=1)[0].split())
    return line if len(line) <= _DESCRIPTION else line[: _DESCRIPTION - 1] + "…"


def _signature(schema: Raw | None) -> dict[str, str]:
    try:
        rules = read_value(schema) if schema is not None else None
    except NotThatShape:
        return {}
    properties = rules.get("properties") if isinstance(rules, dict) else None
    if not isinstance(rules, dict) or not isinstance(properties, dict):
        return {}
    required = rules.get("required")
    needed = required if isinstance(required, list) else []
    names = list(properties)[:_MAX_ARGS]
    return {name if name in needed else f"{name}?": _kind(properties[name]) for name in names}


def _kind(rules: Any) -> str:
    if not isinstance(rules, dict):
        return "any"
    allowed = rules.get("enum")
    if isinstance(allowed, list) and len(allowed) <= 6:
        return "|".join(str(one) for one in allowed)
    kind = rules.get("type")
    return kind if isinstance(kind, str) else "any"


TOOLS = (
    make_tool(
        "list_tools",
        "Tools of the connected servers, best match first. Then call execute_tool.",
        _list_tools,
        {
            "server": Param("string", "only this server's"),
            "query": Param("string", "words to look for in names and descriptions"),
            "detail": Param(
                "string", "full has schemas; default with server, else summary", among=("names", "summary", "full")
            ),
            **PAGE_PARAMS,
        },
        reads_only=True,
        core=True,
    ),
)
