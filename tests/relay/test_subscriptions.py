"""What a client with nothing but tools wishes to hear of, by server."""

from __future__ import annotations

import pytest

from emceepee.errors import ClientFault
from emceepee.relay.subscriptions import Subscriptions
from emceepee.vocabulary.notices import NOTHING, Interest
from tests.support.fake_backends import FakeServer, House, make_house
from tests.support.fake_clock import settle


def wants(house: House, server: str) -> list[Interest]:
    return house.pool.connections[server, "s"].wants


def uris(*which: str) -> Interest:
    return Interest(uris=frozenset(which))


async def test_one_uri_at_two_servers_is_two_wishes() -> None:
    house = make_house(a=FakeServer(), b=FakeServer())
    subscriptions = Subscriptions(house.middle.watch, house.middle.reach)
    for server in ("a", "b", "a"):
        await subscriptions.add("s", server, "note://1")
    await subscriptions.add("s", "a", "note://2")
    assert subscriptions.of("s") == [("a", "note://1"), ("a", "note://2"), ("b", "note://1")]
    assert (wants(house, "a")[-1], wants(house, "b")[-1]) == (uris("note://1", "note://2"), uris("note://1"))
    assert await subscriptions.remove("s", "a", "note://1") is True
    assert await subscriptions.remove("s", "a", "note://1") is False
    assert await subscriptions.remove("s", "b", "note://1") is True
    await settle()
    assert (wants(house, "a")[-1], wants(house, "b")[-1]) == (uris("note://2"), NOTHING)
    assert len(house.middle.watch) == 1
    assert not house.middle.watch.listens("s"), "a wish alone keeps no workspace alive"


async def test_a_server_that_does_not_tell_leaves_no_wish_behind() -> None:
    house = make_house(a=FakeServer(deliverable=NOTHING))
    subscriptions = Subscriptions(house.middle.watch, house.middle.reach)
    with pytest.raises(ClientFault, match="does not tell of changes"):
        await subscriptions.add("s", "a", "note://1")
    assert (subscriptions.of("s"), len(house.middle.watch)) == ([], 0)


async def test_the_end_of_a_workspace_ends_its_wishes() -> None:
    house = make_house(a=FakeServer())
    await house.middle.subscriptions.add("s", "a", "note://1")
    await house.middle.forget("s")
    assert house.middle.subscriptions.of("s") == []
    assert await house.middle.subscriptions.remove("s", "a", "note://1") is False
    assert len(house.middle.watch) == 0
