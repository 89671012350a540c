"""What handlers share."""

from __future__ import annotations

import pytest

from emceepee.errors import BackendUnavailable, ClientFault
from emceepee.meta_tools.desk import Desk, known_lists, servers_block
from emceepee.relay.listing import Shown
from emceepee.relay.settings import RelaySettings
from emceepee.runtime.waiting_line import WaitingLine
from tests.support.fake_backends import FakeServer, House, make_house, tool


async def test_a_disabled_or_unknown_server_is_said_before_anything_is_asked() -> None:
    with pytest.raises(ClientFault):
        await desk_of(make_house()).lists("s", "tools", "x")


async def test_one_server_is_waited_for_longer_than_all_together() -> None:
    house = make_house(RelaySettings(listing_budget=0.0), a=FakeServer(lists={"tools": [tool("t")]}))
    ((_, shown),) = await desk_of(house).lists("s", "tools", "a")
    assert shown.state == "fresh"


def test_a_server_line_says_how_far_its_part_can_be_trusted() -> None:
    down = Shown("down", fault=BackendUnavailable("a", "gone"))
    assert servers_block([("a", down)], "tools") == [{"name": "a", "status": "down", "why": "Server 'a': gone"}]
    assert known_lists([("a", down)]) == []


def desk_of(house: House) -> Desk:
    return Desk(house.middle, WaitingLine(house.middle.clock, 120.0))
