"""Which sessions there are: opened, found, swept, ended once."""

from __future__ import annotations

import asyncio
import logging
import sys

import pytest

from emceepee.errors import LimitReached
from emceepee.sessions.directory import Directory
from emceepee.sessions.session import Session
from emceepee.sessions.settings import SessionSettings
from emceepee.vocabulary.raw_json import read_fields
from tests.support.fake_clock import FakeClock, settle
from tests.support.front_bench import CountedIds


class Cleaner:
    def __init__(self) -> None:
        self.cleaned: list[str] = []
        self.go = asyncio.Event()
        self.go.set()

    async def __call__(self, session: Session) -> None:
        await self.go.wait()
        self.cleaned.append(session.id)


def directory(clock: FakeClock | None = None, **settings: float) -> Directory:
    return Directory(clock or FakeClock(), CountedIds(), SessionSettings(**settings))  # type: ignore[arg-type]


def opened(sessions: Directory, principal: str = "local") -> Session:
    return sessions.open("/mcp", principal, "2025-11-25", {})


def events(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name == "emceepee.sessions"]


@pytest.mark.shows("A-SES-03", "A-SES-29")
def test_a_session_has_an_id_and_both_its_times() -> None:
    clock = FakeClock()
    sessions = directory(clock)
    session = opened(sessions)
    assert (session.last_activity, session.created_at) == (clock.now(), clock.wall())
    assert sessions.session_ids() == [session.id]
    assert session.caller.scope == session.id


@pytest.mark.shows("A-SES-04", "A-SES-15", "X-BUG-47")
async def test_its_life_is_logged_with_an_id_that_cannot_be_used(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    sessions, cleaner = directory(), Cleaner()
    session = opened(sessions)
    task = sessions.end(session.id, cleaner)
    assert task is not None
    await task
    assert events(caplog) == ["session_created", "session_destroying", "session_destroyed"]
    assert all(session.id not in str(record.__dict__) for record in caplog.records)
    await sessions.close(cleaner)


@pytest.mark.shows("EB-A13")
def test_a_session_exists_only_for_its_principal_on_its_surface() -> None:
    sessions = directory()
    session = opened(sessions, "one")
    assert sessions.find(session.id, "one", "/mcp") is session
    assert sessions.find(session.id, "two", "/mcp") is None
    assert sessions.find(session.id, "one", "/direct/mcp") is None
    assert sessions.find("nobody", "one", "/mcp") is None


@pytest.mark.shows("A-SES-09")
async def test_touching_counts_as_activity_and_an_unknown_id_is_fine() -> None:
    clock = FakeClock()
    sessions = directory(clock)
    session = opened(sessions)
    await clock.advance(5.0)
    sessions.touch(session.id)
    sessions.touch("nobody")
    assert session.last_activity == clock.now()


@pytest.mark.shows("X-GAP-11")
def test_sessions_are_bounded() -> None:
    sessions = directory(max_sessions=2)
    opened(sessions)
    opened(sessions)
    with pytest.raises(LimitReached, match="the limit is 2"):
        opened(sessions)


@pytest.mark.shows("A-SES-23", "A-SES-24")
async def test_the_sweep_ends_what_was_idle_for_thirty_minutes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    clock, cleaner = FakeClock(), Cleaner()
    sessions = directory(clock)
    sessions.watch_idle(cleaner)
    sessions.watch_idle(cleaner)
    idle = opened(sessions)
    await clock.advance(1500.0)
    fresh = opened(sessions)
    await clock.advance(299.0)
    assert len(sessions) == 2
    await clock.advance(1.0)
    assert sessions.session_ids() == [fresh.id]
    assert cleaner.cleaned == [idle.id]
    assert events(caplog)[2:] == ["session_timeout_cleanup", "session_destroying", "session_destroyed"]
    assert clock.waiting == 1
    await sessions.close(cleaner)
    assert clock.waiting == 0


@pytest.mark.shows("A-SES-25", "X-BUG-49")
async def test_whoever_waits_is_not_idle() -> None:
    clock, cleaner = FakeClock(), Cleaner()
    sessions = directory(clock)
    session = opened(sessions)
    session.in_flight.begin(1)
    await clock.advance(10_000.0)
    assert sessions.sweep(cleaner) == 0
    session.in_flight.finish(1)
    sessions.touch(session.id)
    assert sessions.sweep(cleaner) == 0
    await sessions.close(cleaner)


@pytest.mark.shows("X-BUG-48", "A-SES-14")
async def test_a_session_is_gone_before_it_is_cleaned_and_is_cleaned_once() -> None:
    clock, cleaner = FakeClock(), Cleaner()
    cleaner.go.clear()
    sessions = directory(clock)
    session = opened(sessions)
    sessions.end(session.id, cleaner)
    assert sessions.find(session.id, "local", "/mcp") is None
    assert sessions.end(session.id, cleaner) is None
    assert sessions.sweep(cleaner) == 0
    await settle()
    assert (len(sessions), sessions.cleaning, cleaner.cleaned) == (0, 1, [])
    cleaner.go.set()
    await sessions.close(cleaner)
    assert (cleaner.cleaned, sessions.cleaning) == ([session.id], 0)


async def test_closing_ends_every_session_and_takes_no_new_one() -> None:
    sessions, cleaner = directory(), Cleaner()
    ids = [opened(sessions).id for _ in range(3)]
    await sessions.close(cleaner)
    await sessions.close(cleaner)
    assert sorted(cleaner.cleaned) == ids
    with pytest.raises(LimitReached):
        opened(sessions)


def test_a_session_does_not_hold_on_to_the_message_that_opened_it() -> None:
    big = b'{"sampling":{},"pad":"' + b"x" * 100_000 + b'"}'
    fields = read_fields(big)
    fields.pop("pad")
    session = directory().open("/mcp", "local", "2025-11-25", fields, fields["sampling"])
    before = sys.getrefcount(big)
    fields.clear()
    assert sys.getrefcount(big) == before - 1
    assert bytes(session.caller.capabilities["sampling"]) == b"{}"
