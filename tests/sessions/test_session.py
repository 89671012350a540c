"""What a session remembers, how it is called in logs, and what it weighs."""

from __future__ import annotations

import tracemalloc

import pytest
from msgspec import Raw

from emceepee.runtime.ids import SystemIds
from emceepee.sessions.directory import Directory
from emceepee.sessions.in_flight import InFlight
from emceepee.sessions.session import Session, label
from emceepee.vocabulary.calls import Caller
from tests.support.fake_clock import FakeClock


class Open:
    busy = True


def test_a_session_is_busy_while_a_request_runs_or_a_stream_is_open() -> None:
    session = Session("/mcp", Caller("s.x"), "2025-11-25", InFlight(4), 0.0)
    assert session.busy is False
    session.standing = Open()
    assert session.busy is True


@pytest.mark.shows("X-BUG-47")
def test_a_label_tells_sessions_apart_and_opens_none() -> None:
    assert label("slot0000.ABCDEFGHJKMNPQRSTVWXYZ0123") == "slot0000.ABCD…"
    assert label("whatever") == "what…"


def test_an_idle_session_weighs_less_than_two_kibibytes_of_ours() -> None:
    sessions = Directory(FakeClock(), SystemIds())
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1_000):
            capabilities = {"sampling": Raw(b"{}"), "elicitation": Raw(b"{}"), "roots": Raw(b'{"listChanged":true}')}
            sessions.open("/mcp", "local", "2025-11-25", capabilities, Raw(b'{"name":"client","version":"1.0.0"}'))
        weight = (tracemalloc.get_traced_memory()[0] - before) / 1_000
    finally:
        tracemalloc.stop()
    assert weight < 2_048, f"{weight:.0f} bytes"
