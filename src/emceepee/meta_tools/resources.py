"""Resources of servers: what there is, what could be, and reading one.

Ours lie under a server's name that is ours, unless somebody has a server of that name.

The one rule: a resource is always named together with its server, so that no URI can be taken for another's.
"""

from __future__ import annotations

from emceepee.backends.catalogue import ListName
from emceepee.meta_tools import diagrams
from emceepee.meta_tools.answers import answer
from emceepee.meta_tools.desk import Desk, known_lists, servers_block
from emceepee.meta_tools.paging import PAGE_PARAMS, page, with_server
from emceepee.meta_tools.tool import Asked, Handler, Param, make_tool
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import read_fields, to_raw
from emceepee.vocabulary.tasks import GoesOn

_SERVER = Param("string", required=True)


def list_handler(name: ListName, key: str) -> Handler:
    """A tool that lists entries of one kind, over all servers or one."""

    async def handle(desk: Desk, asked: Asked) -> Done:
        shown = await desk.lists(asked.scope, name, asked.arguments.get("server"))
        entries = [
            with_server(server, read_fields(item)) for server, listed in known_lists(shown) for item in listed.items
        ]
        return answer(page(key, entries, asked.arguments) | {"servers": servers_block(shown, key)})

    return handle


_of_servers = list_handler("resources", "resources")


def _is_ours(desk: Desk, asked: Asked) -> bool:
    return asked.arguments.get("server") == diagrams.OWNER and not desk.middle.registry.has(diagrams.OWNER)


async def _list_resources(desk: Desk, asked: Asked) -> Done | GoesOn:
    if not _is_ours(desk, asked):
        return await _of_servers(desk, asked)
    ours = to_raw({"server": diagrams.OWNER} | diagrams.LISTED)
    return answer(page("resources", [ours], asked.arguments) | {"servers": []})


async def _read_resource(desk: Desk, asked: Asked) -> Done:
    if _is_ours(desk, asked) and asked.arguments["uri"] == diagrams.URI:
        return answer(diagrams.contents())
    payload = await desk.ask(asked, "resources/read", {"uri": to_raw(asked.arguments["uri"])})
    return answer(dict(payload.fields()))


TOOLS = (
    make_tool(
        "list_resources",
        "Resources of all servers or one ('emceepee': our own). Then call read_resource.",
        _list_resources,
        {"server": Param("string"), **PAGE_PARAMS},
        reads_only=True,
        core=True,
    ),
    make_tool(
        "list_resource_templates",
        "URI templates of resources. Fill one in and call read_resource.",
        list_handler("templates", "resourceTemplates"),
        {"server": Param("string"), **PAGE_PARAMS},
        reads_only=True,
    ),
    make_tool(
        "read_resource",
        "Read one resource of one server; list_resources has the uris.",
        _read_resource,
        {"server": _SERVER, "uri": Param("string", required=True)},
        reads_only=True,
        core=True,
    ),
)
