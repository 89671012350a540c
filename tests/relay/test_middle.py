"""The parts of the middle, joined."""

from __future__ import annotations

from tests.support.fake_backends import FakeServer, definition, make_house
from tests.support.fake_clock import settle


async def test_a_removed_or_changed_server_loses_its_connections_an_added_one_none() -> None:
    house = make_house(a=FakeServer())
    house.registry.add(definition("b"))
    await settle()
    assert house.pool.dropped == []
    house.registry.add(definition("b", "http://moved.example/mcp"))
    house.registry.remove("a")
    await settle()
    assert house.pool.dropped == ["b", "a"]


async def test_a_closed_middle_hears_of_servers_no_more() -> None:
    house = make_house(a=FakeServer())
    house.middle.close()
    house.registry.remove("a")
    await settle()
    assert house.pool.dropped == []


async def test_forgetting_a_scope_twice_is_as_good_as_once() -> None:
    house = make_house(a=FakeServer())
    await house.middle.reach.connection("a", "s")
    await house.middle.forget("s")
    await house.middle.forget("s")
    assert house.pool.connections == {}
