"""`list_tools`: what a model sees of many tools."""

from __future__ import annotations

import pytest

from tests.meta_tools.conftest import Use
from tests.support.fake_backends import FakeServer, House, definition, make_house, tool

READ = tool(
    "read_file",
    description="Read a file from disk.\n\nLong explanation.",
    inputSchema={
        "type": "object",
        "properties": {"path": {"type": "string"}, "mode": {"enum": ["r", "w"]}},
        "required": ["path"],
    },
    outputSchema={"type": "object"},
    annotations={"readOnlyHint": True},
    _meta={"k": 1},
)


def house() -> House:
    return make_house(
        files=FakeServer(lists={"tools": [READ, tool("write_file", description="Write")]}),
        git=FakeServer(lists={"tools": [tool("log", description="Commits that touched a file")]}),
    )


@pytest.mark.shows("A-TOOL-05", "X-GAP-16")
async def test_one_servers_tools_are_complete(use: Use) -> None:
    said = await use(house(), "list_tools", server="files")
    assert said["tools"][0] == {"server": "files"} | READ
    assert said["servers"] == [{"name": "files", "status": "fresh", "tools": 2}]


@pytest.mark.shows("A-TOOL-05")
async def test_all_servers_tools_are_summed_up(use: Use) -> None:
    said = await use(house(), "list_tools")
    assert said["tools"][0] == {
        "server": "files",
        "name": "read_file",
        "description": "Read a file from disk.",
        "args": {"path": "string", "mode?": "r|w"},
    }
    assert (said["total"], len(said["servers"])) == (3, 2)


async def test_names_are_names_only(use: Use) -> None:
    said = await use(house(), "list_tools", detail="names", query="log")
    assert said["tools"] == [{"server": "git", "name": "log"}]


async def test_a_query_ranks(use: Use) -> None:
    said = await use(house(), "list_tools", query="FILE", detail="names")
    assert [entry["name"] for entry in said["tools"]] == ["read_file", "write_file", "log"]


async def test_pages_say_where_to_go_on(use: Use) -> None:
    said = await use(house(), "list_tools", limit=2, detail="names")
    assert (len(said["tools"]), said["next_offset"]) == (2, 2)
    said = await use(house(), "list_tools", limit=2, offset=2, detail="names")
    assert [entry["name"] for entry in said["tools"]] == ["log"]
    assert "next_offset" not in said


async def test_a_huge_catalogue_does_not_flood_a_model(use: Use) -> None:
    many = [tool(f"t{n}", description="x" * 5000) for n in range(500)]
    said = await use(make_house(a=FakeServer(lists={"tools": many})), "list_tools", server="a", limit=1000)
    assert len(said["tools"]) < 12
    assert (said["total"], said["next_offset"]) == (500, len(said["tools"]))


async def test_a_server_that_is_down_is_marked_and_the_others_listed(use: Use) -> None:
    down = house()
    down.registry.add(definition("down"))
    said = await use(down, "list_tools", detail="names")
    assert len(said["tools"]) == 3
    assert said["servers"][-1] == {"name": "down", "status": "down", "why": "Server 'down': connection refused"}


async def test_searching_twice_asks_the_servers_once(use: Use) -> None:
    twice = house()
    await use(twice, "list_tools", query="a")
    await use(twice, "list_tools", query="b")
    assert twice.pool.servers["git"].methods() == ["tools/list"]


async def test_an_unknown_server_is_not_found(use: Use) -> None:
    assert (await use(house(), "list_tools", server="x"))["error"]["code"] == "TOOL_ERR_SERVER_NOT_FOUND"


async def test_an_odd_schema_does_not_spoil_the_list(use: Use) -> None:
    odd = [{"name": "a", "inputSchema": 7}, {"name": "b"}, {"name": "c", "inputSchema": {"properties": {"x": []}}}]
    said = await use(make_house(a=FakeServer(lists={"tools": odd})), "list_tools")
    assert [entry["args"] for entry in said["tools"]] == [{}, {}, {"x?": "any"}]
