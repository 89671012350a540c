"""A new workspace reaches out to every server."""

from __future__ import annotations

import asyncio
import dataclasses
import logging

import pytest

from emceepee.relay.auto_connect import MOMENT, AutoConnect
from emceepee.sessions.workspace import Workspace
from tests.support.fake_backends import FakeServer, House, definition, make_house
from tests.support.fake_clock import settle


async def begun(house: House, scope: str = "slot.SECRET") -> Workspace:
    workspace = house.middle.workspaces.at(scope)
    AutoConnect(house.middle.reach, house.clock).begin(workspace)
    await settle()
    await house.clock.advance(MOMENT)
    return workspace


@pytest.mark.shows("A-SES-06")
async def test_one_that_cannot_be_reached_is_logged_and_the_others_are_tried(caplog: pytest.LogCaptureFixture) -> None:
    house = make_house(a=FakeServer(), c=FakeServer())
    house.registry.add(definition("b"))
    with caplog.at_level(logging.WARNING, "emceepee.relay"):
        workspace = await begun(house)
        await settle()
    assert set(house.pool.connections) == {("a", "slot.SECRET"), ("c", "slot.SECRET")}
    (line,) = [record for record in caplog.records if record.message == "session_auto_connect_failed"]
    assert line.data == {"sessionId": "slot.SECR…", "server": "b", "error": "Server 'b': connection refused"}
    assert len(workspace.jobs) == 0


async def test_they_are_tried_at_once_and_the_disabled_not_at_all() -> None:
    house = make_house(a=FakeServer(), b=FakeServer())
    house.registry.add(dataclasses.replace(definition("off"), disabled=True))
    house.pool.connecting["a"] = asyncio.Event()
    await begun(house)
    await settle()
    assert set(house.pool.connections) == {("b", "slot.SECRET")}
    assert house.pool.errors == {}
    house.pool.connecting["a"].set()
    await settle()
    assert len(house.pool.connections) == 2


async def test_only_so_many_are_tried_at_the_same_moment() -> None:
    names = [f"s{number}" for number in range(40)]
    house = make_house(**{name: FakeServer() for name in names})
    gate = asyncio.Event()
    house.pool.connecting = dict.fromkeys(names[:32], gate)
    await begun(house)
    await settle()
    assert house.pool.connections == {}
    gate.set()
    await settle()
    assert len(house.pool.connections) == 40


@pytest.mark.shows("X-BUG-50")
async def test_what_is_still_trying_ends_with_its_workspace() -> None:
    house = make_house(a=FakeServer())
    house.pool.connecting["a"] = asyncio.Event()
    workspace = await begun(house)
    await settle()
    assert len(workspace.jobs) == 1
    await house.middle.forget("slot.SECRET")
    assert len(workspace.jobs) == 0
    house.pool.connecting["a"].set()
    await settle()
    assert house.pool.connections == {}


async def test_whoever_goes_again_at_once_has_cost_no_connection() -> None:
    house = make_house(a=FakeServer())
    workspace = house.middle.workspaces.at("slot.SECRET")
    AutoConnect(house.middle.reach, house.clock).begin(workspace)
    await settle()
    assert house.pool.connections == {}
    await house.middle.forget("slot.SECRET")
    await house.clock.advance(2 * MOMENT)
    assert house.pool.connections == {}
