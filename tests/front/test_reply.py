"""The form of an answer: JSON until something is streamed, and exactly one end."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Raw

from emceepee.front.exchange import AsgiExchange
from emceepee.front.guards import Acceptable
from emceepee.front.reply import Reply
from emceepee.front.shop import Shop
from tests.support.asgi_client import AsgiAnswer
from tests.support.fake_clock import FakeClock, settle

BOTH, JSON, EVENTS = Acceptable(True, True), Acceptable(True, False), Acceptable(False, True)


def replying(acceptable: Acceptable) -> tuple[Reply, AsgiAnswer, Shop]:
    shop = Shop(FakeClock(), Raw(b"{}"))
    answer = AsgiAnswer("POST", "/mcp", [], b"")
    exchange = AsgiExchange(answer.scope, answer.receive, answer.send)
    return Reply(exchange, shop, acceptable, [(b"x", b"y")]), answer, shop


def timers(shop: Shop) -> int:
    clock = shop.clock
    assert isinstance(clock, FakeClock)
    return clock.waiting


async def test_an_answer_alone_is_json_with_its_status_and_leaves_nothing() -> None:
    reply, answer, shop = replying(BOTH)
    reply.watch(lambda: None)
    await reply.answer(404, b"{}")
    assert (answer.status, answer.headers["content-length"], answer.headers["x"], answer.body) == (404, "2", "y", b"{}")
    assert (timers(shop), len(shop.tasks)) == (0, 0)


async def test_after_a_notice_the_status_is_200_and_what_comes_after_the_answer_is_dropped() -> None:
    reply, answer, shop = replying(BOTH)
    reply.notice(b'{"n":1}', None)
    await reply.answer(400, b'{"a":1}')
    reply.notice(b'{"n":2}', None)
    await settle()
    assert (answer.status, answer.events) == (200, [{"n": 1}, {"a": 1}])
    assert (timers(shop), len(shop.tasks)) == (0, 0)


async def test_nothing_ends_each_form_without_an_answer() -> None:
    for acceptable, status in ((BOTH, 200), (EVENTS, 200), (JSON, 202)):
        reply, answer, _ = replying(acceptable)
        await reply.nothing()
        assert (answer.status, answer.body, answer.complete) == (status, b"", True)


async def test_a_client_that_leaves_is_noticed_only_once_the_call_has_waited() -> None:
    reply, answer, shop = replying(BOTH)
    left: list[bool] = []
    exchange: Any = reply._exchange
    await exchange.read_body(10, 5.0)
    reply.watch(lambda: left.append(True))
    clock: Any = shop.clock
    await clock.advance(0.05)
    assert len(shop.tasks) == 0
    await clock.advance(0.1)
    assert len(shop.tasks) == 1
    answer.leave()
    await settle()
    assert (left, len(shop.tasks)) == ([True], 0)
    reply.drop()
    assert timers(shop) == 0


async def test_an_answer_ends_the_watch() -> None:
    reply, _, shop = replying(BOTH)
    exchange: Any = reply._exchange
    await exchange.read_body(10, 5.0)
    reply.watch(lambda: None)
    clock: Any = shop.clock
    await clock.advance(1.0)
    await reply.answer(200, b"{}")
    await asyncio.sleep(0)
    await settle()
    assert (len(shop.tasks), timers(shop)) == (0, 0)
