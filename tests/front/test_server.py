"""HTTP over real sockets: the port, the bounds of a head, disconnects, and the way down."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from emceepee.errors import OperatorFault
from emceepee.front.http import HttpFront
from emceepee.front.server import HttpServer, bind, loop_factory
from emceepee.front.settings import FrontSettings
from emceepee.front.shop import Shop
from emceepee.runtime.clock import SystemClock
from emceepee.runtime.ids import SystemIds
from emceepee.sessions.directory import Directory
from emceepee.vocabulary.notices import ResourceUpdated
from emceepee.vocabulary.raw_json import to_raw
from tests.support.fake_surface import FakeSurface, Held
from tests.support.front_bench import SERVER_INFO, SUBSCRIPTION_KEY, call, enveloped, mirrored, request

PATIENCE = 10.0
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Served:
    def __init__(self, settings: FrontSettings) -> None:
        clock = SystemClock()
        self.surface = FakeSurface()
        self.shop = Shop(clock, SERVER_INFO, settings)
        self.directory = Directory(clock, SystemIds())
        self.front = HttpFront(self.shop, self.directory, lambda path: self.surface if path == "/mcp" else None)
        self.listening = bind("127.0.0.1", 0)
        self.http = HttpServer(self.front, self.listening, settings)

    async def connect(self) -> Client:
        return Client(*await asyncio.open_connection("127.0.0.1", self.listening.port), self.listening.port)


class Client:
    """The least of an HTTP client, so that nothing is hidden."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        self.reader, self.writer, self._port = reader, writer, port

    def send(self, message: Any, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(message).encode()
        lines = [
            "POST /mcp HTTP/1.1",
            f"host: 127.0.0.1:{self._port}",
            "content-type: application/json",
            "accept: application/json, text/event-stream",
            f"content-length: {len(body)}",
            *(f"{name}: {value}" for name, value in (headers or {}).items()),
        ]
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def send_modern(self, message: dict[str, Any]) -> None:
        full = enveloped(message)
        self.send(full, mirrored(full))

    def open_stream(self, session: str) -> None:
        lines = ("GET /mcp HTTP/1.1", "host: 127.0.0.1", "accept: text/event-stream", f"mcp-session-id: {session}")
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")

    async def head(self) -> bytes:
        async with asyncio.timeout(PATIENCE):
            return await self.reader.readuntil(b"\r\n\r\n")

    async def answer(self) -> Any:
        head = (await self.head()).lower()
        length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        return json.loads(await self.reader.readexactly(length))

    async def until(self, text: bytes) -> bytes:
        async with asyncio.timeout(PATIENCE):
            return await self.reader.readuntil(text)

    async def rest(self) -> bytes:
        async with asyncio.timeout(PATIENCE):
            try:
                return await self.reader.read()
            except ConnectionResetError:
                # Hung up on with bytes of ours still unread.
                return b""


@asynccontextmanager
async def serving(settings: FrontSettings | None = None) -> AsyncIterator[Served]:
    served = Served(settings or FrontSettings(drain=2.0))
    ready = asyncio.Event()
    running = asyncio.create_task(served.http.serve(ready.set))
    await ready.wait()
    try:
        yield served
    finally:
        served.http.stop()
        async with asyncio.timeout(PATIENCE):
            await running
            await served.front.close()
        assert (len(served.shop.tasks), len(served.directory), served.surface.running) == (0, 0, 0)
        assert served.surface.listeners == []


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 -- another task's doing over a real socket
            await asyncio.sleep(0.005)


def test_a_port_that_is_taken_is_said_before_anything_starts() -> None:
    first = bind("127.0.0.1", 0)
    try:
        assert first.url == f"http://127.0.0.1:{first.port}"
        with pytest.raises(OperatorFault, match=f"port {first.port}.*--port"):
            bind("127.0.0.1", first.port)
        with pytest.raises(OperatorFault, match="give an address of this machine"):
            bind("192.0.2.1", 0)
    finally:
        first.socket.close()


@pytest.mark.shows("EB-A14")
async def test_both_eras_on_one_connection_one_after_the_other() -> None:
    async with serving() as served:
        client = await served.connect()
        client.send(request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}))
        assert (await client.answer())["result"]["protocolVersion"] == "2025-11-25"
        client.send_modern(call(id="m"))
        assert (await client.answer())["result"]["resultType"] == "complete"
        client.writer.close()


async def test_a_modern_client_that_hangs_up_has_cancelled() -> None:
    async with serving() as served:
        served.surface._answering = Held()
        client = await served.connect()
        client.send_modern(call())
        await eventually(lambda: served.surface.running == 1)
        client.writer.close()
        await eventually(lambda: len(served.surface.cancelled) == 1)


