"""The old transport: one stream in, POSTs out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from emceepee.backends.http_answers import CredentialsRefused, SessionGone
from emceepee.backends.http_client import HttpClient
from emceepee.backends.http_endpoint import HttpSettings
from emceepee.backends.http_sse import SseTransport
from emceepee.backends.transport import PIPE, HttpRefusal
from emceepee.errors import BackendFault, BackendUnavailable, BackendViolation, OutcomeUnknown
from emceepee.protocol.messages import Request, Result
from tests.support.fake_clock import FakeClock, settle
from tests.support.http_stage import ASK, CALL, DONE, NOTE, event
from tests.support.inbox import RecordingInbox
from tests.support.raw_server import WAIT, Script, Wire, raw_server, unused_port

ENDPOINT = b"event: endpoint\ndata: /messages?session=1\n\n"


class OldStage:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.client = HttpClient(self.clock, {})
        self.inbox = RecordingInbox()
        self.transports: list[SseTransport] = []

    async def to(self, url: str) -> SseTransport:
        transport = SseTransport("files", url, [("X-Key", "k")], self.client, self.clock, HttpSettings())
        self.transports.append(transport)
        async with asyncio.timeout(WAIT):
            await transport.start(self.inbox)
        return transport

    async def fails_to_start(self, url: str) -> BackendFault:
        with pytest.raises(BackendFault) as caught:
            await self.to(url)
        return caught.value

    async def close(self) -> None:
        for transport in self.transports:
            await transport.close()
        await self.client.close()
        assert self.client.connections == 0
        assert self.clock.waiting == 0


@pytest.fixture
async def stage() -> AsyncIterator[OldStage]:
    one = OldStage()
    yield one
    async with asyncio.timeout(WAIT):
        await one.close()


def old_server(answer: bytes = DONE, status: str = "202 Accepted", endpoint: bytes = ENDPOINT) -> Script:
    """Sends the answer on the stream whenever something was posted."""
    posted = asyncio.Event()

    async def script(wire: Wire) -> None:
        while True:
            asked = await wire.request()
            if asked.method == "POST":
                await wire.answer(b"Accepted", status, content_type="text/plain")
                posted.set()
                continue
            await wire.open_stream()
            await wire.chunk(endpoint)
            if await wire.hung_up_or(posted):
                await wire.chunk(event(answer))
                await wire.hung_up()
            return

    return script


async def test_messages_go_where_the_stream_says_and_answers_come_on_it(stage: OldStage) -> None:
    async with raw_server(old_server()) as server:
        transport = await stage.to(server.url)
        await transport.send(CALL, "g1")
        assert isinstance(await stage.inbox.next(), Result)
        assert stage.inbox.messages[0][1] == PIPE
        get, post = server.requests
        assert (get.method, get.target, get.headers["x-key"]) == ("GET", "/mcp", "k")
        assert (post.method, post.target, post.headers["x-key"]) == ("POST", "/messages?session=1", "k")
        assert post.body == CALL


@pytest.mark.parametrize("endpoint", ["messages", "?session=1", "{url}"])
async def test_the_address_may_be_written_in_any_way_that_stays_on_the_origin(stage: OldStage, endpoint: str) -> None:
    async def script(wire: Wire) -> None:
        asked = await wire.request()
        if asked.method == "POST":
            await wire.answer(b"", "202 Accepted")
            return
        await wire.open_stream()
        where = endpoint.format(url=f"http://{asked.headers['host']}/absolute")
        await wire.chunk(f"event: endpoint\ndata: {where}\n\n".encode())
        await wire.hung_up()

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        await transport.send(NOTE)
        expected = {"messages": "/messages", "?session=1": "/mcp?session=1", "{url}": "/absolute"}
        assert server.requests[1].target == expected[endpoint]


@pytest.mark.parametrize(
    "where", [b"http://evil.test/messages", b"//evil.test/", b"file:///etc/passwd", b"https://127.0.0.1/"]
)
async def test_an_address_on_another_origin_is_a_violation_and_gets_nothing(stage: OldStage, where: bytes) -> None:
    async with raw_server(old_server(endpoint=b"event: endpoint\ndata: " + where + b"\n\n")) as server:
        assert isinstance(await stage.fails_to_start(server.url), BackendViolation)
        await server.until_closed()


async def test_a_second_address_changes_nothing(stage: OldStage) -> None:
    async with raw_server(old_server(endpoint=ENDPOINT + ENDPOINT.replace(b"/messages", b"/other"))) as server:
        transport = await stage.to(server.url)
        await transport.send(NOTE)
        assert server.requests[1].target == "/messages?session=1"


async def test_asks_of_the_server_come_on_the_pipe_too(stage: OldStage) -> None:
    async with raw_server(old_server(answer=ASK)) as server:
        transport = await stage.to(server.url)
        await transport.send(NOTE)
        assert isinstance(await stage.inbox.next(), Request)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("404 Not Found", HttpRefusal),
        ("405 Method Not Allowed", HttpRefusal),
        ("401 Unauthorized", CredentialsRefused),
        ("503 Service Unavailable", BackendUnavailable),
        ("200 OK", HttpRefusal),
    ],
)
async def test_a_server_that_gives_no_stream_is_said_as_what_it_is(
    stage: OldStage, status: str, kind: type[BackendFault]
) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.answer(b"{}", status)

    async with raw_server(script) as server:
        assert type(await stage.fails_to_start(server.url)) is kind
    assert stage.inbox.faults == []


async def test_nobody_there_is_unavailable(stage: OldStage) -> None:
    assert isinstance(await stage.fails_to_start(f"http://127.0.0.1:{unused_port()}/sse"), BackendUnavailable)


async def test_a_stream_that_names_no_address_is_given_up(stage: OldStage) -> None:
    async with raw_server(old_server(endpoint=b": nothing\n\n")) as server:
        starting = asyncio.ensure_future(stage.fails_to_start(server.url))
        await server.until(lambda: len(server.requests) == 1)
        await stage.clock.advance(11)
        async with asyncio.timeout(WAIT):
            assert isinstance(await starting, BackendUnavailable)
        await server.until_closed()


async def test_a_stream_that_ends_before_the_address_is_unavailable(stage: OldStage) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        await wire.end_stream()

    async with raw_server(script) as server:
        assert isinstance(await stage.fails_to_start(server.url), BackendUnavailable)
    assert stage.inbox.faults == []


@pytest.mark.parametrize("cleanly", [True, False])
async def test_the_end_of_the_stream_is_the_end_of_the_connection(stage: OldStage, cleanly: bool) -> None:
    go = asyncio.Event()

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        await wire.chunk(ENDPOINT)
        await go.wait()
        if cleanly:
            await wire.end_stream()
        else:
            wire.reset()

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        go.set()
        assert isinstance(await stage.inbox.fault(), BackendUnavailable)
        with pytest.raises(BackendUnavailable):
            await transport.send(CALL, "g1")
        assert len(stage.inbox.faults) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("404 Not Found", SessionGone),
        ("400 Bad Request", HttpRefusal),
        ("500 Internal Server Error", OutcomeUnknown),
        ("401 Unauthorized", CredentialsRefused),
    ],
)
async def test_a_message_that_is_not_taken_is_said_as_what_it_is(
    stage: OldStage, status: str, kind: type[BackendFault]
) -> None:
    async with raw_server(old_server(status=status)) as server:
        transport = await stage.to(server.url)
        with pytest.raises(kind):
            await transport.send(CALL, "g1")


async def test_a_post_that_is_lost_is_an_unknown_outcome(stage: OldStage) -> None:
    async def script(wire: Wire) -> None:
        asked = await wire.request()
        if asked.method == "POST":
            wire.reset()
            return
        await wire.open_stream()
        await wire.chunk(ENDPOINT)
        await wire.hung_up()

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        with pytest.raises(OutcomeUnknown):
            await transport.send(CALL, "g1")


async def test_closing_is_no_loss_and_leaves_nothing(stage: OldStage) -> None:
    async with raw_server(old_server()) as server:
        transport = await stage.to(server.url)
        await transport.close()
        await transport.close()
        await server.until_closed()
        await settle()
        assert stage.inbox.faults == []
        with pytest.raises(BackendUnavailable):
            await transport.send(NOTE)


async def test_a_start_that_is_cancelled_leaves_nothing(stage: OldStage) -> None:
    async with raw_server(old_server(endpoint=b": nothing\n\n")) as server:
        starting = asyncio.ensure_future(stage.to(server.url))
        await server.until(lambda: len(server.requests) == 1)
        starting.cancel()
        await server.until_closed()
        assert stage.clock.waiting <= 1
