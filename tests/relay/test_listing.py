"""Lists: drained, kept while fresh, never waited for too long."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.errors import BackendUnavailable
from emceepee.relay.settings import RelaySettings
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.notices import Interest, ListChanged
from emceepee.vocabulary.outcomes import CacheHints, Failed
from emceepee.vocabulary.raw_json import read_value
from tests.support.fake_backends import FakeServer, House, answers, make_house, tool
from tests.support.fake_clock import settle


def names(house: House, server: str = "a") -> list[str]:
    listed = house.middle.listing.known(server, "s", "tools")
    return list(listed.index()) if listed else []


async def fetch(house: House, assume: float = 0.0, patience: float = 2.0):  # type: ignore[no-untyped-def]
    return await house.middle.listing.get("a", "s", "tools", patience, assume)


async def test_without_a_hint_a_list_is_asked_for_each_time() -> None:
    server = FakeServer(lists={"tools": [tool("x")]})
    house = make_house(a=server)
    await fetch(house)
    await fetch(house)
    assert len(server.asked) == 2


async def test_what_may_be_assumed_fresh_is_not_asked_for() -> None:
    server = FakeServer(lists={"tools": [tool("x")]})
    house = make_house(a=server)
    await fetch(house)
    await house.clock.advance(4)
    assert (await fetch(house, assume=5.0)).state == "fresh"
    assert len(server.asked) == 1
    await house.clock.advance(2)
    await fetch(house, assume=5.0)
    assert len(server.asked) == 2


async def test_how_lists_stand_is_said_without_asking_and_nothing_is_fresh_of_who_is_not_there() -> None:
    house = make_house(a=FakeServer(lists={"tools": [tool("x")]}))
    assert house.middle.listing.standing("a", "s") == {}
    await fetch(house)
    assert {name: one.state for name, one in house.middle.listing.standing("a", "s").items()} == {"tools": "fresh"}
    house.pool.lose("a")
    await house.clock.advance(3)
    (stands,) = house.middle.listing.standing("a", "s").values()
    assert (stands.state, stands.age) == ("stale", 3)


@pytest.mark.shows("EB-F12")
async def test_a_servers_own_hint_counts_down() -> None:
    server = FakeServer(lists={"tools": [tool("x")]}, hints=CacheHints(60_000, "public"))
    house = make_house(a=server)
    await fetch(house)
    await house.clock.advance(20)
    shown = await fetch(house)
    assert shown.hints() == CacheHints(40_000, "public")
    assert len(server.asked) == 1
    await house.clock.advance(41)
    await fetch(house)
    assert len(server.asked) == 2


async def test_a_server_that_tells_of_changes_is_asked_after_one_or_after_a_while() -> None:
    server = FakeServer(lists={"tools": [tool("x")]})
    house = make_house(a=server)
    await fetch(house)
    seen = house.middle.watch._seen["s"]["a"]
    seen.honoured = Interest(frozenset(("tools",)))
    await fetch(house)
    assert len(server.asked) == 1
    server.lists["tools"].append(tool("y"))
    house.pool.connections["a", "s"].tell(ListChanged("tools"))
    await fetch(house)
    assert names(house) == ["x", "y"]
    await fetch(house)
    assert len(server.asked) == 2
    await house.clock.advance(11)
    await fetch(house)
    assert len(server.asked) == 3


async def test_a_change_told_while_the_list_is_being_read_makes_it_stale() -> None:
    server = FakeServer(lists={"tools": [tool("x")]}, hints=CacheHints(60_000, "public"))
    house = make_house(a=server)
    await house.middle.reach.connection("a", "s")
    reading = house.tasks.spawn(fetch(house), "read")
    await asyncio.sleep(0)
    house.pool.connections["a", "s"].tell(ListChanged("tools"))
    await reading
    await fetch(house)
    assert len(server.asked) == 2


async def test_a_new_link_makes_a_list_stale() -> None:
    server = FakeServer(lists={"tools": [tool("x")]}, hints=CacheHints(60_000, "public"))
    house = make_house(a=server)
    await fetch(house)
    house.pool.lose("a")
    await house.middle.reach.connection("a", "s")
    await fetch(house)
    assert len(server.asked) == 2


async def test_several_who_ask_at_once_cause_one_question() -> None:
    server = FakeServer(lists={"tools": [tool("x")]})
    house = make_house(a=server)
    await asyncio.gather(*(fetch(house) for _ in range(5)))
    assert len(server.asked) == 1


async def test_a_hanging_server_delays_nobody_beyond_the_budget() -> None:
    slow, quick = FakeServer(hangs=True), FakeServer(lists={"tools": [tool("x")]})
    house = make_house(slow=slow, quick=quick)
    asking = house.tasks.spawn(house.middle.listing.get_all(("slow", "quick"), "s", "tools", 2.0), "ask")
    await house.clock.advance(1.9)
    assert not asking.done()
    await house.clock.advance(0.2)
    async with asyncio.timeout(5):
        shown = dict(await asking)
    assert shown["quick"].state == "fresh"
    assert shown["slow"].state == "down"
    assert shown["slow"].why == "Server 'slow': did not answer within 2 s"
    await house.tasks.close()


async def test_a_server_that_was_waited_for_in_vain_is_given_a_moment_only() -> None:
    house = make_house(slow=FakeServer(hangs=True), quick=FakeServer(lists={"tools": [tool("x")]}))
    for patience in (2.0, 0.25, 0.25):
        asking = house.tasks.spawn(house.middle.listing.get_all(("slow", "quick"), "s", "tools", 2.0), "ask")
        await house.clock.advance(patience - 0.1)
        assert not asking.done()
        await house.clock.advance(0.2)
        async with asyncio.timeout(5):
            shown = dict(await asking)
        assert (shown["slow"].state, shown["quick"].state) == ("down", "fresh")
    await house.tasks.close()


async def test_a_slow_server_that_answers_is_waited_for_again() -> None:
    slow = FakeServer(hangs=True, lists={"tools": [tool("x")]})
    house = make_house(slow=slow, quick=FakeServer(lists={"tools": [tool("y")]}))
    for hangs, patience in ((True, 2.0), (False, 0.0), (True, 2.0)):
        slow.hangs = hangs
        house.middle.listing.changed("slow", "s", "tools")
        asking = house.tasks.spawn(house.middle.listing.get_all(("slow", "quick"), "s", "tools", 2.0), "ask")
        await house.clock.advance(max(0.0, patience - 0.1))
        assert asking.done() is not hangs
        await house.clock.advance(0.2)
        async with asyncio.timeout(5):
            await asking
    await house.tasks.close()


async def test_whoever_asks_one_slow_server_alone_waits_as_long_as_it_said() -> None:
    house = make_house(slow=FakeServer(hangs=True))
    for _ in range(2):
        asking = house.tasks.spawn(house.middle.listing.get("slow", "s", "tools", 2.0), "ask")
        await house.clock.advance(1.9)
        assert not asking.done()
        await house.clock.advance(0.2)
        async with asyncio.timeout(5):
            assert (await asking).state == "down"
    await house.tasks.close()


async def test_what_was_known_is_shown_with_its_age_when_the_server_is_gone() -> None:
    server = FakeServer(lists={"tools": [tool("x")]})
    house = make_house(a=server)
    await fetch(house)
    house.pool.lose("a")
    server.fault = BackendUnavailable("a", "connection refused")
    await house.clock.advance(30)
    shown = await fetch(house)
    assert (shown.state, shown.age) == ("stale", 30.0)
    assert shown.why == "Server 'a': connection refused"
    assert shown.hints() == CacheHints(0, "private")


@pytest.mark.shows("A-CON-08")
async def test_a_link_that_turns_out_to_be_lost_is_made_anew_once() -> None:
    house = make_house(a=FakeServer(lists={"tools": [tool("x")]}))
    connection = await house.middle.reach.connection("a", "s")
    answered, lost = connection.request, iter([BackendUnavailable("a", "gone")])

    async def request(*asked):  # type: ignore[no-untyped-def]
        for fault in lost:
            raise fault
        return await answered(*asked)

    connection.request = request  # type: ignore[method-assign]
    assert (await fetch(house)).state == "fresh"


async def test_a_refusal_is_kept_as_the_server_said_it() -> None:
    server = FakeServer()
    house = make_house(a=server)
    connection = await house.middle.reach.connection("a", "s")
    connection._list = lambda call: Failed(-32000, "no")  # type: ignore[attr-defined]
    shown = await fetch(house)
    assert (shown.state, shown.refused) == ("down", Failed(-32000, "no"))


@pytest.mark.shows("X-BUG-36")
async def test_a_list_that_was_not_declared_is_not_asked_for() -> None:
    server = FakeServer(about=About({}), answer=answers(Failed(-32601, "Method not found")))
    house = make_house(a=server)
    shown = await fetch(house)
    assert (shown.state, shown.listed and shown.listed.items) == ("fresh", ())
    assert server.asked == []


async def test_scopes_that_see_the_same_list_share_it() -> None:
    house = make_house(a=FakeServer(lists={"tools": [tool("x")]}))
    one = await house.middle.listing.get("a", "one", "tools", 2.0)
    two = await house.middle.listing.get("a", "two", "tools", 2.0)
    assert one.listed is two.listed


async def test_a_scope_that_ends_leaves_nothing_behind() -> None:
    house = make_house(a=FakeServer(lists={"tools": [tool("x")]}))
    await fetch(house)
    assert len(house.middle.listing) == 1
    await house.middle.forget("s")
    assert len(house.middle.listing) == 0
    assert house.pool.released == ["s"]


async def test_the_oldest_scopes_lists_go_first() -> None:
    house = make_house(RelaySettings(max_shelves=2), a=FakeServer(lists={"tools": [tool("x")]}))
    for scope in ("one", "two", "three"):
        await house.middle.listing.get("a", scope, "tools", 2.0)
    assert house.middle.listing.known("a", "one", "tools") is None
    assert len(house.middle.listing) == 2


async def test_a_removed_server_is_forgotten() -> None:
    house = make_house(a=FakeServer(lists={"tools": [tool("x")]}))
    await fetch(house)
    house.registry.remove("a")
    await settle()
    assert house.middle.listing.known("a", "s", "tools") is None
    assert house.pool.dropped == ["a"]


async def test_entries_stay_as_they_came() -> None:
    entry = {"name": "x", "inputSchema": {"$ref": "#"}, "icons": [{}], "x-new": {"a": [1.0]}, "_meta": {"k": "v"}}
    house = make_house(a=FakeServer(lists={"tools": [entry]}))
    shown = await fetch(house)
    assert shown.listed is not None
    assert [read_value(item) for item in shown.listed.items] == [entry]


async def test_a_server_that_came_back_with_nothing_is_believed_after_a_while() -> None:
    server = FakeServer(lists={"tools": [tool("x")]})
    house = make_house(a=server)
    told: list[str] = []
    house.middle.listing.on_found = lambda server, scope, kind: told.append(kind)
    await fetch(house)
    server.lists["tools"] = []
    house.pool.lose("a")
    shown = await fetch(house)
    assert (shown.state, names(house), told) == ("stale", ["x"], [])
    assert "lists nothing yet" in shown.why
    await house.clock.advance(3.1)
    assert (await fetch(house)).state == "fresh"
    assert (names(house), told) == ([], ["tools"])


async def test_a_server_that_finds_its_things_a_moment_later_never_blinked() -> None:
    server = FakeServer(lists={"tools": [tool("x")]})
    house = make_house(a=server)
    told: list[str] = []
    house.middle.listing.on_found = lambda server, scope, kind: told.append(kind)
    await fetch(house)
    server.lists["tools"] = []
    house.pool.lose("a")
    await fetch(house)
    server.lists["tools"] = [tool("x")]
    assert (await fetch(house)).state == "fresh"
    assert told == []


async def test_a_server_that_takes_its_last_tool_away_while_it_is_there_is_believed_at_once() -> None:
    server = FakeServer(lists={"tools": [tool("x")]})
    house = make_house(a=server)
    await fetch(house)
    server.lists["tools"] = []
    assert ((await fetch(house)).state, names(house)) == ("fresh", [])