@pytest.mark.shows("EB-F11")
async def test_going_down_ends_a_listener_with_its_result_and_lets_a_call_end() -> None:
    held = Held({"late": True})
    async with serving() as served:
        served.surface._answering = held
        listening, calling = await served.connect(), await served.connect()
        listening.send_modern(request("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id=4))
        await listening.until(b"acknowledged")
        calling.send_modern(call(id=5))
        await eventually(lambda: served.surface.running == 1)
        served.http.stop()
        rest = await listening.rest()
        assert b'"id":4' in rest
        assert SUBSCRIPTION_KEY.encode() in rest
        held.go_on()
        assert (await calling.answer())["result"]["late"] is True


async def test_a_call_that_outlives_the_grace_is_told_so() -> None:
    async with serving(FrontSettings(drain=1.0)) as served:
        served.surface._answering = Held()
        client = await served.connect()
        client.send_modern(call())
        await eventually(lambda: served.surface.running == 1)
        served.http.stop()
        assert b"503" in await client.head()
        assert b"Shutting down" in await client.rest()


async def test_going_down_waits_for_clients_that_were_sent_away_and_for_nobody_else() -> None:
    back = asyncio.Event()

    async def returned(seconds: float) -> None:
        assert seconds == 2.0
        await back.wait()

    async with serving() as served:
        served.shop.returned = returned
        served.http.stop()
        await eventually(lambda: served.shop.leaving)
        new, old = await served.connect(), await served.connect()
        new.send_modern(call(id=1))
        assert (await new.answer())["error"]["data"] == {"reason": "shutting_down"}
        again = call(id=2)
        again["params"]["requestState"] = "g1.x.y"
        old.send_modern(again)
        assert "result" in await old.answer()
        back.set()
        assert await new.rest() == b""


async def test_a_second_stop_waits_for_nobody() -> None:
    async def returned(seconds: float) -> None:
        await asyncio.Event().wait()

    async with serving(FrontSettings(drain=60.0)) as served:
        served.shop.returned = returned
        served.http.stop()
        await eventually(lambda: served.shop.leaving)
        served.http.stop()


async def test_a_second_stop_ends_at_once() -> None:
    async with serving(FrontSettings(drain=60.0)) as served:
        served.surface._answering = Held()
        client = await served.connect()
        client.send_modern(call())
        await eventually(lambda: served.surface.running == 1)
        served.http.stop()
        served.http.stop()


async def test_a_request_that_does_not_end_or_has_too_large_a_head_is_hung_up_on() -> None:
    async with serving(FrontSettings(drain=1.0, request_timeout=0.3)) as served:
        slow = await served.connect()
        slow.writer.write(b"POST /mcp HTTP/1.1\r\nhost: x")
        assert await slow.rest() == b""
        headless = await served.connect()
        headless.writer.write(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\n")
        headless.writer.write(b"content-type: application/json\r\ncontent-length: 10\r\n\r\n")
        assert await headless.rest() == b""
        large = await served.connect()
        large.writer.write(b"POST /mcp HTTP/1.1\r\n" + b"x: " + b"y" * 200_000)
        assert await large.rest() == b""


async def test_no_header_tells_what_serves() -> None:
    async with serving() as served:
        client = await served.connect()
        client.send(request("ping"))
        head = (await client.head()).lower()
        assert b"server:" not in head
        assert b"date:" not in head
        client.writer.close()


async def test_a_large_answer_to_a_client_that_reads_slowly_arrives_whole() -> None:
    async with serving() as served:
        client = await served.connect()
        client.send_modern(call(arguments={"text": "x" * 3_000_000}))
        assert len((await client.answer())["result"]["arguments"]["text"]) == 3_000_000
        client.writer.close()


def test_the_loop_is_uvloops_where_there_is_one() -> None:
    factory = loop_factory()
    if factory is not None:
        loop = factory()
        assert type(loop).__module__.startswith("uvloop")
        loop.close()


BIG = "x" * 30_000_000
"""More than the buffers of any kernel take."""


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, loop_factory() or asyncio.new_event_loop])
def test_a_client_that_never_reads_its_answer_is_hung_up_on(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def scene() -> None:
        async with serving(FrontSettings(drain=2.0, stalled_after=0.3)) as served:
            held = Held({"content": BIG})
            served.surface._answering = held
            client = await served.connect()
            client.send_modern(call())
            await eventually(lambda: bool(held.tellers))
            held.go_on()
            await eventually(lambda: served.http.connections == 1)
            await eventually(lambda: served.http.connections == 0)
            assert len(await client.rest()) < len(BIG)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(scene())


async def test_a_standing_stream_that_is_never_read_is_ended_and_its_session_may_open_another() -> None:
    async with serving(FrontSettings(drain=2.0, stalled_after=0.3)) as served:
        client = await served.connect()
        client.send(request("initialize", HELLO))
        await client.head()
        (found,) = served.directory.sessions()
        stream = await served.connect()
        stream.open_stream(found.id)
        await eventually(lambda: bool(served.surface.listeners))
        for number in range(100):
            served.surface.tell(ResourceUpdated(f"note://{number}", {"uri": to_raw(BIG[:300_000])}))
            await asyncio.sleep(0)
        await eventually(lambda: not found.busy)
        again = await served.connect()
        again.open_stream(found.id)
        assert b"200 OK" in await again.head()
