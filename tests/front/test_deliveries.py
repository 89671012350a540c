"""Whether an answer reached its client is told once, to whoever depends on it."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import Raw

from emceepee.front.deliveries import Deliveries, promised
from emceepee.front.exchange import AsgiExchange
from emceepee.front.guards import Acceptable
from emceepee.front.reply import Reply
from emceepee.front.shop import Shop
from tests.support.asgi_client import AsgiAnswer
from tests.support.fake_clock import FakeClock, settle

BOTH, EVENTS = Acceptable(True, True), Acceptable(False, True)


class Watched:
    def __init__(self) -> None:
        self.said: list[str] = []

    def committed(self) -> None:
        self.said.append("committed")

    def lost(self) -> None:
        self.said.append("lost")


def replying(acceptable: Acceptable) -> tuple[Reply, AsgiAnswer, Watched]:
    answer = AsgiAnswer("POST", "/mcp", [], b"")
    exchange = AsgiExchange(answer.scope, answer.receive, answer.send)
    reply = Reply(exchange, Shop(FakeClock(), Raw(b"{}")), acceptable)
    watched = Watched()
    reply.deliveries.promise(watched)
    return reply, answer, watched


def test_each_is_settled_once_and_what_comes_too_late_is_lost() -> None:
    deliveries, first, late, nobodys = Deliveries(), Watched(), Watched(), Watched()
    deliveries.promise(first)
    deliveries.settle(True)
    deliveries.settle(False)
    deliveries.promise(late)
    assert promised(nobodys, None, lambda: 1) == 1
    assert promised(None, deliveries.promise, lambda: 2) == 2
    assert (first.said, late.said, nobodys.said) == (["committed"], ["lost"], ["lost"])


@pytest.mark.shows("X-CON-22", "X-BUG-06")
@pytest.mark.parametrize("acceptable", [BOTH, EVENTS])
async def test_an_answer_that_was_handed_over_is_committed(acceptable: Acceptable) -> None:
    reply, answer, watched = replying(acceptable)
    await answer.receive()
    await reply.answer(200, b"{}")
    assert answer.complete
    assert watched.said == ["committed"]


@pytest.mark.shows("X-CON-22", "X-BUG-06", "A-DEL-16")
@pytest.mark.parametrize("acceptable", [BOTH, EVENTS])
async def test_an_answer_to_a_client_that_has_left_is_lost(acceptable: Acceptable) -> None:
    reply, answer, watched = replying(acceptable)
    await answer.receive()
    answer.leave()
    await reply.answer(200, b"{}")
    assert watched.said == ["lost"]


async def test_a_client_that_never_reads_has_not_got_it() -> None:
    reply, answer, watched = replying(BOTH)
    await answer.receive()
    answer.reading.clear()
    writing = asyncio.ensure_future(reply.answer(200, b"{}"))
    await settle()
    assert watched.said == []
    writing.cancel()
    await asyncio.wait((writing,))
    assert watched.said == ["lost"]


async def test_what_was_called_off_or_dropped_is_lost() -> None:
    for end in ("nothing", "drop"):
        reply, _, watched = replying(BOTH)
        ended = getattr(reply, end)()
        if ended is not None:
            await ended
        assert watched.said == ["lost"]


def test_one_whose_answer_cannot_be_written_is_lost() -> None:
    deliveries, watched = Deliveries(), Watched()

    def fails() -> bytes:
        raise ValueError("cannot be written")

    with pytest.raises(ValueError, match="cannot be written"):
        promised(watched, deliveries.promise, fails)
    assert watched.said == ["lost"]
    assert not deliveries
