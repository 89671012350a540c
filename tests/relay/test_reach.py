"""From a name to a connection."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.errors import BackendTimeout, BackendUnavailable, ClientFault
from emceepee.relay.reach import nearest
from tests.support.fake_backends import FakeServer, definition, make_house
from tests.support.fake_clock import settle


@pytest.mark.shows("A-CON-07")
async def test_an_unknown_name_says_which_there_are() -> None:
    house = make_house(a=FakeServer(), b=FakeServer())
    with pytest.raises(ClientFault) as refused:
        await house.middle.reach.connection("c", "s")
    assert refused.value.data == {"reason": "server_not_found", "serverName": "c", "known": ["a", "b"]}


async def test_a_caller_with_little_patience_leaves_and_the_attempt_goes_on() -> None:
    house = make_house(a=FakeServer())
    house.pool.connecting["a"] = asyncio.Event()
    waiting = house.tasks.spawn(_fault_of(house.middle.reach.connection_within("a", "s", 2.0)), "wait")
    await house.clock.advance(2.1)
    async with asyncio.timeout(5):
        assert isinstance(await waiting, BackendTimeout)
    house.pool.connecting["a"].set()
    await settle()
    assert ("a", "s") in house.pool.connections


async def _fault_of(work):  # type: ignore[no-untyped-def]
    try:
        await work
    except BackendTimeout as fault:
        return fault


@pytest.mark.shows("A-CON-06")
async def test_after_a_failed_attempt_the_next_use_tries_again() -> None:
    house = make_house(a=FakeServer(fault=BackendUnavailable("a", "refused")))
    with pytest.raises(BackendUnavailable):
        await house.middle.reach.connection("a", "s")
    house.pool.servers["a"].fault = None
    assert await house.middle.reach.connection("a", "s")


async def test_while_old_connections_close_nobody_gets_a_new_one() -> None:
    house = make_house(a=FakeServer())
    await house.middle.reach.connection("a", "s")
    house.pool.dropping["a"] = asyncio.Event()
    house.registry.add(definition("a", "http://moved.example/mcp"))
    asking = house.tasks.spawn(house.middle.reach.connection("a", "s"), "ask")
    await settle()
    assert house.pool.connections == {}
    house.pool.dropping["a"].set()
    async with asyncio.timeout(5):
        await asking
    assert house.pool.connects["a", "s"] == 2


def test_the_nearest_name_ignores_case_and_gives_up_on_strangers() -> None:
    assert nearest("READ-file", ["write", "read_file"]) == "read_file"
    assert nearest("zzz", ["write", "read_file"]) is None
