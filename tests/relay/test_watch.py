"""Standing wishes: added up per scope, said to servers, answered to their owners only."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from emceepee.errors import ClientFault, LimitReached
from emceepee.relay.settings import RelaySettings
from emceepee.relay.surface import Listener
from emceepee.relay.transparent import Transparent
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.notices import (
    EVERY_LIST,
    NOTHING,
    Interest,
    ListChanged,
    LogLine,
    Notice,
    OtherNotice,
    ResourceUpdated,
)
from emceepee.vocabulary.raw_json import to_raw
from tests.support.fake_backends import FakeConnection, FakeServer, House, caller, definition, make_house, tool
from tests.support.fake_clock import settle

NOTE = {"uri": "note://1", "name": "one"}
TOOLS = Interest(frozenset(("tools",)))


def uris(*which: str) -> Interest:
    return Interest(uris=frozenset(which))


def line(level: str) -> LogLine:
    return LogLine(level, {})  # type: ignore[arg-type]


async def listen(
    house: House, interest: Interest, scope: str = "s", server: str = "a"
) -> tuple[Listener, list[Notice]]:
    heard: list[Notice] = []
    surface = Transparent(house.middle, server)
    return await surface.listen(caller(scope), interest, heard.append), heard


def wants(house: House, scope: str = "s") -> list[Interest]:
    return house.pool.connections["a", scope].wants


def tell(house: House, notices: Iterable[Notice], scope: str = "s") -> None:
    for notice in notices:
        house.pool.connections["a", scope].tell(notice)


async def test_a_notice_reaches_the_listeners_that_wished_it() -> None:
    house = make_house(a=FakeServer())
    _, tools = await listen(house, TOOLS)
    _, prompts = await listen(house, Interest(frozenset(("prompts",))))
    tell(house, [ListChanged("tools"), ListChanged("prompts"), ListChanged("resources")])
    assert tools == [ListChanged("tools")]
    assert prompts == [ListChanged("prompts")]


async def test_a_notice_never_crosses_to_another_scope() -> None:
    house = make_house(a=FakeServer())
    _, mine = await listen(house, TOOLS, "one")
    _, yours = await listen(house, TOOLS, "two")
    tell(house, [ListChanged("tools"), line("error")], "one")
    assert mine == [ListChanged("tools"), line("error")]
    assert yours == []


async def test_the_wishes_of_a_scope_add_up_and_are_withdrawn_with_the_last_who_had_them() -> None:
    house = make_house(a=FakeServer(lists={"resources": [NOTE]}))
    first, _ = await listen(house, TOOLS)
    second, _ = await listen(house, TOOLS | uris("note://1"))
    assert wants(house)[-1] == TOOLS | uris("note://1")
    await second.close()
    await settle()
    assert wants(house)[-1] == TOOLS
    await first.close()
    await settle()
    assert wants(house)[-1] == NOTHING
    assert len(house.middle.watch) == 0


async def test_who_has_our_tools_wishes_to_be_told_of_lists_and_what_is_replaced_needs_no_telling() -> None:
    house = make_house(a=FakeServer())
    house.middle.workspaces.at("s").by_tools = True
    await house.middle.reach.connection("a", "s")
    await settle()
    assert wants(house) == [Interest(EVERY_LIST)]
    listener, _ = await listen(house, uris("note://1"))
    await listener.close()
    await settle()
    assert wants(house)[-1] == Interest(EVERY_LIST)
    assert house.middle.watch.replaced("a") == []


@pytest.mark.shows("EB-F8")
async def test_a_first_wish_is_granted_as_far_as_it_can_be() -> None:
    house = make_house(a=FakeServer(lists={"resources": [NOTE]}))
    listener, heard = await listen(house, TOOLS | uris("note://nobody"))
    assert listener.honoured == TOOLS
    assert all(not wish.uris for wish in wants(house))
    tell(house, [ListChanged("tools"), ResourceUpdated("note://nobody", {})])
    assert heard == [ListChanged("tools")]


async def test_what_the_server_will_not_tell_is_not_honoured() -> None:
    house = make_house(a=FakeServer(lists={"resources": [NOTE]}, deliverable=uris("note://1")))
    listener, _ = await listen(house, TOOLS | uris("note://1"))
    assert listener.honoured == uris("note://1")


async def test_a_kind_of_change_that_the_server_never_promised_is_not_honoured() -> None:
    house = make_house(a=FakeServer(about=About({"tools": to_raw({}), "prompts": to_raw({"listChanged": True})})))
    listener, _ = await listen(house, Interest(frozenset(("tools", "prompts"))))
    assert listener.honoured == Interest(frozenset(("prompts",)))
    assert not house.middle.watch.watched("a", "s", "tools")


async def test_a_listener_of_a_server_that_is_down_is_told_once_it_is_there() -> None:
    server = FakeServer()
    house = make_house()
    house.registry.add(definition("a"))
    listener, heard = await listen(house, TOOLS | uris("note://1"))
    assert listener.honoured == TOOLS
    house.pool.servers["a"] = server
    await house.middle.reach.connection("a", "s")
    await settle()
    assert wants(house) == [TOOLS]
    tell(house, [ListChanged("tools")])
    assert heard == [ListChanged("tools")]


@pytest.mark.shows("EB-F9")
async def test_a_resource_wished_twice_and_withdrawn_once_is_still_told() -> None:
    house = make_house(a=FakeServer(lists={"resources": [NOTE]}))
    first, _ = await listen(house, NOTHING)
    second, heard = await listen(house, NOTHING)
    await first.change(uris("note://1"))
    await second.change(uris("note://1"))
    await first.change(NOTHING)
    assert wants(house)[-1] == uris("note://1")
    tell(house, [ResourceUpdated("note://1", {})])
    assert heard == [ResourceUpdated("note://1", {})]


async def test_a_later_wish_that_the_server_refuses_changes_nothing() -> None:
    house = make_house(a=FakeServer(lists={"resources": [NOTE]}, deliverable=uris("note://1")))
    listener, _ = await listen(house, uris("note://1"))
    with pytest.raises(ClientFault):
        await listener.change(uris("note://1", "note://2"))
    await settle()
    assert listener.honoured == uris("note://1")
    assert wants(house)[-1] == uris("note://1")


async def test_a_later_wish_is_the_servers_to_judge_not_its_lists() -> None:
    house = make_house(a=FakeServer())
    listener, _ = await listen(house, NOTHING)
    await listener.change(uris("note://unlisted"))
    assert wants(house)[-1] == uris("note://unlisted")


async def test_a_part_of_a_wished_resource_is_told() -> None:
    house = make_house(a=FakeServer(lists={"resources": [{"uri": "file:///d", "name": "d"}]}))
    _, heard = await listen(house, uris("file:///d"))
    tell(house, [ResourceUpdated("file:///d/x", {}), ResourceUpdated("file:///dx", {})])
    assert heard == [ResourceUpdated("file:///d/x", {})]


@pytest.mark.shows("EB-F10")
async def test_after_the_server_was_replaced_everything_wished_is_told_as_changed_and_wished_again() -> None:
    house = make_house(a=FakeServer(lists={"resources": [NOTE]}))
    _, heard = await listen(house, TOOLS | uris("note://1"))
    house.registry.add(definition("a", "http://elsewhere.example/mcp"))
    await settle()
    assert heard == [ListChanged("tools"), ResourceUpdated("note://1", {})]
    assert wants(house) == [TOOLS | uris("note://1")]


async def test_log_lines_pass_the_level_that_the_scope_set() -> None:
    house = make_house(a=FakeServer())
    _, heard = await listen(house, NOTHING)
    tell(house, [line("debug")])
    await Transparent(house.middle, "a").set_log_level(caller(), "warning")
    tell(house, [line("info"), line("error")])
    assert heard == [line("debug"), line("error")]
    assert house.pool.connections["a", "s"].levels == ["warning"]


async def test_a_level_set_before_there_was_a_connection_is_said_to_it() -> None:
    house = make_house(a=FakeServer())
    await Transparent(house.middle, "a").set_log_level(caller(), "debug")
    await house.middle.reach.connection("a", "s")
    await settle()
    assert house.pool.connections["a", "s"].levels == ["debug"]


async def test_an_unknown_notice_goes_to_who_sees_that_server_alone() -> None:
    house = make_house(a=FakeServer())
    _, heard = await listen(house, NOTHING)
    tell(house, [OtherNotice("notifications/x", {})])
    assert heard == [OtherNotice("notifications/x", {})]


async def test_a_list_change_reaches_the_lists_before_the_listeners() -> None:
    server = FakeServer(lists={"tools": [tool("x")]})
    house = make_house(a=server)
    await listen(house, Interest(EVERY_LIST))
    await house.middle.listing.get("a", "s", "tools", 1.0)
    tell(house, [ListChanged("tools")])
    assert house.middle.listing.unchanged("a", "s", "tools") is None


async def test_a_scope_that_ends_hears_no_more() -> None:
    house = make_house(a=FakeServer())
    listener, heard = await listen(house, TOOLS)
    connection = house.pool.connections["a", "s"]
    await house.middle.forget("s")
    assert connection.on_notice is None
    await listener.close()
    assert (heard, len(house.middle.watch)) == ([], 0)


async def test_listeners_and_wishes_are_bounded() -> None:
    house = make_house(RelaySettings(max_listeners=1, max_uris=1), a=FakeServer())
    with pytest.raises(LimitReached):
        await listen(house, uris("a:1", "a:2"))
    listener, _ = await listen(house, NOTHING)
    with pytest.raises(LimitReached):
        await listen(house, NOTHING)
    with pytest.raises(LimitReached):
        await listener.change(uris("a:1", "a:2"))


async def test_a_listener_who_leaves_while_his_wish_is_being_granted_takes_up_no_room() -> None:
    house = make_house(settings=RelaySettings(max_listeners=1), a=FakeServer(hangs=True))
    for _ in range(3):
        listening = asyncio.create_task(listen(house, uris("note://1")))
        await settle()
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening
    assert len(house.middle.watch) == 0


async def test_a_further_connection_of_a_scope_is_heard_and_has_its_level_and_wishes_nothing() -> None:
    house = make_house(a=FakeServer())
    _, heard = await listen(house, TOOLS)
    beside = FakeConnection(house.pool.servers["a"])
    house.middle.watch.greet("a", "s", beside)
    beside.tell(ListChanged("tools"))
    assert heard == [ListChanged("tools")]
    await house.middle.watch.set_log_level("s", "error")
    assert (beside.levels, house.pool.connections["a", "s"].levels) == (["error"], ["error"])
    late = FakeConnection(house.pool.servers["a"])
    house.middle.watch.greet("a", "s", late)
    await settle()
    assert late.levels == ["error"]
    assert (beside.wants, wants(house)[-1]) == ([], TOOLS)
    house.middle.watch.forget("s")
    assert (beside.on_notice, late.on_notice) == (None, None)
