"""Requests that are owed an answer: found by exact id, called off once, forgotten."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.errors import ClientFault, LimitReached
from emceepee.sessions.in_flight import InFlight, Running, until_called_off
from tests.support.fake_clock import settle


async def work(table: InFlight, request_id: int | str, go: asyncio.Event) -> str | None:
    async def waiting() -> str:
        await go.wait()
        return "done"

    running = table.begin(request_id)
    try:
        return await until_called_off(running, waiting())
    finally:
        table.finish(request_id)


async def test_a_number_and_the_same_text_are_two_requests() -> None:
    table, go = InFlight(4), asyncio.Event()
    number, text = asyncio.create_task(work(table, 1, go)), asyncio.create_task(work(table, "1", go))
    await settle()
    assert len(table) == 2
    assert table.call_off("1") is True
    assert await text is None
    go.set()
    assert await number == "done"
    assert len(table) == 0


async def test_what_has_ended_cannot_be_called_off() -> None:
    table, go = InFlight(4), asyncio.Event()
    go.set()
    assert await work(table, 1, go) == "done"
    assert table.call_off(1) is False


async def test_the_same_id_twice_and_too_many_are_refused_and_disturb_nobody() -> None:
    table = InFlight(2)
    table.begin(1)
    with pytest.raises(ClientFault):
        table.begin(1)
    table.begin(2)
    with pytest.raises(LimitReached):
        table.begin(3)
    assert len(table) == 2


async def test_a_hello_cannot_be_called_off() -> None:
    table = InFlight(2)
    table.begin(0, can_be_called_off=False)
    table.call_off(0)
    table.call_off_all()
    await settle()
    table.finish(0)


async def test_work_that_ends_although_it_was_called_off_still_says_nothing() -> None:
    go = asyncio.Event()

    async def stubborn() -> str:
        try:
            await go.wait()
        except asyncio.CancelledError:
            return "cleaned up"
        return "done"

    running: list[Running] = []

    async def carrying() -> str | None:
        running.append(Running(asyncio.current_task()))
        result = await until_called_off(running[0], stubborn())
        # The cancellation is used up: what follows is not disturbed by it.
        await asyncio.sleep(0)
        return result

    task = asyncio.create_task(carrying())
    await settle()
    running[0].call_off()
    running[0].call_off()
    assert await task is None


async def test_another_cancellation_is_not_taken_for_the_clients() -> None:
    table, go = InFlight(2), asyncio.Event()
    task = asyncio.create_task(work(table, 1, go))
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(table) == 0


async def test_whoever_waits_for_the_last_request_waits_no_longer_than_he_said() -> None:
    table, go = InFlight(2), asyncio.Event()
    await table.emptied(60)
    task = asyncio.create_task(work(table, 1, go))
    await settle()
    await table.emptied(0)
    assert len(table) == 1
    waiting = asyncio.create_task(table.emptied(60))
    await settle()
    go.set()
    await waiting
    assert len(table) == 0
    await task
