"""The life of one connection: made anew by itself, doubted before it is given up, ended on purpose in peace."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from emceepee.backends.connection import Connection
from emceepee.backends.definition import InProcess, ServerDefinition, StdioLaunch
from emceepee.backends.http_answers import SessionGone
from emceepee.backends.lifecycle import Status
from emceepee.backends.pool import Pool, Settings
from emceepee.backends.recovery import Identity, Reconnection, RecoverySettings
from emceepee.errors import BackendTimeout, BackendUnavailable, BackendViolation, OutcomeUnknown
from tests.support.fake_clock import FakeClock, settle
from tests.support.fake_links import FakeDialer, FakeLink

FILES = ServerDefinition("files", InProcess("files"), connect_timeout=0.05)
REFUSED = BackendUnavailable("files", "connection refused")
RESET = OutcomeUnknown("files", "the connection was reset")
SILENT = BackendTimeout("files", "no answer to ping within 5 s")
GONE = SessionGone("files", 404, "the session is gone")


class House:
    """A pool over scripted links, and what it told."""

    def __init__(self, definition: ServerDefinition = FILES, **recovery: Any) -> None:
        self.dialer = FakeDialer()
        self.definitions = {"files": definition}
        self.clock = FakeClock()
        find: Callable[[str], ServerDefinition | None] = self.definitions.get
        settings = Settings(recovery=replace(RecoverySettings(), **recovery))
        self.pool = Pool(find, self.dialer, self.clock, settings, lambda: 1.0)
        self.told: list[tuple[Any, ...]] = []
        self.again: list[Reconnection] = []
        self.pool.on_attached = self._attached
        self.pool.on_scope_lost = lambda server, scope: self.told.append(("lost", scope))
        self.pool.on_scope_expired = lambda server, scope: self.told.append(("expired", scope))
        self.pool.on_health = lambda server, scope, why: self.told.append(("health", scope, why))

    def _attached(self, handle: Connection, again: Reconnection | None) -> None:
        self.told.append(("connected" if again is None else again.kind, handle.scope))
        if again is not None:
            self.again.append(again)

    async def connect(self, scope: str = "s1") -> Connection:
        return await self.pool.connection("files", scope)

    @property
    def link(self) -> FakeLink:
        return self.dialer.links[-1]

    def status(self, scope: str = "s1") -> Status:
        return self.pool.status("files", scope)

    def over_http(self, lasting: bool = True) -> None:
        """Links whose end makes no event, and whose session may outlive it."""

        def made(link: FakeLink) -> None:
            link.silent_death, link.lasting = True, lasting
            link.identity = Identity(f"session-{self.dialer.dials}", "fake", "1", "2025-11-25")

        self.dialer.made = made

    def doubt(self, fault: Any = REFUSED) -> None:
        self.link.on_doubt(self.link, fault)


@pytest.mark.shows("A-REC-02", "A-REC-31", "X-BUG-33", "A-REC-10")
async def test_a_lost_connection_is_made_anew_without_anybody_asking() -> None:
    house = House()
    handle = await house.connect()
    house.link.lose()
    await settle()
    assert (house.status().state, house.status().life, house.status().next_try) == ("disconnected", "waiting", 1.0)
    await house.clock.advance(1)
    assert house.dialer.dials == 2
    assert (house.status().state, house.status().restarts) == ("connected", 1)
    assert handle.link is house.link
    assert house.told == [("connected", "s1"), ("lost", "s1"), ("network_blip", "s1")]
    await house.pool.close()


@pytest.mark.shows("A-REC-02", "A-REC-04", "A-REC-07", "A-LOG-05", "A-LOG-07")
async def test_it_is_tried_without_end_with_growing_delays(caplog: pytest.LogCaptureFixture) -> None:
    house = House()
    await house.connect()
    house.dialer.fault = REFUSED
    with caplog.at_level(logging.INFO, "emceepee.backends"):
        house.link.lose()
        await house.clock.advance(3600)
    assert house.dialer.dials == 1 + 8 + (3600 - 255) // 180
    failed = [record.data for record in caplog.records if record.message == "server_reconnect_failed"]  # type: ignore[attr-defined]
    assert failed[0] == {"server": "files", "error": "connection refused", "attempt": 1}
    lost = [record.data for record in caplog.records if record.message == "server_disconnected"]  # type: ignore[attr-defined]
    assert lost == [{"server": "files", "reason": "it exited with code 1"}]
    assert house.status().state == "disconnected"
    house.dialer.fault = None
    await house.clock.advance(180)
    assert house.status().state == "connected"
    await house.pool.close()


async def test_a_server_that_was_never_reached_is_tried_again_too() -> None:
    house = House()
    house.dialer.fault = REFUSED
    with pytest.raises(BackendUnavailable):
        await house.connect()
    assert (house.status().state, house.status().life) == ("error", "waiting")
    house.dialer.fault = None
    await house.clock.advance(1)
    assert house.told == [("connected", "s1")]
    await house.pool.close()


@pytest.mark.shows("A-REC-06", "A-REC-03", "X-BUG-41")
async def test_with_a_limit_it_gives_up_loudly_and_the_next_use_tries_again(caplog: pytest.LogCaptureFixture) -> None:
    house = House(max_attempts=10)
    await house.connect()
    house.dialer.fault = REFUSED
    house.link.lose()
    await house.clock.advance(7200)
    assert house.dialer.dials == 11
    status = house.status()
    assert (status.state, status.life, status.next_try) == ("disconnected", "stopped", None)
    assert status.last_error == "Max reconnection attempts reached: connection refused"
    assert "server_reconnect_given_up" in [record.message for record in caplog.records if record.levelname == "WARNING"]
    house.dialer.fault = None
    await house.connect()
    house.link.lose()
    await house.clock.advance(600)
    assert house.status().state == "connected", "the counting began anew"
    await house.pool.close()


@pytest.mark.shows("A-REC-08", "X-CON-13")
async def test_without_automatic_reconnection_the_next_use_does_it() -> None:
    house = House(automatic=False)
    await house.connect()
    house.link.lose()
    await house.clock.advance(3600)
    assert (house.dialer.dials, house.status().life, house.status().state) == (1, "stopped", "disconnected")
    await house.connect()
    assert house.dialer.dials == 2
    await house.pool.close()


@pytest.mark.shows("X-BUG-32", "A-REC-05")
async def test_a_call_tries_at_once_and_is_the_only_one_that_tries() -> None:
    house = House(replace(FILES, connect_timeout=100))
    await house.connect()
    house.link.lose()
    await settle()
    house.dialer.gate.clear()
    uses = [asyncio.create_task(house.connect()) for _ in range(3)]
    await settle()
    assert house.status().waiters == 3
    await house.clock.advance(60)
    house.dialer.gate.set()
    for use in uses:
        await use
    assert house.dialer.dials == 2
    assert house.told[-1] == ("network_blip", "s1")
    assert house.told.count(("network_blip", "s1")) == 1
    await house.pool.close()


@pytest.mark.shows("X-BUG-31")
async def test_what_is_closed_on_purpose_is_no_loss_and_never_comes_back() -> None:
    house = House()
    await house.connect()
    link = house.link
    await house.pool.drop("files")
    link.lose()
    await house.clock.advance(3600)
    assert (house.dialer.dials, house.told) == (1, [("connected", "s1")])
    await house.connect()
    house.link.lose()
    await settle()
    await house.pool.release("s1")
    await house.clock.advance(3600)
    assert house.dialer.dials == 2
    assert house.clock.waiting == 0
    await house.pool.close()


@pytest.mark.shows("X-BUG-31")
@pytest.mark.parametrize("how", ["drop", "release", "reconnect", "close"])
async def test_a_link_that_tells_its_end_while_it_is_closed_on_purpose_is_not_heard(how: str) -> None:
    house = House()

    def talkative(link: FakeLink) -> None:
        close = link.close

        async def tell_and_close() -> None:
            link.lose()
            await close()

        link.close = tell_and_close  # type: ignore[method-assign]

    house.dialer.made = talkative
    await house.connect()
    match how:
        case "drop":
            await house.pool.drop("files")
        case "release":
            await house.pool.release("s1")
        case "reconnect":
            await house.pool.reconnect("files", "s1")
        case _:
            await house.pool.close()
    await house.clock.advance(600)
    assert ("lost", "s1") not in house.told
    assert house.dialer.dials == (2 if how == "reconnect" else 1)
    await house.pool.close()


@pytest.mark.shows("X-BUG-31", "X-BUG-32")
@pytest.mark.parametrize("how", ["drop", "release", "reconnect"])
async def test_nothing_is_tried_any_more_for_who_gave_up_while_it_was_waited_for(how: str) -> None:
    house = House()
    await house.connect()
    house.dialer.fault = REFUSED
    house.link.lose()
    await settle()
    assert house.status().life == "waiting"
    house.dialer.fault = None
    if how == "drop":
        await house.pool.drop("files")
    elif how == "release":
        await house.pool.release("s1")
    else:
        await house.pool.reconnect("files", "s1")
    await house.clock.advance(30)
    assert house.dialer.dials == (2 if how == "reconnect" else 1)
    await house.pool.close()
    assert house.clock.waiting == 0


@pytest.mark.shows("X-BUG-43")
async def test_closing_one_that_hangs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emceepee.backends.supervisor.CLOSE_SECONDS", 0.01)
    house = House()
    await house.connect()
    house.link.close = asyncio.Event().wait  # type: ignore[assignment,method-assign]
    async with asyncio.timeout(5):
        await house.pool.drop("files")
    await house.pool.close()


@pytest.mark.shows("X-BUG-30")
async def test_a_link_that_was_lost_before_it_was_handed_over_is_not_called_connected() -> None:
    house = House()
    house.dialer.made = lambda link: link.lose()
    with pytest.raises(BackendUnavailable, match="went away as soon as it was connected"):
        await house.connect()
    assert house.status().state == "error"
    assert house.link.closed >= 1
    await house.pool.close()


@pytest.mark.shows("A-REC-01")
async def test_a_closed_connection_is_disconnected_and_a_broken_one_is_an_error() -> None:
    house = House(automatic=False)
    await house.connect()
    house.link.lose()
    assert house.status().state == "disconnected"
    await house.connect()
    house.link.lose(BackendViolation("files", "it sent what nobody can read"))
    assert (house.status().state, house.status().last_error) == ("error", "it sent what nobody can read")
    await house.pool.close()


# -- doubts


@pytest.mark.shows("X-BUG-42", "A-REC-01")
async def test_one_failed_request_is_only_doubt_and_an_answered_ping_ends_it() -> None:
    house = House()
    house.over_http()
    await house.connect()
    house.doubt()
    assert not house.link.alive
    await settle()
    assert (house.link.alive, house.link.pinged) == (True, 1)
    assert (house.status().state, house.told) == ("connected", [("connected", "s1")])
    await house.pool.close()


@pytest.mark.shows("X-BUG-42", "A-CON-15", "A-CON-18")
async def test_a_failed_ping_after_a_failed_request_is_a_loss() -> None:
    house = House()
    house.over_http()
    await house.connect()
    house.link.pings = [REFUSED]
    house.doubt()
    await settle()
    assert (house.status().state, house.told[-1]) == ("disconnected", ("lost", "s1"))
    await house.pool.close()


async def test_who_comes_while_it_is_in_doubt_waits_for_certainty() -> None:
    house = House()
    house.over_http()
    handle = await house.connect()
    house.doubt()
    assert await house.connect() is handle
    assert house.dialer.dials == 1
    await house.pool.close()


@pytest.mark.shows("X-CON-18")
async def test_a_server_that_takes_nothing_new_may_finish_what_it_has() -> None:
    house = House()
    house.over_http()
    await house.connect()
    house.link.pending = 1
    house.link.pings = [REFUSED] * 60
    house.doubt()
    await house.clock.advance(5)
    assert house.told == [("connected", "s1")]
    house.link.pending = 0
    await house.clock.advance(1)
    assert house.told[-1] == ("lost", "s1")
    await house.pool.close()


async def test_calls_that_never_end_do_not_hold_up_the_loss_for_ever() -> None:
    house = House()
    house.over_http()
    await house.connect()
    house.link.pending = 1
    house.link.pings = [REFUSED] * 60
    house.doubt()
    await house.clock.advance(31)
    assert house.told[-1] == ("lost", "s1")
    await house.pool.close()


async def test_a_link_that_tells_its_own_end_is_not_doubted_for_a_failed_request() -> None:
    house = House()
    await house.connect()
    house.doubt()
    await settle()
    assert (house.link.alive, house.link.pinged) == (True, 0)
    await house.pool.close()


async def test_silence_makes_it_unwell_and_an_answer_well_again_and_neither_kills_it() -> None:
    house = House()
    house.over_http()
    handle = await house.connect()
    house.link.pings = [SILENT] * 3
    house.doubt(SILENT)
    await settle()
    assert (house.status().state, house.status().life) == ("connected", "unwell")
    assert house.status().last_error == "no answer to ping within 5 s"
    assert handle.link is house.link, "it may still work"
    await house.clock.advance(180)
    assert (house.status().life, house.status().last_error) == ("ready", None)
    assert house.told[1:] == [("health", "s1", "no answer to ping within 5 s"), ("health", "s1", None)]
    assert house.dialer.dials == 1
    await house.pool.close()


async def test_a_connection_in_use_is_probed_and_one_that_nobody_uses_is_left_in_peace() -> None:
    house = House(probe_every=60.0, probe_recent=600.0)
    await house.connect()
    await house.clock.advance(3600)
    assert 9 <= house.link.pinged <= 11
    before = house.link.pinged
    house.link.asked += 1
    await house.clock.advance(60)
    assert house.link.pinged == before + 1
    house.link.pending = 1
    await house.clock.advance(1200)
    assert house.link.pinged == before + 21
    await house.pool.close()


async def test_without_probes_there_is_no_timer() -> None:
    house = House(probe_every=0.0)
    await house.connect()
    assert house.clock.waiting == 0
    await house.pool.close()


# -- the old session first


@pytest.mark.shows("X-CON-17", "A-REC-13")
async def test_the_old_session_is_tried_first_and_if_it_works_that_was_a_blip() -> None:
    house = House()
    house.over_http()
    handle = await house.connect()
    link = house.link
    link.pings = [REFUSED, REFUSED]
    house.doubt()
    await house.clock.advance(1)
    assert house.status().state == "disconnected", "still away"
    await house.clock.advance(2)
    assert (house.dialer.dials, handle.link, link.closed) == (1, link, 0)
    assert house.told[1:] == [("lost", "s1"), ("network_blip", "s1")]
    await house.pool.close()


@pytest.mark.shows("X-CON-17", "A-REC-11", "X-BUG-34")
async def test_a_session_that_is_gone_is_made_anew_and_that_was_a_restart() -> None:
    house = House()
    house.over_http()
    handle = await house.connect()
    link = house.link
    link.pings = [REFUSED, GONE]
    house.doubt()
    await house.clock.advance(1)
    assert (house.dialer.dials, link.closed) == (2, 1)
    assert handle.link is house.link
    assert [(again.kind, again.previous.session, again.current.session) for again in house.again] == [
        ("restart", "session-1", "session-2")
    ]
    await house.pool.close()


@pytest.mark.shows("X-CON-17", "A-REC-11")
async def test_a_forgotten_session_is_made_anew_at_once_and_is_no_loss() -> None:
    house = House()
    house.over_http()
    await house.connect()
    link = house.link
    link.lose(GONE)
    await settle()
    assert house.told == [("connected", "s1"), ("expired", "s1"), ("restart", "s1")]
    assert (link.closed, house.dialer.dials) == (1, 2)
    await house.pool.close()


@pytest.mark.shows("X-BUG-35", "A-REC-14")
@pytest.mark.parametrize("how", ["forgotten", "outdated", "on request"])
async def test_what_a_replaced_link_carried_is_void_before_anybody_can_use_the_next(how: str) -> None:
    house = House()
    house.over_http()
    await house.connect()
    first = house.link
    house.pool.on_scope_replaced = lambda server, scope: house.told.append(("void", house.status().connects))
    if how == "forgotten":
        first.lose(GONE)
    elif how == "outdated":
        house.dialer.old = True
        await house.connect()
    else:
        await house.pool.reconnect("files", "s1")
    await settle()
    voids = [one for one in house.told if one[0] == "void"]
    assert voids
    assert voids[0][1] <= 2
    assert house.told.index(voids[-1]) < house.told.index(("restart", "s1"))
    assert first.voided == 1
    await house.pool.close()


@pytest.mark.shows("X-CON-18")
async def test_what_a_revived_link_carries_is_not_void() -> None:
    house = House()
    house.over_http()
    await house.connect()
    house.link.pings = [REFUSED]
    house.pool.on_scope_replaced = lambda server, scope: house.told.append(("void", scope))
    house.doubt()
    await house.clock.advance(1)
    assert house.told[1:] == [("lost", "s1"), ("network_blip", "s1")]
    await house.pool.close()


async def test_a_lost_link_is_closed_also_when_everything_ends_at_that_moment(recwarn: pytest.WarningsRecorder) -> None:
    house = House()
    await house.connect()
    house.link.lose()
    await house.pool.close()
    assert house.link.closed
    gc.collect()
    assert not recwarn.list


async def test_a_forgotten_session_that_cannot_be_made_anew_is_a_loss() -> None:
    house = House()
    house.over_http()
    await house.connect()
    house.dialer.fault = REFUSED
    house.link.lose(GONE)
    await settle()
    assert house.told == [("connected", "s1"), ("expired", "s1"), ("lost", "s1")]
    assert house.status().life == "waiting"
    await house.pool.close()


# -- crash loops


async def test_a_program_that_ends_again_and_again_is_said_to_be_in_a_loop_and_not_started_for_each_call() -> None:
    house = House(replace(FILES, launch=StdioLaunch("crash")))
    house.dialer.fault = BackendUnavailable("files", "it exited with code 1")
    for _ in range(3):
        with pytest.raises(BackendUnavailable):
            await house.connect()
    assert house.status().crash_loop
    assert house.status().last_error == "it exited with code 1; it ended 3 times in a row soon after its start"
    for _ in range(20):
        with pytest.raises(BackendUnavailable, match=r"3 times in a row.* reconnect_server"):
            await house.connect()
    assert house.dialer.dials == 3
    house.dialer.fault = None
    await house.clock.advance(8)
    assert house.status().state == "connected"
    await house.clock.advance(11)
    house.link.lose()
    await settle()
    assert not house.status().crash_loop, "it held long enough"
    await house.pool.close()


async def test_a_connection_that_drops_at_once_again_and_again_is_tried_less_and_less_often() -> None:
    house = House()
    await house.connect()
    delays = []
    for _ in range(5):
        house.link.lose()
        await settle()
        delays.append(house.status().next_try)
        await house.clock.advance(house.status().next_try or 0.0)
    assert delays == [1, 2, 4, 8, 16]
    assert house.status().crash_loop
    await house.pool.close()


@pytest.mark.shows("A-REC-31")
async def test_reconnecting_on_request_does_not_wait_and_keeps_counting() -> None:
    house = House()
    await house.connect()
    house.dialer.fault = REFUSED
    house.link.lose()
    await house.clock.advance(3600)
    house.dialer.fault = None
    handle = await house.pool.reconnect("files", "s1")
    assert handle.link is house.link
    assert house.status().connects == 2
    house.link.lose()
    await settle()
    assert house.status().next_try == 1.0, "a new beginning"
    await house.pool.close()


async def test_all_scopes_of_a_server_come_back_after_one_of_them_got_through() -> None:
    house = House()
    scopes = [f"s{number}" for number in range(20)]
    for scope in scopes:
        await house.connect(scope)
    house.dialer.fault = REFUSED
    for link in list(house.dialer.links):
        link.lose()
    await settle()
    before = house.dialer.dials
    await house.clock.advance(60)
    assert house.dialer.dials - before == 5, "as rarely as one"
    house.dialer.fault = None
    await house.clock.advance(10)
    assert {house.status(scope).state for scope in scopes} == {"connected"}
    await house.pool.close()
