"""What a session receives unasked: kept between streams, coalesced, bounded, ended."""

from __future__ import annotations

import json
from typing import Any

import pytest

from emceepee.errors import ClientFault
from emceepee.front.standing import Standing
from emceepee.sessions.in_flight import InFlight
from emceepee.sessions.session import Session
from emceepee.vocabulary.calls import Caller
from emceepee.vocabulary.notices import ListChanged, LogLine, ResourceUpdated
from emceepee.vocabulary.raw_json import to_raw
from tests.support.fake_surface import FakeSurface


class Outlet:
    def __init__(self) -> None:
        self.said: list[Any] = []
        self.ended = False

    def notice(self, message: bytes, key: str | None) -> None:
        self.said.append(json.loads(message)["method"])

    def end(self) -> None:
        self.ended = True


def standing(ready: bool = True) -> Standing:
    session = Session("/mcp", Caller("s.1"), "2025-11-25", InFlight(4), 0.0)
    if ready:
        session.step("initialized")
    return Standing.of(session)


def test_a_session_has_one_standing() -> None:
    session = Session("/mcp", Caller("s.1"), "2025-11-25", InFlight(4), 0.0)
    assert Standing.of(session) is Standing.of(session)


async def test_without_a_stream_changes_wait_once_each_and_logs_do_not() -> None:
    wish, outlet = standing(), Outlet()
    for _ in range(3):
        wish.hear(ListChanged("tools"))
        wish.hear(ResourceUpdated("a:b", {"uri": to_raw("a:b")}))
        wish.hear(LogLine("info", {"level": to_raw("info")}))
    wish.open(outlet)
    assert outlet.said == ["notifications/tools/list_changed", "notifications/resources/updated"]


async def test_what_waits_is_bounded() -> None:
    wish, outlet = standing(), Outlet()
    for number in range(10_000):
        wish.hear(ResourceUpdated(f"a:{number}", {}))
    wish.open(outlet)
    assert len(outlet.said) == 2_048


async def test_one_stream_at_a_time_and_only_its_own_end_frees_the_place() -> None:
    wish, first, second = standing(), Outlet(), Outlet()
    wish.open(first)
    assert wish.busy
    with pytest.raises(ClientFault):
        wish.open(second)
    wish.closed(second)
    assert wish.busy
    wish.closed(first)
    wish.open(second)


async def test_closing_ends_the_stream_and_the_wish_and_nothing_is_said_after() -> None:
    wish, outlet, surface = standing(), Outlet(), FakeSurface()
    wish.open(outlet)
    await wish.start(surface)
    await wish.start(surface)
    (listener,) = surface.listeners
    await wish.close()
    listener.on_notice(ListChanged("tools"))
    assert (outlet.ended, outlet.said, surface.listeners, wish.busy) == (True, [], [], False)


async def test_a_wish_made_while_the_session_ends_is_not_left_behind() -> None:
    wish, surface = standing(), FakeSurface()
    await wish.close()
    await wish.start(surface)
    assert surface.listeners == []


@pytest.mark.shows("C-SEQ-03")
def test_a_client_that_is_not_ready_is_told_of_changes_when_it_is() -> None:
    wish, outlet = standing(ready=False), Outlet()
    wish.open(outlet)
    wish.hear(ListChanged("tools"))
    wish.hear(LogLine("info", {"level": to_raw("info")}))
    assert outlet.said == []
    wish._session.step("initialized")  # type: ignore[union-attr]
    wish.flush()
    assert outlet.said == ["notifications/tools/list_changed"]
