"""Streams that follow one another: opened before the last one is closed, and none left behind."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.backends.conversation import Hearing
from emceepee.backends.listening import Listening
from emceepee.errors import BackendUnavailable
from emceepee.protocol.messages import Failure, Result
from emceepee.vocabulary.notices import NOTHING, Interest, ListChanged, Notice
from tests.support.fake_clock import FakeClock, settle

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TOOLS = Interest(frozenset(["tools"]))
MORE = Interest(frozenset(["tools", "prompts"]))


class Server:
    """Holds every stream until the test ends or breaks it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.opened: list[Interest] = []
        self.open: dict[int, tuple[Interest, Hearing, asyncio.Future[Result | Failure]]] = {}
        self.heard: list[Notice] = []
        self.gaps = 0
        self.listening = Listening("files", self.ask, self.clock, self.heard.append, self.resumed)

    def resumed(self) -> None:
        self.gaps += 1

    async def ask(self, interest: Interest, hearing: Hearing) -> Result | Failure:
        number = len(self.opened)
        self.opened.append(interest)
        future: asyncio.Future[Result | Failure] = asyncio.get_running_loop().create_future()
        self.open[number] = (interest, hearing, future)
        try:
            return await future
        finally:
            del self.open[number]

    def acknowledge(self, number: int) -> None:
        self.open[number][1].told(ACKNOWLEDGED, None)


async def test_the_narrower_stream_stays_until_the_wider_one_delivers() -> None:
    server = Server()
    server.listening.wish(TOOLS)
    await settle()
    server.acknowledge(0)
    server.listening.wish(MORE)
    await settle()
    assert list(server.open) == [0, 1]
    server.open[0][1].told("notifications/tools/list_changed", None)
    assert server.heard == [ListChanged("tools")]
    server.acknowledge(1)
    await settle()
    assert list(server.open) == [1]
    await server.listening.close()


@pytest.mark.parametrize("waits", [0, 10])
async def test_no_stream_outlives_the_last_wish_however_quickly_wishes_follow(waits: int) -> None:
    server = Server()
    for interest in (TOOLS, MORE, TOOLS, MORE):
        server.listening.wish(interest)
        await settle(waits)
    server.listening.wish(NOTHING)
    await settle()
    assert server.open == {}
    await server.listening.close()


async def test_the_same_wish_again_opens_nothing() -> None:
    server = Server()
    server.listening.wish(TOOLS)
    await settle()
    server.listening.wish(Interest(frozenset(["tools"])))
    await settle()
    assert server.opened == [TOOLS]
    await server.listening.close()


async def test_a_lost_stream_is_opened_again_and_the_gap_is_said_once_it_delivers() -> None:
    server = Server()
    server.listening.wish(TOOLS)
    await settle()
    server.acknowledge(0)
    server.open[0][2].set_exception(BackendUnavailable("files", "gone"))
    await settle()
    await server.clock.advance(1)
    assert (server.opened, server.gaps) == ([TOOLS, TOOLS], 0)
    server.acknowledge(1)
    server.listening.acknowledged_elsewhere(None)
    assert server.gaps == 1
    await server.listening.close()
    assert server.open == {}
