"""The meta-tools as a client finds them."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.errors import ClientFault
from emceepee.meta_tools.surface import MetaSurface
from emceepee.relay.settings import RelaySettings
from emceepee.vocabulary.notices import EVERY_LIST, NOTHING, Interest, ListChanged, LogLine, Notice
from emceepee.vocabulary.outcomes import CacheHints, Done
from emceepee.vocabulary.raw_json import read_value
from tests.support.fake_backends import FakeServer, call, caller, definition, make_house, plain


@pytest.mark.shows("A-TOOL-01")
async def test_the_list_never_changes_with_the_servers() -> None:
    house = make_house(a=FakeServer())
    surface = MetaSurface(house.middle)
    before = await surface.carry(call("tools/list"), None)
    house.registry.add(definition("b"))
    house.registry.remove("a")
    after = await surface.carry(call("tools/list"), None)
    assert plain(before) == plain(after)
    assert isinstance(after, Done)
    assert after.hints == CacheHints(3_600_000, "public")


async def test_the_short_list_is_all_there_is_when_it_was_chosen() -> None:
    surface = MetaSurface(make_house(RelaySettings(profile="core"), a=FakeServer()).middle)
    listed = [tool["name"] for tool in plain(await surface.carry(call("tools/list"), None))["tools"]]
    assert "execute_tool" in listed
    assert "add_server" not in listed
    assert "add_server" not in ((await surface.describe(caller())).instructions or "")
    assert await surface.input_schema(caller(), "add_server") is None
    with pytest.raises(ClientFault, match="Unknown tool: add_server"):
        await surface.carry(call("tools/call", name="add_server", arguments={"name": "x", "url": "http://x"}), None)


async def test_it_has_one_page_only() -> None:
    with pytest.raises(ClientFault) as refused:
        await MetaSurface(make_house().middle).carry(call("tools/list", cursor="AAAAAAAA"), None)
    assert refused.value.code == -32602


@pytest.mark.parametrize("name", ["execute", "no_such_tool", 7, None])
async def test_an_unknown_tool_is_a_protocol_error(name: Any) -> None:
    with pytest.raises(ClientFault) as refused:
        await MetaSurface(make_house().middle).carry(call("tools/call", name=name), None)
    assert refused.value.code == -32602


async def test_the_nearest_tool_is_named() -> None:
    with pytest.raises(ClientFault, match="did you mean 'list_tools'"):
        await MetaSurface(make_house().middle).carry(call("tools/call", name="listTools"), None)


@pytest.mark.parametrize("method", ["resources/subscribe", "prompts/get", "completion/complete", "x"])
async def test_what_is_not_offered_is_not_a_method(method: str) -> None:
    with pytest.raises(ClientFault) as refused:
        await MetaSurface(make_house().middle).carry(call(method), None)
    assert refused.value.code == -32601


async def test_describing_needs_no_server() -> None:
    house = make_house(a=FakeServer(hangs=True))
    said = await MetaSurface(house.middle).describe(caller())
    assert set(said.capabilities) == {"tools", "resources", "logging"}
    assert "list_servers" in (said.instructions or "")
    assert house.pool.connections == {}


async def test_a_listener_hears_log_lines_and_nothing_else() -> None:
    house = make_house(a=FakeServer())
    surface = MetaSurface(house.middle)
    heard: list[Notice] = []
    listener = await surface.listen(caller(), Interest(EVERY_LIST, frozenset(("r:1",))), heard.append)
    assert listener.honoured == NOTHING
    await house.middle.reach.connection("a", "s")
    for notice in (ListChanged("tools"), LogLine("info", {})):
        house.pool.connections["a", "s"].tell(notice)
    assert heard == [LogLine("info", {})]
    await listener.change(Interest(EVERY_LIST))
    with pytest.raises(ClientFault):
        await listener.change(Interest(uris=frozenset(("r:1",))))
    await listener.close()
    house.pool.connections["a", "s"].tell(LogLine("info", {}))
    assert len(heard) == 1


async def test_a_log_level_reaches_every_server_of_the_scope() -> None:
    house = make_house(a=FakeServer())
    await house.middle.reach.connection("a", "s")
    await MetaSurface(house.middle).set_log_level(caller(), "error")
    assert house.pool.connections["a", "s"].levels == ["error"]


async def test_input_schemas_are_the_listed_ones() -> None:
    surface = MetaSurface(make_house().middle)
    listed = {tool["name"]: tool for tool in plain(await surface.carry(call("tools/list"), None))["tools"]}
    schema = await surface.input_schema(caller(), "execute_tool")
    assert schema is not None
    assert read_value(schema) == listed["execute_tool"]["inputSchema"]
    assert await surface.input_schema(caller(), "nope") is None


async def test_forgetting_a_scope_releases_its_connections() -> None:
    house = make_house(a=FakeServer())
    await house.middle.reach.connection("a", "s")
    await MetaSurface(house.middle).forget("s")
    assert house.pool.released == ["s"]
