"""Adding, removing, reconnecting, and what is said of each server."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.backends.definition import HttpEndpoint, ServerDefinition, StdioLaunch
from emceepee.errors import BackendTimeout, BackendUnavailable
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.raw_json import to_raw
from tests.meta_tools.conftest import Use
from tests.support.fake_backends import FakeServer, House, call, definition, make_house, tool
from tests.support.fake_clock import settle

URL = "http://new.example/mcp"


def empty(**reachable: FakeServer) -> House:
    house = make_house()
    house.pool.servers.update(reachable)
    return house


@pytest.mark.shows("A-TOOL-02", "A-CFG-11")
async def test_an_added_server_is_connected_and_says_what_it_has(use: Use) -> None:
    house = empty(new=FakeServer(lists={"tools": [tool("t", description="Does it")]}))
    said = await use(house, "add_server", name="new", url=URL)
    assert (said["result"], said["status"]) == ("new", "connected")
    assert set(said["capabilities"]) == {"tools", "prompts", "resources", "completions", "logging"}
    assert said["tools"] == [{"name": "t", "description": "Does it", "args": {}}]
    assert ("new", "s") in house.pool.connections
    assert house.registry.get("new") == definition("new", URL)


@pytest.mark.shows("X-BUG-37")
async def test_a_server_without_tools_is_added_with_an_empty_list(use: Use) -> None:
    server = FakeServer(about=About({"prompts": to_raw({})}))
    said = await use(empty(new=server), "add_server", name="new", url=URL)
    assert (said["tools"], said["toolCount"]) == ([], 0)
    assert server.asked == []


@pytest.mark.shows("X-GAP-08")
async def test_a_local_program_and_headers_are_taken(use: Use) -> None:
    house = empty(local=FakeServer(), remote=FakeServer())
    await use(house, "add_server", name="local", command="npx", args=["-y", "x"], env={"K": "v"}, cwd="/tmp")
    await use(house, "add_server", name="remote", url=URL, headers={"X-Key": "v"})
    local, remote = house.registry.get("local"), house.registry.get("remote")
    assert local is not None
    assert remote is not None
    assert local.launch == StdioLaunch("npx", ("-y", "x"), {"K": "v"}, "/tmp")
    assert remote.launch == HttpEndpoint(URL, (("X-Key", "v"),))


@pytest.mark.shows("X-BUG-45")
async def test_a_new_server_that_cannot_be_reached_leaves_no_trace(use: Use) -> None:
    house = empty()
    error = (await use(house, "add_server", name="new", url=URL))["error"]
    assert error["message"] == "Could not connect to server 'new': connection refused; it was not added"
    assert error["code"] == "TOOL_ERR_EXECUTION_FAILED"
    assert house.registry.list() == ()
    assert (await use(house, "list_servers"))["servers"] == []


@pytest.mark.shows("X-BUG-45")
async def test_a_caller_that_leaves_while_it_connects_leaves_no_trace(use: Use) -> None:
    house = empty(new=FakeServer())
    house.pool.connecting["new"] = asyncio.Event()
    adding = house.tasks.spawn(use(house, "add_server", name="new", url=URL), "add")
    await settle()
    assert house.registry.has("new")
    adding.cancel()
    await settle()
    assert not house.registry.has("new")


async def test_a_connect_that_takes_too_long_is_a_time_out(use: Use) -> None:
    house = empty(new=FakeServer(fault=BackendTimeout("new", "still connecting after 10 s")))
    assert (await use(house, "add_server", name="new", url=URL))["error"]["code"] == "TOOL_ERR_TIMEOUT"


@pytest.mark.shows("X-BUG-46")
async def test_the_same_definition_again_changes_nothing(use: Use) -> None:
    house = empty(new=FakeServer())
    await use(house, "add_server", name="new", url=URL)
    connection = house.pool.connections["new", "s"]
    assert (await use(house, "add_server", name="new", url=URL))["result"] == "same"
    assert house.pool.connections["new", "s"] is connection
    assert house.pool.dropped == []


@pytest.mark.shows("X-BUG-46")
async def test_another_url_closes_every_connection_to_the_old_one_and_connects_to_the_new(use: Use) -> None:
    house = empty(new=FakeServer())
    await use(house, "add_server", name="new", url=URL)
    await house.middle.reach.connection("new", "other")
    assert (await use(house, "add_server", name="new", url="http://moved.example/mcp"))["result"] == "updated"
    assert house.pool.dropped == ["new"]
    assert set(house.pool.connections) == {("new", "s")}
    assert house.pool.connects["new", "s"] == 2


@pytest.mark.shows("X-BUG-45")
async def test_a_change_that_cannot_be_reached_is_not_made_and_disturbs_nobody(use: Use) -> None:
    house = empty(new=FakeServer())
    await use(house, "add_server", name="new", url=URL)
    before = dict(house.pool.connections)
    house.pool.servers["new"].fault = BackendUnavailable("new", "refused")
    error = (await use(house, "add_server", name="new", url="http://moved.example/mcp"))["error"]
    assert error["message"].endswith("refused; its former definition is kept")
    assert house.registry.get("new") == definition("new", URL)
    assert (house.pool.connections, house.pool.dropped) == (before, [])


async def test_a_change_that_can_be_reached_once_and_then_no_more_is_taken_back(use: Use) -> None:
    house = empty(new=FakeServer())
    await use(house, "add_server", name="new", url=URL)
    try_out = house.pool.try_out

    async def once(definition: ServerDefinition) -> None:
        await try_out(definition)
        house.pool.servers["new"].fault = BackendUnavailable("new", "refused")

    house.pool.try_out = once  # type: ignore[method-assign]
    error = (await use(house, "add_server", name="new", url="http://moved.example/mcp"))["error"]
    assert error["message"].endswith("refused; its former definition is kept")
    assert house.registry.get("new") == definition("new", URL)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"name": "new"}, "url"),
        ({"name": "new", "url": URL, "command": "npx"}, "url"),
        ({"name": "", "url": URL}, "name"),
        ({"name": "a__b", "url": URL}, "name"),
        ({"name": "x" * 41, "url": URL}, "name"),
        ({"name": "new", "url": "ftp://x/"}, "url"),
        ({"name": "new", "url": "not a url"}, "url"),
        ({"name": "new", "command": " "}, "command"),
        ({"name": "new", "url": URL, "headers": {"a b": "c"}}, "headers"),
    ],
)
async def test_a_server_that_nobody_could_use_is_refused_by_field(
    use: Use, arguments: dict[str, str], field: str
) -> None:
    house = empty(new=FakeServer())
    error = (await use(house, "add_server", **arguments))["error"]
    assert (error["code"], error["details"]["field"]) == ("TOOL_ERR_INVALID_ARGUMENTS", field)
    assert house.registry.list() == ()


@pytest.mark.shows("X-GAP-10")
async def test_the_gateway_cannot_be_added_to_itself(use: Use) -> None:
    house = empty(me=FakeServer())
    house.registry.listening_on("127.0.0.1:8080")
    error = (await use(house, "add_server", name="me", url="http://localhost:8080/mcp"))["error"]
    assert "is this gateway itself" in error["message"]


@pytest.mark.shows("X-GAP-11")
async def test_too_many_servers_are_refused_with_the_limit(use: Use) -> None:
    house = empty(new=FakeServer())
    house.registry._limit = 0
    error = (await use(house, "add_server", name="new", url=URL))["error"]
    assert (error["code"], error["details"]) == ("TOOL_ERR_LIMIT_REACHED", {"limit": 0})


@pytest.mark.shows("A-CFG-06", "A-CFG-13", "A-CFG-25", "A-CON-08")
async def test_a_server_added_by_one_is_listed_by_all_and_connected_by_none_but_him(use: Use) -> None:
    house = empty(new=FakeServer())
    await use(house, "add_server", scope="one", name="new", url=URL)
    (mine,) = (await use(house, "list_servers", scope="one"))["servers"]
    (yours,) = (await use(house, "list_servers", scope="two"))["servers"]
    assert (mine["status"], yours["status"]) == ("connected", "not_connected")
    assert set(house.pool.connections) == {("new", "one")}
    await house.middle.calls.carry("new", call("tools/call", "two", name="t"), None, 5.0)
    assert ("new", "two") in house.pool.connections


@pytest.mark.shows("A-CFG-23", "A-CFG-24", "A-TOOL-04")
async def test_each_listed_server_has_its_address_and_how_it_stands(use: Use) -> None:
    house = make_house(up=FakeServer(lists={"tools": [tool("t")]}), down=FakeServer(), idle=FakeServer())
    house.pool.servers["down"].fault = BackendUnavailable("down", "refused")
    for name in ("up", "down"):
        await house.middle.listing.get(name, "s", "tools", 1.0)
    up, down, idle = (await use(house, "list_servers"))["servers"]
    assert up == {
        "name": "up",
        "url": "http://up.example/mcp",
        "connected": True,
        "status": "connected",
        "connectedAt": "2026-11-01T00:00:00.000Z",
        "lastError": None,
        "transport": "http",
        "protocolVersion": "2025-11-25",
        "toolCount": 1,
    }
    assert (down["status"], down["connected"], down["lastError"]) == ("error", False, "Server 'down': refused")
    assert (idle["status"], idle["connectedAt"]) == ("not_connected", None)


@pytest.mark.shows("A-TOOL-23")
async def test_one_servers_status_says_more(use: Use) -> None:
    house = make_house(a=FakeServer(about=About({"tools": to_raw({})}, to_raw({"name": "X"}), "Be kind", "2025-11-25")))
    await house.middle.reach.connection("a", "s")
    said = await use(house, "get_server_status", server="a")
    assert (said["status"], said["serverInfo"], said["instructions"]) == ("connected", {"name": "X"}, "Be kind")
    assert (said["capabilities"], said["working_tasks"]) == ({"tools": {}}, [])
    assert (await use(house, "get_server_status", server="b"))["error"]["code"] == "TOOL_ERR_SERVER_NOT_FOUND"


@pytest.mark.shows("A-TOOL-03", "A-CFG-15", "A-CFG-16", "A-CFG-22")
async def test_removing_a_server_closes_every_scopes_connection_to_it_and_no_other(use: Use) -> None:
    house = make_house(a=FakeServer(), b=FakeServer())
    for scope in ("one", "two"):
        for server in ("a", "b"):
            await house.middle.reach.connection(server, scope)
    said = await use(house, "remove_server", scope="one", name="a")
    assert said == {"success": True, "name": "a", "message": "Server removed"}
    assert set(house.pool.connections) == {("b", "one"), ("b", "two")}
    assert [server["name"] for server in (await use(house, "list_servers"))["servers"]] == ["b"]


@pytest.mark.shows("A-CFG-14", "A-CON-07")
async def test_removing_an_unknown_server_changes_nothing(use: Use) -> None:
    house = make_house(a=FakeServer())
    error = (await use(house, "remove_server", name="zzz"))["error"]
    assert (error["code"], error["message"]) == ("TOOL_ERR_SERVER_NOT_FOUND", "Server 'zzz' not found")
    assert house.registry.has("a")
    assert house.pool.dropped == []


@pytest.mark.shows("X-BUG-43")
async def test_a_connection_that_hangs_while_closing_holds_up_nobody_for_long(use: Use) -> None:
    house = make_house(a=FakeServer())
    house.pool.dropping["a"] = asyncio.Event()
    removing = house.tasks.spawn(use(house, "remove_server", name="a"), "remove")
    await settle()
    assert not removing.done()
    await house.clock.advance(6.1)
    async with asyncio.timeout(5):
        assert (await removing)["message"] == "Server removed; a connection to it is still closing"
    await house.tasks.close()


@pytest.mark.shows("X-BUG-44")
async def test_a_server_removed_while_somebody_connects_to_it_is_not_found_and_left(use: Use) -> None:
    house = make_house(a=FakeServer())
    house.pool.connecting["a"] = asyncio.Event()
    calling = house.tasks.spawn(use(house, "execute_tool", server="a", tool="t"), "call")
    await settle()
    house.registry.remove("a")
    await settle()
    house.pool.connecting["a"].set()
    async with asyncio.timeout(5):
        assert (await calling)["error"]["code"] == "TOOL_ERR_SERVER_NOT_FOUND"
    await settle()
    assert house.pool.connections == {}
