"""A surface under a path that ends in a workspace."""

from __future__ import annotations

import pytest

from emceepee.errors import ClientFault
from emceepee.relay.in_workspace import InWorkspace
from emceepee.relay.transparent import Transparent
from emceepee.sessions.handles import not_found
from emceepee.vocabulary.notices import NOTHING, Notice
from tests.support.fake_backends import FakeServer, House, call, caller, make_house, tool


def scope_of(name: str, principal: str) -> str:
    if name == "gone":
        raise not_found(name)
    return f"{principal}/{name}"


def placed(house: House, name: str = "notes") -> InWorkspace:
    return InWorkspace(Transparent(house.middle, "a"), name, scope_of)


async def test_whatever_is_asked_there_is_asked_in_that_workspace() -> None:
    house = make_house(a=FakeServer(lists={"tools": [tool("t")]}))
    surface = placed(house)
    await surface.describe(caller("session"))
    await surface.carry(call("tools/call", "session", name="t"), None)
    await surface.set_log_level(caller("session"), "error")
    assert await surface.input_schema(caller("session"), "t") is not None
    heard: list[Notice] = []
    listener = await surface.listen(caller("session"), NOTHING, heard.append)
    await listener.close()
    assert list(house.pool.connections) == [("a", "local/notes")]
    assert house.pool.connections["a", "local/notes"].levels == ["error"]
    assert surface.name == "a"
    await house.tasks.close()


async def test_the_end_of_a_session_ends_nothing_there() -> None:
    house = make_house(a=FakeServer())
    await placed(house).describe(caller("session"))
    await placed(house).forget("session")
    assert list(house.pool.connections) == [("a", "local/notes")]


async def test_one_that_has_ended_is_refused_each_time() -> None:
    house = make_house(a=FakeServer())
    with pytest.raises(ClientFault, match="Session 'gone' not found"):
        await placed(house, "gone").carry(call("tools/list"), None)
    with pytest.raises(ClientFault):
        await placed(house, "gone").describe(caller())
    assert house.pool.connections == {}
