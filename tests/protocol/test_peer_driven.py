"""A peer under the smallest driver that waits: what callers see, and that messages go out whole.

It shows that the peer can be built and driven alone (C-TST-09); the product's driver has its own tests.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from emceepee.protocol.events import Owed
from emceepee.protocol.messages import Result
from emceepee.protocol.outbound import Lost, RemoteCancelled
from emceepee.protocol.peer import Peer, PeerClosed
from tests.support.fake_clock import settle
from tests.support.small_driver import SmallDriver


class Pipe:
    """Takes bytes one by one with a switch at each, as the worst pipe would. Set `broken` to make writes fail."""

    def __init__(self) -> None:
        self.bytes = bytearray()
        self.broken = False
        self.stuck: asyncio.Event | None = None

    async def write(self, data: bytes) -> None:
        if self.broken:
            raise BrokenPipeError
        if self.stuck is not None:
            await self.stuck.wait()
        for byte in data:
            self.bytes.append(byte)
            await asyncio.sleep(0)

    @property
    def messages(self) -> list[Any]:
        return [json.loads(line) for line in bytes(self.bytes).splitlines()]


def _driver() -> tuple[SmallDriver, Pipe]:
    pipe = Pipe()
    return SmallDriver(Peer("g"), pipe.write), pipe


async def _written(pipe: Pipe, count: int) -> None:
    async with asyncio.timeout(5):
        while pipe.bytes.count(b"\n") < count:
            await settle(1)


@pytest.mark.shows("C-DISP-07")
async def test_messages_of_concurrent_callers_and_answers_are_each_written_whole() -> None:
    driver, pipe = _driver()
    driver.hear(b'{"jsonrpc":"2.0","id":1,"method":"roots/list"}')
    [owed] = driver.events
    assert isinstance(owed, Owed)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        calls = [group.create_task(driver.call("tools/call", {"n": number})) for number in range(5)]
        group.create_task(driver.answer(owed, {"roots": []}))
        await settle()
        await _written(pipe, 6)
        assert sorted(message.get("id", 0) for message in pipe.messages if "method" in message) == [
            f"g{number}" for number in range(1, 6)
        ]
        assert {"jsonrpc": "2.0", "id": 1, "result": {"roots": []}} in pipe.messages
        for number in range(5, 0, -1):
            driver.hear(f'{{"jsonrpc":"2.0","id":"g{number}","result":{{"n":{number}}}}}'.encode())
    results = [call.result() for call in calls]
    assert [bytes(result.result) for result in results if isinstance(result, Result)] == [
        b'{"n":%d}' % number for number in range(1, 6)
    ]


@pytest.mark.shows("C-CAN-01", "C-CAN-02", "C-TST-02", "C-TST-09")
async def test_a_caller_that_is_cancelled_gets_its_cancellation_and_they_are_told() -> None:
    driver, pipe = _driver()
    call = asyncio.create_task(driver.call("tools/call", {}))
    await _written(pipe, 1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert pipe.messages[1]["method"] == "notifications/cancelled"
    assert pipe.messages[1]["params"]["requestId"] == pipe.messages[0]["id"] == "g1"
    assert len(driver.peer) == 0


@pytest.mark.shows("C-CAN-01")
async def test_a_cancellation_that_cannot_be_sent_does_not_hide_that_the_caller_was_cancelled() -> None:
    driver, pipe = _driver()
    call = asyncio.create_task(driver.call("tools/call", {}))
    await _written(pipe, 1)
    pipe.broken = True
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert len(driver.peer) == 0


@pytest.mark.shows("C-CAN-04")
async def test_a_caller_cancelled_before_its_turn_to_write_sends_nothing() -> None:
    driver, pipe = _driver()
    pipe.stuck = asyncio.Event()
    first = asyncio.create_task(driver.call("first", {}))
    second = asyncio.create_task(driver.call("second", {}))
    await settle()
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    pipe.stuck.set()
    await _written(pipe, 1)
    driver.close("done")
    assert await first == Lost("done")
    assert [message["method"] for message in pipe.messages] == ["first"]


@pytest.mark.shows("C-DISP-17")
async def test_a_write_that_fails_fails_the_call_and_nothing_stays_pending() -> None:
    driver, pipe = _driver()
    pipe.broken = True
    with pytest.raises(BrokenPipeError):
        await driver.call("tools/call", {})
    assert len(driver.peer) == 0


@pytest.mark.shows("C-DISP-14", "C-DISP-15", "C-DISP-16", "C-TST-04")
async def test_end_of_input_wakes_every_caller_and_later_calls_write_nothing() -> None:
    driver, pipe = _driver()
    calls = [asyncio.create_task(driver.call("x", {})) for _ in range(3)]
    await _written(pipe, 3)
    driver.close("end of input")
    driver.close("end of input")
    async with asyncio.timeout(5):
        assert await asyncio.gather(*calls) == [Lost("end of input")] * 3
    with pytest.raises(PeerClosed):
        await driver.call("x", {})
    assert len(pipe.messages) == 3


@pytest.mark.shows("C-CAN-05", "C-TST-03")
async def test_a_remote_cancellation_wakes_its_caller_with_a_distinct_ending() -> None:
    driver, pipe = _driver()
    cancelled, other = (asyncio.create_task(driver.call("x", {})) for _ in range(2))
    await _written(pipe, 2)
    driver.hear(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"g1","reason":"no"}}')
    async with asyncio.timeout(5):
        assert await cancelled == RemoteCancelled("no")
    assert not other.done()
    driver.close("done")
    await other
