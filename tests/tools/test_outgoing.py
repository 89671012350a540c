"""Questions in flight: one timer for all, each told through its own way, none left over."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.protocol.messages import Notification, Request
from emceepee.tools.faults import AskTimeout, ChannelClosed
from emceepee.tools.outgoing import Outgoing
from tests.support.fake_clock import FakeClock, settle


async def test_each_has_its_own_time_and_hears_of_it_where_it_asked() -> None:
    clock, short, long = FakeClock(), list[bytes](), list[bytes]()
    outgoing = Outgoing(clock)
    slow = asyncio.ensure_future(outgoing.ask("a/b", {}, long.append, 20))
    quick = asyncio.ensure_future(outgoing.ask("c/d", {}, short.append, 5))
    await settle()
    assert clock.waiting == 1
    await clock.advance(5)
    with pytest.raises(AskTimeout, match="c/d was not answered within 5 s"):
        await quick
    assert b"notifications/cancelled" in short[-1]
    assert len(long) == 1
    await clock.advance(15)
    with pytest.raises(AskTimeout):
        await slow
    assert (len(outgoing), clock.waiting) == (0, 0)


async def test_closed_twice_is_closed_once_and_nothing_can_be_asked_after() -> None:
    outgoing, said = Outgoing(FakeClock()), list[bytes]()
    waiting = asyncio.ensure_future(outgoing.ask("a/b", {}, said.append, 5))
    await settle()
    outgoing.close("gone")
    outgoing.close("gone again")
    with pytest.raises(ChannelClosed, match="gone"):
        await waiting
    with pytest.raises(ChannelClosed, match="gone"):
        await outgoing.ask("a/b", {}, said.append, 5)
    assert len(said) == 1


async def test_what_is_no_answer_is_dropped() -> None:
    outgoing = Outgoing(FakeClock())
    outgoing.heard(Notification("notifications/progress"))
    outgoing.heard(Request(1, "tools/call"))
    assert len(outgoing) == 0
