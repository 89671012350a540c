"""What servers listed when they were last seen: shown with its age to whoever comes while they are away."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emceepee.backends.catalogue import make_listed
from emceepee.errors import BackendUnavailable
from emceepee.relay.manifests import WRITTEN_EVERY, Manifests
from emceepee.relay.settings import RelaySettings
from emceepee.vocabulary.raw_json import to_raw
from tests.support.fake_backends import FakeServer, House, definition, make_house, tool
from tests.support.fake_clock import FakeClock

TOOLS = make_listed("tools", [to_raw(tool("x"))], {"vendor": to_raw(1)}, None)


class Drawer(dict[str, bytes]):
    """Implements `ManifestStore`; remembers how often it was written."""

    writes = 0

    def put(self, name: str, body: bytes) -> bool:
        self[name] = body
        self.writes += 1
        return True

    def remove(self, name: str) -> None:
        self.pop(name, None)


class Kept:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.definitions = {"a": definition("a")}
        self.drawer = Drawer()

    def run(self, grace: float = 3600.0) -> Manifests:
        """A new one, over what earlier ones left."""
        manifests = Manifests(self.definitions.get, self.clock, grace)
        manifests.keep_in(self.drawer)
        return manifests


async def test_what_was_seen_is_known_with_its_age_also_in_the_next_run() -> None:
    kept = Kept()
    kept.run().seen("a", TOOLS, True)
    await kept.clock.advance(60)
    found = kept.run().known("a", "tools")
    assert found is not None
    listed, age = found
    assert (listed.digest, listed.extras.keys(), round(age)) == (TOOLS.digest, TOOLS.extras.keys(), 60)
    await kept.clock.advance(3600)
    assert kept.run().known("a", "tools") is None, "too long ago"


async def test_a_list_that_stays_the_same_is_seldom_written() -> None:
    kept = Kept()
    manifests = kept.run()
    for _ in range(10):
        manifests.seen("a", TOOLS, True)
        await kept.clock.advance(1)
    assert kept.drawer.writes == 1
    manifests.seen("a", make_listed("tools", [], {}, None), True)
    assert kept.drawer.writes == 2
    await kept.clock.advance(WRITTEN_EVERY)
    manifests.seen("a", make_listed("tools", [], {}, None), True)
    assert kept.drawer.writes == 3


def test_what_one_definition_listed_is_not_shown_for_another_of_its_name() -> None:
    kept = Kept()
    kept.run().seen("a", TOOLS, True)
    kept.definitions["a"] = definition("a", "http://elsewhere.example/mcp")
    assert kept.run().known("a", "tools") is None
    kept.definitions["a"] = replace(definition("a"), disabled=True)
    assert kept.run().known("a", "tools") is not None, "disabled, it is the same server"
    kept.definitions.clear()
    assert kept.run().known("a", "tools") is None


@pytest.mark.parametrize("name", ["resources", "templates"])
@pytest.mark.parametrize("for_everyone", [True, False])
def test_resources_of_one_session_are_not_shown_to_another(name: str, for_everyone: bool) -> None:
    kept = Kept()
    manifests = kept.run()
    manifests.seen("a", make_listed(name, (), {}, None), for_everyone)  # type: ignore[arg-type]
    assert (manifests.known("a", name) is not None) == for_everyone  # type: ignore[arg-type]


def test_a_server_that_is_no_more_leaves_nothing() -> None:
    kept = Kept()
    manifests = kept.run()
    manifests.seen("a", TOOLS, True)
    manifests.forget("a")
    assert (manifests.known("a", "tools"), kept.drawer) == (None, {})


def test_what_cannot_be_read_is_as_if_it_were_not_there() -> None:
    kept = Kept()
    kept.drawer["a/tools"] = b"{"
    assert kept.run().known("a", "tools") is None


# -- shown


def with_down(house: House) -> House:
    house.pool.servers["a"].fault = BackendUnavailable("a", "refused")
    return house


async def shown(house: House, scope: str, patience: float = 2.0):  # type: ignore[no-untyped-def]
    return await house.middle.listing.get("a", scope, "tools", patience)


async def test_who_comes_while_a_server_is_away_is_shown_what_others_saw_of_it() -> None:
    house = make_house(a=FakeServer(lists={"tools": [tool("x")]}))
    await shown(house, "first")
    await house.clock.advance(30)
    with_down(house)
    late = await shown(house, "second")
    assert (late.state, list(late.listed.index()), late.age) == ("stale", ["x"], 30)
    assert "refused" in late.why


async def test_it_is_shown_for_a_while_and_then_no_more() -> None:
    house = make_house(RelaySettings(stale_grace=100), a=FakeServer(lists={"tools": [tool("x")]}))
    await shown(house, "s")
    with_down(house)
    house.pool.lose("a", "s")
    await house.clock.advance(99)
    assert (await shown(house, "s")).state == "stale"
    await house.clock.advance(2)
    gone = await shown(house, "s")
    assert (gone.state, gone.listed) == ("down", None)
    assert (await shown(house, "other")).state == "down"


async def test_a_server_that_hangs_is_not_waited_for_where_there_is_something_to_show() -> None:
    house = make_house(a=FakeServer(lists={"tools": [tool("x")]}))
    await shown(house, "first")
    house.pool.servers["a"].hangs = True
    asking = house.tasks.spawn(shown(house, "second", patience=30.0), "ask")
    await house.clock.advance(2.1)
    assert asking.done()
    assert asking.result().state == "stale"
    await house.tasks.close()


async def test_who_was_shown_what_others_saw_is_told_when_it_turns_out_to_be_different() -> None:
    house = make_house(a=FakeServer(lists={"tools": [tool("x")]}))
    told: list[str] = []
    house.middle.listing.on_found = lambda server, scope, kind: told.append(scope)
    await shown(house, "first")
    house.pool.servers["a"].lists["tools"] = [tool("y")]
    assert (await shown(house, "second")).state == "fresh"
    assert told == [], "it was shown nothing else before"
    house.pool.servers["a"].hangs = True
    asking = house.tasks.spawn(shown(house, "third"), "ask")
    await house.clock.advance(2.1)
    assert asking.result().state == "stale"
    house.pool.servers["a"].lists["tools"] = [tool("z")]
    house.pool.servers["a"].release()
    await house.clock.advance(0)
    assert told == ["third"]
    await house.tasks.close()
