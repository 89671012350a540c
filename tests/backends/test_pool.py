"""Who shares which connection, who waits for whom, and what is closed when."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pytest

from emceepee.backends.connection import Connection, Link
from emceepee.backends.definition import HttpEndpoint, InProcess, ServerDefinition
from emceepee.backends.pool import OnLost, Pool, Settings
from emceepee.errors import BackendTimeout, BackendUnavailable, LimitReached, OutcomeUnknown
from emceepee.vocabulary.asks import CLOSED, NO_ASKS, AskDoor, AskProfile
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.notices import EVERY_LIST, Interest, Notice, ResourceUpdated
from tests.support.fake_clock import FakeClock, settle
from tests.support.fake_links import FakeDialer, FakeLink

FILES = ServerDefinition("files", InProcess("files"), connect_timeout=0.05)

FORM: AskProfile = frozenset(("form",))


class House:
    def __init__(self, max_links: int = 100) -> None:
        self.dialer = FakeDialer()
        self.definitions = {"files": FILES}
        find: Callable[[str], ServerDefinition | None] = self.definitions.get
        self.clock = FakeClock()
        self.pool = Pool(find, self.dialer, self.clock, Settings(max_links=max_links), lambda: 1.0)


@pytest.fixture
async def house():
    made = House()
    yield made
    made.dialer.gate.set()
    await made.pool.close()


@pytest.mark.shows("A-CON-04", "A-CON-05", "X-BUG-28")
async def test_first_uses_at_the_same_time_share_one_attempt(house: House) -> None:
    house.dialer.gate.clear()
    uses = [asyncio.ensure_future(house.pool.connection("files", "s1")) for _ in range(5)]
    await settle()
    assert house.pool.status("files", "s1").state == "connecting"
    house.dialer.gate.set()
    handles = {id(await use) for use in uses}
    assert (len(handles), house.dialer.dials) == (1, 1)
    assert await house.pool.connection("files", "s1") is await uses[0]
    assert house.dialer.dials == 1


@pytest.mark.shows("A-CON-13")
async def test_two_scopes_have_two_links(house: House) -> None:
    first, second = await house.pool.connection("files", "s1"), await house.pool.connection("files", "s2")
    assert first.link is not second.link
    assert len(house.pool) == 2


async def test_a_server_without_sessions_is_connected_once_for_every_scope(house: House) -> None:
    house.dialer.for_everyone, house.dialer.known = True, False
    uses = await asyncio.gather(*(house.pool.connection("files", f"s{n}") for n in range(4)))
    assert len({id(handle.link) for handle in uses}) == house.dialer.dials == 1
    await house.pool.release("s0")
    assert house.dialer.links[0].closed == 0
    await house.pool.drop("files")
    assert house.dialer.links[0].closed == 1


@pytest.mark.shows("A-CON-03", "A-CON-06", "A-CON-08")
async def test_a_failed_attempt_is_shown_and_the_next_use_tries_again(house: House) -> None:
    house.dialer.fault = BackendUnavailable("files", "connection refused")
    with pytest.raises(BackendUnavailable):
        await house.pool.connection("files", "s1")
    status = house.pool.status("files", "s1")
    assert (status.state, status.last_error, status.connected_at) == ("error", "connection refused", None)
    house.dialer.fault = None
    await house.pool.connection("files", "s1")
    status = house.pool.status("files", "s1")
    assert (status.state, status.last_error, status.revision) == ("connected", None, "2025-11-25")
    assert status.connected_at is not None
    assert status.connected_at.endswith("Z")


async def test_who_waits_has_a_limit_and_the_attempt_goes_on_for_the_next(house: House) -> None:
    house.dialer.gate.clear()
    waiting = asyncio.ensure_future(house.pool.connection("files", "s1"))
    await house.clock.advance(0.06)
    with pytest.raises(BackendTimeout, match="the attempt goes on"):
        await waiting
    house.dialer.gate.set()
    await house.pool.connection("files", "s1")
    assert house.dialer.dials == 1


@pytest.mark.shows("A-CON-15")
async def test_a_lost_link_is_disconnected_closed_and_made_anew_by_the_next_use(house: House) -> None:
    handle = await house.pool.connection("files", "s1")
    house.dialer.links[0].lose()
    await settle()
    status = house.pool.status("files", "s1")
    assert (status.state, status.last_error) == ("disconnected", "it exited with code 1")
    assert house.dialer.links[0].closed == 1
    assert await house.pool.connection("files", "s1") is handle
    assert handle.link is house.dialer.links[1]


async def test_a_new_link_is_told_what_was_wished_and_the_listener_that_anything_may_have_changed(house: House) -> None:
    heard: list[Notice] = []
    handle = await house.pool.connection("files", "s1")
    handle.on_notice = heard.append
    await handle.want(Interest(frozenset(["tools"]), frozenset(["a://b"])))
    await handle.set_log_level("warning")
    assert heard == []
    house.dialer.links[0].lose()
    await house.pool.connection("files", "s1")
    assert house.dialer.links[1].wanted == [Interest(frozenset(["tools"]), frozenset(["a://b"]))]
    assert house.dialer.links[1].levels == ["warning"]
    assert heard == [ResourceUpdated("a://b", {})], "lists are compared by whoever has seen them"


@pytest.mark.shows("X-BUG-44")
async def test_a_server_removed_while_connecting_is_not_left_connected(house: House) -> None:
    house.dialer.gate.clear()
    use = asyncio.ensure_future(house.pool.connection("files", "s1"))
    await settle()
    del house.definitions["files"]
    house.dialer.gate.set()
    with pytest.raises(BackendUnavailable, match="removed or changed while connecting"):
        await use
    assert house.dialer.links[0].closed == 1
    assert len(house.pool) == 0


@pytest.mark.shows("X-BUG-50")
async def test_an_attempt_of_a_scope_that_ends_is_ended_with_it(house: House) -> None:
    house.dialer.gate.clear()
    use = asyncio.ensure_future(house.pool.connection("files", "s1"))
    await settle()
    await house.pool.release("s1")
    with pytest.raises(BackendUnavailable):
        await use
    assert len(house.pool) == house.pool.handles == 0


@pytest.mark.shows("X-BUG-43", "X-BUG-31")
async def test_dropping_a_server_closes_it_for_all_scopes_at_once_and_counts_as_no_loss(house: House) -> None:
    for scope in ("s1", "s2", "s3"):
        await (await house.pool.connection("files", scope)).want(Interest(EVERY_LIST))
    await house.pool.drop("files")
    assert [link.closed for link in house.dialer.links] == [1, 1, 1]
    assert len(house.pool) == house.pool.handles == 0
    assert house.pool.status("files", "s1").state == "not_connected"


async def test_an_outdated_verdict_makes_the_next_use_dial_again(house: House) -> None:
    handle = await house.pool.connection("files", "s1")
    house.dialer.old = True
    await house.pool.connection("files", "s1")
    assert (house.dialer.dials, house.dialer.links[0].closed) == (2, 1)
    assert handle.link is house.dialer.links[1]


async def test_reconnecting_closes_the_old_link_first(house: House) -> None:
    handle = await house.pool.connection("files", "s1")
    assert await house.pool.reconnect("files", "s1") is handle
    assert (house.dialer.links[0].closed, house.dialer.dials) == (1, 2)


async def test_connections_are_bounded() -> None:
    house = House(max_links=2)
    await house.pool.connection("files", "s1")
    await house.pool.connection("files", "s2")
    with pytest.raises(LimitReached, match="backend connections: the limit is 2"):
        await house.pool.connection("files", "s3")
    await house.pool.release("s1")
    await house.pool.connection("files", "s3")
    await house.pool.close()


async def test_a_scope_that_ends_leaves_a_shared_link_to_the_others_and_closes_its_own(house: House) -> None:
    house.definitions["shared"] = ServerDefinition("shared", InProcess("shared"), affinity="shared")
    await house.pool.connection("files", "s1")
    for scope in ("s1", "s2"):
        await house.pool.connection("shared", scope)
    own, shared = house.dialer.links
    await house.pool.release("s1")
    assert (own.closed, own.left) == (1, []), "what is closed need not be taken leave of"
    assert (shared.closed, shared.left) == (0, ["s1"])
    await house.pool.release("s2")
    assert (shared.closed, shared.left) == (0, ["s1", "s2"]), "it waits for whoever comes next"
    await house.pool.connection("shared", "s3")
    assert house.dialer.dials == 2


async def test_links_for_everyone_that_are_lost_again_and_again_use_up_no_room() -> None:
    house = House(max_links=2)
    house.dialer.for_everyone = True
    for number in range(5):
        await house.pool.connection("files", f"s{number}")
        house.dialer.links[-1].lose()
        await settle()
        await house.pool.release(f"s{number}")
    assert (len(house.pool), house.pool.handles, house.pool.pending) == (0, 0, 0)
    await house.pool.close()


async def test_a_second_link_for_everyone_does_not_take_the_place_of_the_first(house: House) -> None:
    house.dialer.for_everyone, house.dialer.known = True, True
    house.dialer.gate.clear()
    both = [asyncio.create_task(house.pool.connection("files", scope)) for scope in ("s1", "s2")]
    await settle()
    house.dialer.gate.set()
    handles = [await one for one in both]
    used = (await house.pool.connection("files", "s3")).link
    assert used is handles[0].link
    await house.pool.release("s2")
    assert used is not None
    assert used.alive


async def test_a_disabled_server_is_never_dialled(house: House) -> None:
    house.definitions["files"] = ServerDefinition("files", InProcess("files"), disabled=True)
    with pytest.raises(BackendUnavailable, match="disabled"):
        await house.pool.connection("files", "s1")
    assert house.dialer.dials == 0


@pytest.mark.shows("A-CON-01")
async def test_a_connection_is_connecting_before_anything_is_dialled(house: House) -> None:
    states: list[str] = []
    dial = house.dialer.dial

    async def watched(definition: ServerDefinition, on_lost: OnLost, *more: Any) -> tuple[Link, bool]:
        states.append(house.pool.status("files", "s1").state)
        return await dial(definition, on_lost, *more)

    house.dialer.dial = watched  # type: ignore[method-assign]
    assert house.pool.status("files", "s1").state == "not_connected"
    await house.pool.connection("files", "s1")
    assert states == ["connecting"]
    assert house.pool.status("files", "s1").state == "connected"


@pytest.mark.shows("A-LOG-04", "A-LOG-05", "X-CON-38")
async def test_coming_and_going_are_logged_under_the_seeds_names(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "emceepee.backends"):
        await house.pool.connection("files", "s1")
        house.dialer.links[0].lose()
        await settle()
    told = [(record.levelname, record.message, getattr(record, "data", None)) for record in caplog.records]
    assert told == [
        ("INFO", "server_connected", {"server": "files", "url": "memory:files", "asks": "-"}),
        ("INFO", "server_disconnected", {"server": "files", "reason": "it exited with code 1"}),
        ("INFO", "server_reconnecting", {"server": "files", "attempt": 1, "delayMs": 1000}),
    ]


async def test_a_use_while_the_outdated_link_is_still_closing_joins_the_attempt(house: House) -> None:
    await house.pool.connection("files", "a")
    closing = asyncio.Event()
    first = house.dialer.links[0]

    async def close_slowly() -> None:
        first.alive = False
        await closing.wait()

    first.close = close_slowly  # type: ignore[method-assign]
    house.dialer.old = True
    redial = asyncio.create_task(house.pool.connection("files", "a"))
    await settle()
    house.dialer.old = False
    other = asyncio.create_task(house.pool.connection("files", "a"))
    await settle()
    closing.set()
    assert (await redial).link is house.dialer.links[1]
    assert (await other).link is house.dialer.links[1]


async def test_a_mistake_of_ours_while_dialling_is_a_fault_and_the_next_use_tries_again(house: House) -> None:
    async def broken(definition: ServerDefinition, on_lost: OnLost) -> tuple[Link, bool]:
        raise RecursionError

    dial, house.dialer.dial = house.dialer.dial, broken  # type: ignore[method-assign]
    with pytest.raises(BackendUnavailable):
        await house.pool.connection("files", "a")
    assert house.pool.status("files", "a").state == "error"
    house.dialer.dial = dial  # type: ignore[method-assign]
    assert (await house.pool.connection("files", "a")).link is house.dialer.links[0]


async def test_a_shared_link_renewed_by_one_scope_leaves_no_dead_place_to_another(house: House) -> None:
    house.dialer.for_everyone = True
    await house.pool.connection("files", "a")
    house.dialer.links[0].lose()
    house.dialer.gate.clear()
    waiting = asyncio.create_task(house.pool.connection("files", "a"))
    await settle()
    renewing = asyncio.create_task(house.pool.reconnect("files", "b"))
    with pytest.raises(BackendUnavailable):
        await waiting
    house.dialer.gate.set()
    await renewing
    assert (await house.pool.connection("files", "a")).link is house.dialer.links[-1]


@pytest.mark.parametrize("affinity", ["workspace", "shared"])
async def test_a_scope_that_ends_while_it_waits_for_anothers_attempt_gets_nothing(
    house: House, affinity: Literal["workspace", "shared"]
) -> None:
    house.definitions["files"] = replace(FILES, affinity=affinity)
    house.dialer.known = False
    house.dialer.gate.clear()
    first = asyncio.create_task(house.pool.connection("files", "a"))
    await settle()
    waiting = asyncio.create_task(house.pool.connection("files", "b"))
    await settle()
    await house.pool.release("b")
    house.dialer.gate.set()
    await first
    with pytest.raises(BackendUnavailable):
        await waiting
    assert (house.dialer.dials, house.pool.handles, len(house.pool)) == (1, 1, 1)


async def test_a_lost_handshake_leaves_no_doubt_about_a_call_that_was_never_made(house: House) -> None:
    house.dialer.fault = OutcomeUnknown("files", "answered HTTP 500")
    with pytest.raises(BackendUnavailable, match="HTTP 500"):
        await house.pool.connection("files", "a")


async def test_trying_out_another_definition_of_a_name_leaves_its_link_alone_and_nothing_behind(house: House) -> None:
    before = (await house.pool.connection("files", "s1")).link
    await house.pool.try_out(replace(FILES, launch=InProcess("moved")))
    assert (await house.pool.connection("files", "s1")).link is before
    assert [link.closed for link in house.dialer.links] == [0, 1]
    house.dialer.fault = BackendUnavailable("files?", "refused")
    with pytest.raises(BackendUnavailable, match="refused"):
        await house.pool.try_out(FILES)
    house.dialer.gate.clear()
    trying = asyncio.ensure_future(house.pool.try_out(FILES))
    await house.clock.advance(0.06)
    with pytest.raises(BackendTimeout, match="within"):
        await trying
    assert (len(house.pool), house.pool.handles) == (1, 1)


def promises(pool: Pool) -> None:
    pool.door_of = lambda server, scopes, profile: AskDoor(profile)


async def test_a_server_is_told_what_its_scope_can_be_asked_and_one_that_all_share_nothing(house: House) -> None:
    promises(house.pool)
    house.pool.profile_of = lambda server, scope: FORM if scope == "a" else NO_ASKS
    await house.pool.connection("files", "a")
    await house.pool.connection("files", "b")
    assert house.dialer.doors == [AskDoor(FORM), CLOSED]
    house.definitions["all"] = ServerDefinition("all", InProcess("all"), affinity="shared", connect_timeout=0.05)
    await house.pool.connection("all", "a", FORM)
    assert house.dialer.doors[2] is CLOSED
    assert len(house.dialer.doors) == 3


@pytest.mark.shows("EB-C24")
async def test_calls_that_can_be_asked_different_things_have_links_of_their_own(house: House) -> None:
    promises(house.pool)
    told: list[Connection] = []
    house.pool.on_attached = lambda handle, again: told.append(handle)
    plain, asking = await house.pool.connection("files", "s", NO_ASKS), await house.pool.connection("files", "s", FORM)
    assert [door.profile for door in house.dialer.doors] == [NO_ASKS, FORM]
    assert plain.link is not asking.link
    assert await house.pool.connection("files", "s", FORM) is asking
    assert await house.pool.connection("files", "s") is plain, "any will do"
    assert house.pool.profiles("files", "s") == [NO_ASKS, FORM]
    assert told == [plain]
    house.dialer.links[0].lose()
    assert await house.pool.connection("files", "s") is asking
    await house.pool.roots_changed("s")
    assert [link.told_of_roots for link in house.dialer.links[:2]] == [0, 1]
    await house.pool.release("s")
    assert [link.alive for link in house.dialer.links] == [False] * len(house.dialer.links)
    assert len(house.pool) == house.pool.handles == 0


async def test_a_server_without_sessions_has_one_link_for_whatever_its_calls_can_be_asked(house: House) -> None:
    house.dialer.for_everyone = True
    plain, asking = await house.pool.connection("files", "s", NO_ASKS), await house.pool.connection("files", "t", FORM)
    assert plain.link is asking.link
    assert house.dialer.dials == 1
    house.dialer.links[0].lose()
    again = await house.pool.connection("files", "t", FORM)
    assert (again, house.dialer.dials) == (asking, 2)


async def test_reconnecting_ends_all_that_a_scope_has(house: House) -> None:
    promises(house.pool)
    for profile in (FORM, NO_ASKS):
        await house.pool.connection("files", "s", profile)
    again = await house.pool.reconnect("files", "s")
    assert [link.closed for link in house.dialer.links] == [1, 1, 0]
    assert (again.link, house.dialer.doors[2].profile) == (house.dialer.links[2], FORM)


async def test_the_call_that_a_link_is_made_for_is_known_meanwhile(house: House) -> None:
    house.dialer.gate.clear()
    call = Call("tools/call", {}, Caller("s"))
    use = asyncio.ensure_future(house.pool.connection("files", "s", FORM, call))
    await settle()
    assert house.pool.opening("files", ("t", "s")) == [call]
    assert house.pool.opening("other", ("s",)) == house.pool.opening("files", ("t",)) == []
    house.dialer.gate.set()
    await use
    assert house.pool.opening("files", ("s",)) == []


async def test_what_a_program_says_is_for_whoever_uses_it_and_for_nobody_where_several_do(house: House) -> None:
    told: list[tuple[str, str]] = []
    house.pool.on_scope_said = lambda server, scope, line: told.append((scope, line))
    house.pool.principal_of = lambda scope: scope[0]
    house.definitions["files"] = replace(FILES, affinity="shared")
    await house.pool.connection("files", "a1")
    house.dialer.on_said("one")
    await house.pool.connection("files", "a2")
    house.dialer.on_said("two")
    await house.pool.connection("files", "b1")
    house.dialer.on_said("three")
    assert told == [("a1", "one"), ("a1", "two"), ("a2", "two")]


async def test_once_a_server_asks_beside_the_stream_of_a_call_each_call_has_a_session_for_itself(house: House) -> None:
    promises(house.pool)
    house.pool.principal_of = lambda scope: "p"
    launch = HttpEndpoint("http://127.0.0.1:9/mcp")
    house.definitions["web"] = ServerDefinition("web", launch, affinity="principal", connect_timeout=5)
    house.definitions["pipe"] = ServerDefinition("pipe", InProcess("pipe"), affinity="principal", connect_timeout=5)
    call = Call("tools/call", {}, Caller("s"), asks=FORM)
    house.dialer.made = slow
    for server, own in (("web", True), ("pipe", False)):
        dials = house.dialer.dials
        mine = await house.pool.connection(server, "s", FORM)
        await house.pool.connection(server, "t", FORM)
        assert house.dialer.dials == dials + 1
        house.dialer.links[-1].on_asks_beside()
        assert (mine.leases is not None) == own, "a program more for each call is too dear"
        await asyncio.gather(*(mine.request(call, None, 5.0) for _ in range(3)))
        assert house.dialer.dials == dials + (3 if own else 1)
    other = await house.pool.connection("web", "t", FORM)
    assert other.leases is mine_of(house).leases
    await house.pool.close()
    assert not [link for link in house.dialer.links if link.alive]


def slow(link: FakeLink) -> None:
    """It takes a moment to answer."""
    answer = link.request

    async def request(*given: Any) -> Any:
        await settle()
        return await answer(*given)

    link.request = request  # type: ignore[method-assign]


def mine_of(house: House) -> Connection:
    return house.pool._handles["s"]["web"][FORM]
