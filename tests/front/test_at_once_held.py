"""Calls that nobody waits for, whose server asks something: the client is sent away as any other."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.front.at_once import AtOnce
from tests.conversations.house import House, Json, ModernClient, let_run
from tests.conversations.test_asks import asker
from tests.conversations.test_held_calls import (
    ABLE,
    ACCEPT,
    CALL,
    asks_two,
    back,
    call_id,
    heard,
    patient,
    refused,
    sent_away,
    shop,
    stubborn,
)
from tests.conversations.test_held_calls_borders import rounds
from tests.support.scripted_backend import SILENT, ScriptedBackend

PLAIN: Json = {"name": "plain", "arguments": {}}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each request, whether it was begun so."""
    seen: list[bool] = []
    begin = AtOnce.begin

    def noted(at_once: AtOnce, exchange: Any) -> bool:
        seen.append(begin(at_once, exchange))
        return seen[-1]

    monkeypatch.setattr(AtOnce, "begin", noted)
    return seen


async def warm(backend: ScriptedBackend, taken: list[bool]) -> tuple[House, ModernClient]:
    """A client whose connection and server are known, so that its calls need not wait."""
    asking = dict(backend.answers)["tools/call"]

    def call(turn: Any) -> Any:
        if turn.params["name"] == "plain":
            return {"content": []}
        return asking(turn) if callable(asking) else asking

    backend.answers = {"tools/call": call}
    backend.tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("plain", "paint")]
    house = House({"shop": backend}, over_wire=True)
    client = house.modern_client("/servers/shop/mcp", ABLE)
    await client.call("tools/list")
    for _ in range(3):
        await client.result("tools/call", PLAIN)
    assert taken[-1], "a call that asks nothing is begun without a task, whatever its client could be asked"
    assert (len(house.gateway.holds), house.gateway.holds.remembered) == (0, 0)
    taken.clear()
    return house, client


async def test_it_is_sent_away_and_comes_back(taken: list[bool]) -> None:
    backend = shop()
    house, client = await warm(backend, taken)
    told = await sent_away(house, client)
    assert taken == [True]
    (key,) = told["inputRequests"]
    result = await client.result("tools/call", back(told, {key: ACCEPT}))
    assert result["structuredContent"] == {"answers": [ACCEPT]}
    assert taken == [True, False], "who comes back has to wait"
    assert await client.result("tools/call", back(told, {key: {"action": "decline"}})) == result
    assert [answer for _, answer in heard(backend)] == [ACCEPT]
    await house.close()


async def test_several_rounds_and_several_questions(taken: list[bool]) -> None:
    backend = shop(asks_two)
    house, client = await warm(backend, taken)
    told = await sent_away(house, client)
    first, second = told["inputRequests"]
    rest = await sent_away(house, client, back(told, {first: ACCEPT}))
    result = await client.result("tools/call", back(rest, {second: ACCEPT}))
    assert result["structuredContent"] == {"answers": [ACCEPT, ACCEPT]}
    await house.close()


async def test_nobody_returns(taken: list[bool]) -> None:
    backend = shop(stubborn)
    house, client = await warm(backend, taken)
    told = await sent_away(house, client)
    await house.clock.advance(600)
    assert [answer for _, answer in heard(backend)] == [{"action": "cancel"}]
    await house.clock.advance(5)
    assert backend.cancelled == [call_id(backend)]
    (key,) = told["inputRequests"]
    assert (await refused(client, back(told, {key: ACCEPT})))[1] == -32602
    await house.close()


async def test_who_leaves_at_once_has_cancelled_and_who_leaves_later_may_come_back(taken: list[bool]) -> None:
    backend = shop(lambda turn: SILENT)
    house, client = await warm(backend, taken)
    started = client.start("tools/call", CALL)
    await let_run()
    started.leave()
    await let_run()
    assert taken == [True]
    assert backend.cancelled == [call_id(backend)]
    await house.close()

    backend, may_end = patient()
    house, client = await warm(backend, taken)
    told = await sent_away(house, client)
    (key,) = told["inputRequests"]
    again = client.start("tools/call", back(told, {key: ACCEPT}))
    await house.clock.advance(1)
    again.leave()
    await house.clock.advance(5)
    once_more = client.start("tools/call", back(told, {key: ACCEPT}))
    await let_run()
    may_end.set()
    await once_more.done()
    assert backend.cancelled == []
    assert len(heard(backend)) == 1
    await house.close()


async def test_whoever_never_got_the_state_is_waited_for_a_moment_only(taken: list[bool]) -> None:
    backend = shop(stubborn)
    house, client = await warm(backend, taken)
    started = client.start("tools/call", CALL)
    await let_run()
    started.leave()
    await let_run()
    await house.clock.advance(25)
    assert [answer for _, answer in heard(backend)] == [{"action": "cancel"}]
    assert backend.cancelled == [call_id(backend)]
    await house.close()


async def test_a_modern_server_wants_something_first(taken: list[bool]) -> None:
    backend = rounds()
    house, client = await warm(backend, taken)
    told = await client.result("tools/call", CALL)
    assert taken == [True]
    assert told["requestState"].startswith("g1.")
    result = await client.result("tools/call", back(told, {"k": ACCEPT}))
    assert result["structuredContent"] == {"k": ACCEPT}
    assert len(house.gateway.holds) == 0
    await house.close()


async def test_a_server_that_goes_away_meanwhile(taken: list[bool]) -> None:
    backend = shop(asker())
    house, client = await warm(backend, taken)
    told = await sent_away(house, client)
    backend.exit()
    await let_run()
    (key,) = told["inputRequests"]
    status, code, _, data = await refused(client, back(told, {key: ACCEPT}))
    assert (status, code, data["reason"]) == (200, -32603, "outcome_unknown")
    await house.close()
