"""One client on pipes: both eras in turn, bad lines, end of input, a client that does not read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from emceepee.front.settings import FrontSettings
from emceepee.front.shop import Shop
from emceepee.front.stdio import StdioFront, one_line
from emceepee.sessions.directory import Directory
from emceepee.vocabulary.notices import ListChanged, Progress
from emceepee.vocabulary.raw_json import to_raw
from tests.support.fake_clock import FakeClock, settle
from tests.support.fake_surface import FakeSurface, Held
from tests.support.front_bench import (
    SERVER_INFO,
    SUBSCRIPTION_KEY,
    CountedIds,
    Json,
    call,
    enveloped,
    notification,
    request,
)

HELLO = request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}, id=0)


class Pipes:
    """Both ends of the pipes of one front."""

    def __init__(self, **settings: Any) -> None:
        self.surface = FakeSurface()
        self.clock = FakeClock()
        self.shop = Shop(self.clock, SERVER_INFO, FrontSettings(after_eof=0.01, **settings))
        self.directory = Directory(self.clock, CountedIds())
        self._input: asyncio.Queue[bytes] = asyncio.Queue()
        self.written = b""
        self.reading = asyncio.Event()
        self.reading.set()
        self.gone = False
        self.front = StdioFront(self.shop, self.directory, self.surface, self._input.get, self._write)
        self._running = asyncio.create_task(self.front.run())

    async def _write(self, data: bytes) -> None:
        await self.reading.wait()
        if self.gone:
            raise BrokenPipeError
        self.written += data

    async def send(self, *messages: Json | list[Json] | bytes) -> None:
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
            self._input.put_nowait(line)
        await settle(30)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.written.splitlines()]

    async def ended(self) -> None:
        async with asyncio.timeout(5.0):
            await self._running

    async def close(self) -> None:
        """End of input; show that nothing is left."""
        self._input.put_nowait(b"")
        await self.ended()
        await self.shop.tasks.close()
        assert (len(self.front), len(self.directory), self.surface.running) == (0, 0, 0)
        assert self.surface.listeners == []
        assert self.clock.waiting == 0
        await self.directory.close(lambda _: asyncio.sleep(0))


@pytest.fixture
async def pipes() -> AsyncIterator[Pipes]:
    pipes = Pipes()
    yield pipes
    await pipes.close()


@pytest.mark.shows("EB-A14")
async def test_both_eras_are_served_on_one_process_message_by_message(pipes: Pipes) -> None:
    await pipes.send(enveloped(request("server/discover", id="d")))
    await pipes.send(HELLO, call(id=1), enveloped(call(id=2)))
    discovered, welcome, legacy, modern = pipes.lines
    assert discovered["result"]["supportedVersions"][0] == "2026-07-28"
    assert welcome["result"]["protocolVersion"] == "2025-11-25"
    assert "resultType" not in legacy["result"]
    assert modern["result"]["resultType"] == "complete"


async def test_what_follows_initialize_without_waiting_is_served(pipes: Pipes) -> None:
    data = b"".join(json.dumps(m).encode() + b"\n" for m in (HELLO, notification("notifications/initialized"), call()))
    await pipes.send(data)
    assert [line["id"] for line in pipes.lines] == [0, 1]
    assert len(pipes.surface.listeners) == 1


async def test_a_legacy_request_before_initialize_is_refused_but_ping_is_answered(pipes: Pipes) -> None:
    await pipes.send(call(id=1), request("ping", id="p"))
    assert pipes.lines[0]["error"]["code"] == -32600
    assert pipes.lines[1] == {"jsonrpc": "2.0", "id": "p", "result": {}}


async def test_answers_come_in_the_order_in_which_they_are_ready(pipes: Pipes) -> None:
    held = Held()
    pipes.surface._answering = held
    await pipes.send(HELLO, call(id=1), call(id=2))
    held.go_on(1)
    await settle()
    held.go_on(0)
    await settle()
    assert [line["id"] for line in pipes.lines] == [0, 2, 1]


async def test_progress_goes_before_its_answer_under_its_own_token(pipes: Pipes) -> None:
    held = Held()
    pipes.surface._answering = held
    await pipes.send(HELLO, call(id=1, progressToken="a"), enveloped(call(id=2, progressToken=7)))
    for which in (0, 1):
        held.notice(Progress(1, {"progress": to_raw(1)}), which)
        held.go_on(which)
    await settle()
    held.notice(Progress(2, {"progress": to_raw(2)}), 0)
    tokens = [line["params"]["progressToken"] for line in pipes.lines if "method" in line]
    assert tokens == ["a", 7]
    assert [line["id"] for line in pipes.lines if "id" in line] == [0, 1, 2]


async def test_a_cancelled_request_of_either_era_is_never_answered(pipes: Pipes) -> None:
    pipes.surface._answering = Held()
    await pipes.send(HELLO, call(id=1), enveloped(call(id="1")))
    await pipes.send(notification("notifications/cancelled", {"requestId": 1}))
    assert len(pipes.surface.cancelled) == 1
    await pipes.send(enveloped(notification("notifications/cancelled", {"requestId": "1"})))
    assert len(pipes.surface.cancelled) == 2
    assert len(pipes.lines) == 1


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{\n", -32700),
        (b"\xff\xfe{}\n", -32700),
        (b"[" * 5000 + b"\n", -32700),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * 90 + b"]" * 90 + b"}\n", -32600),
        (b"[]\n", -32600),
    ],
)
async def test_a_line_that_is_no_message_is_answered_and_the_next_one_served(
    pipes: Pipes, line: bytes, code: int
) -> None:
    await pipes.send(line, request("ping", id=5))
    assert pipes.lines[0]["error"]["code"] == code
    assert pipes.lines[1]["id"] == 5


async def test_an_unreadable_answer_of_theirs_is_not_answered(pipes: Pipes) -> None:
    await pipes.send(b'{"jsonrpc":"2.0","id":1,"error":7}\n', {"jsonrpc": "2.0", "id": 1, "result": {}})
    assert pipes.written == b""


async def test_a_line_beyond_the_limit_is_dropped_said_once_and_the_next_one_served() -> None:
    pipes = Pipes(max_body=200)
    await pipes.send(b"x" * 150, b"x" * 150, b"x" * 150 + b"\n", request("ping", id=5))
    assert [line.get("id") for line in pipes.lines] == [None, 5]
    assert "larger than 200" in pipes.lines[0]["error"]["message"]
    await pipes.close()


async def test_half_a_message_at_the_end_of_input_is_answered_as_unreadable() -> None:
    pipes = Pipes()
    await pipes.send(b'{"jsonrpc":"2.0","id":1,"meth')
    assert pipes.written == b""
    await pipes.close()
    assert [line["error"]["code"] for line in pipes.lines] == [-32700]


async def test_a_whole_last_message_without_a_line_end_is_served() -> None:
    pipes = Pipes()
    await pipes.send(json.dumps(enveloped(call(id=9))).encode())
    await pipes.close()
    assert [line["id"] for line in pipes.lines] == [9]


@pytest.mark.shows("X-CON-06")
async def test_the_end_of_input_ends_calls_and_session() -> None:
    pipes = Pipes()
    pipes.surface._answering = Held()
    await pipes.send(HELLO, notification("notifications/initialized"), call(id=1), enveloped(call(id=2)))
    assert pipes.surface.running == 2
    await pipes.close()
    assert len(pipes.surface.cancelled) == 2
    assert pipes.surface.forgotten == ["slot0000.00000000000000000000000001"]


async def test_a_listener_is_told_among_the_rest_and_ended_by_its_cancellation(pipes: Pipes) -> None:
    await pipes.send(enveloped(request("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id="L")))
    pipes.surface.tell(ListChanged("tools"))
    await settle()
    acknowledged, changed = pipes.lines
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert changed["params"]["_meta"][SUBSCRIPTION_KEY] == "L"
    await pipes.send(notification("notifications/cancelled", {"requestId": "L"}))
    assert pipes.surface.listeners == []
    assert len(pipes.lines) == 2


@pytest.mark.shows("EB-F11")
async def test_on_stop_a_listener_gets_its_result_and_its_cancellation() -> None:
    pipes = Pipes()
    await pipes.send(enveloped(request("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id=3)))
    pipes.front.stop()
    await pipes.ended()
    assert pipes.lines[1]["id"] == 3
    assert pipes.lines[1]["result"]["_meta"][SUBSCRIPTION_KEY] == 3
    assert pipes.lines[2] == notification("notifications/cancelled", {"requestId": 3})
    await pipes.close()


async def test_what_changes_is_told_to_a_legacy_client_unasked(pipes: Pipes) -> None:
    await pipes.send(HELLO, notification("notifications/initialized"))
    pipes.surface.tell(ListChanged("prompts"))
    await settle()
    assert pipes.lines[1] == notification("notifications/prompts/list_changed")


async def test_batches_are_served_at_2025_03_26_only(pipes: Pipes) -> None:
    await pipes.send(HELLO, [call(id=1)])
    assert pipes.lines[1]["error"]["code"] == -32600
    old = request("initialize", {"protocolVersion": "2025-03-26", "capabilities": {}}, id=0)
    await pipes.send(old, [call(id=1), call(id=2), notification("notifications/initialized")])
    assert [answer["id"] for answer in pipes.lines[3]] == [1, 2]
    assert len(pipes.directory) == 1


async def test_a_client_that_does_not_read_is_not_read_either(pipes: Pipes) -> None:
    await pipes.send(HELLO)
    pipes.reading.clear()
    for start in range(0, 500, 50):
        await pipes.send(b"".join(json.dumps(call(id=n)).encode() + b"\n" for n in range(start, start + 50)))
    assert len(pipes.surface.calls) < 200
    pipes.reading.set()
    async with asyncio.timeout(5.0):
        while len(pipes.lines) < 501:  # noqa: ASYNC110 -- nobody tells when the fake was written to
            await asyncio.sleep(0)
    assert {line["id"] for line in pipes.lines[1:]} == set(range(500))


async def test_a_client_that_closed_its_end_ends_us() -> None:
    pipes = Pipes()
    pipes.gone = True
    await pipes.send(HELLO, request("ping"))
    await pipes.close()


def test_a_pretty_printed_answer_is_still_one_line() -> None:
    assert one_line(b'{\n "a":\r\n 1}') == b'{  "a":   1}\n'
