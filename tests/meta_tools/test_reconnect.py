"""A connection made anew on request."""

from __future__ import annotations

from tests.meta_tools.conftest import Use
from tests.support.fake_backends import FakeServer, make_house, tool


async def test_reconnecting_makes_a_new_connection_of_this_scope_only(use: Use) -> None:
    house = make_house(a=FakeServer(lists={"tools": [tool("t")]}))
    await house.middle.reach.connection("a", "s")
    other = await house.middle.reach.connection("a", "other")
    said = await use(house, "reconnect_server", server="a")
    assert (said["status"], said["toolCount"]) == ("connected", 1)
    assert house.pool.connects["a", "s"] == 2
    assert house.pool.connections["a", "other"] is other
