"""Streamable HTTP against servers of raw bytes, good and bad. On both loops."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from emceepee.backends.http_answers import CredentialsRefused, SessionGone
from emceepee.backends.streamable_http import HttpTransport
from emceepee.backends.transport import HttpRefusal, Origin
from emceepee.errors import BackendFault, BackendUnavailable, BackendViolation, OutcomeUnknown
from emceepee.protocol.messages import Failure, Notification, Request, Result
from tests.support.fake_clock import settle
from tests.support.http_stage import ASK, CALL, DONE, NOTE, TOLD, Stage, event
from tests.support.raw_server import WAIT, Script, Wire, raw_server, unused_port


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    one = Stage()
    yield one
    async with asyncio.timeout(WAIT):
        await one.close()


async def call(transport: HttpTransport) -> int:
    async with asyncio.timeout(WAIT):
        return await transport.post(CALL, "g1")


async def fails(transport: HttpTransport, message: bytes = CALL, request: str | None = "g1") -> BackendFault:
    with pytest.raises(BackendFault) as caught:
        async with asyncio.timeout(WAIT):
            await transport.send(message, request)
    return caught.value


def answering(body: bytes, status: str = "200 OK", **headers: str) -> Script:
    async def script(wire: Wire) -> None:
        while True:
            await wire.request()
            await wire.answer(body, status, **headers)

    return script


def saying(*parts: bytes) -> Script:
    """Each part on its way before the next, then the end."""

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.say(*parts)

    return script


# -- answers


async def test_a_json_answer_is_handed_over_with_the_stream_it_came_on(stage: Stage) -> None:
    async with raw_server(answering(DONE)) as server:
        assert await call(await stage.to(server.url)) == 200
        assert stage.inbox.messages == [(Result("g1", stage.inbox.messages[0][0].result), Origin("post", "g1"))]  # type: ignore[union-attr]
        assert server.requests[0].body == CALL
        assert server.requests[0].headers["x-key"] == "k"


async def test_the_result_stays_the_bytes_that_came(stage: Stage) -> None:
    body = b'{"jsonrpc":"2.0","id":"g1","result":{ "z":1.0,"a":[ ],"z2":1e400,"\\u00fc":"\xc3\xbc"}}'
    async with raw_server(answering(body)) as server:
        await call(await stage.to(server.url))
    message = stage.inbox.messages[0][0]
    assert isinstance(message, Result)
    assert bytes(message.result) == b'{ "z":1.0,"a":[ ],"z2":1e400,"\\u00fc":"\xc3\xbc"}'


async def test_an_array_of_messages_is_handed_over_one_by_one(stage: Stage) -> None:
    async with raw_server(answering(b"[" + TOLD + b"," + DONE + b"]")) as server:
        await call(await stage.to(server.url))
    assert stage.kinds == [Notification, Result]


async def test_calls_in_a_row_share_one_connection(stage: Stage) -> None:
    async with raw_server(answering(DONE)) as server:
        transport = await stage.to(server.url)
        for _ in range(5):
            await call(transport)
        assert server.connections == 1


async def test_a_stream_brings_notices_asks_and_the_answer_each_with_its_origin(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        while True:
            await wire.request()
            await wire.open_stream()
            await wire.chunk(event(TOLD) + event(ASK))
            await wire.last_chunk(event(DONE))

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        await call(transport)
        assert stage.kinds == [Notification, Request, Result]
        assert set(stage.origins) == {Origin("post", "g1")}
        await call(transport)
        assert server.connections == 1


async def test_a_stream_may_be_cut_anywhere(stage: Stage) -> None:
    events = event(TOLD) + b": ping\r\n\r\n" + event(DONE)
    chunks = b"".join(b"1\r\n%b\r\n" % events[index : index + 1] for index in range(len(events)))
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
    wire_bytes = head + chunks + b"0\r\n\r\n"
    async with raw_server(saying(*[wire_bytes[i : i + 7] for i in range(0, len(wire_bytes), 7)])) as server:
        await call(await stage.to(server.url))
    assert stage.kinds == [Notification, Result]
    assert stage.inbox.rubbish_heard == []


async def test_send_returns_with_the_answer_though_the_stream_goes_on(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        await wire.chunk(event(DONE))
        await wire.hung_up()

    async with raw_server(script) as server:
        await call(await stage.to(server.url))
        assert len(server.open) == 1
        await stage.clock.advance(10)
        await server.until_closed()


async def test_a_stream_that_ends_with_its_connection_is_fine(stage: Stage) -> None:
    async with raw_server(saying(b"HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", event(DONE))) as server:
        await call(await stage.to(server.url))
    assert stage.kinds == [Result]


@pytest.mark.parametrize("status", ["202 Accepted", "204 No Content", "200 OK"])
async def test_a_notification_that_was_taken_brings_nothing(stage: Stage, status: str) -> None:
    body = b"" if status.startswith("204") else b"null"
    async with raw_server(answering(body, status)) as server:
        transport = await stage.to(server.url)
        await transport.send(NOTE)
        await transport.send(NOTE)
        assert server.connections == 1
    assert stage.inbox.messages == []


# -- answers that are none


async def test_an_error_in_a_refusal_is_an_answer_and_its_status_is_known(stage: Stage) -> None:
    body = b'{"jsonrpc":"2.0","id":"g1","error":{"code":-32601,"message":"no"}}'
    async with raw_server(answering(body, "404 Not Found")) as server:
        assert await call(await stage.to(server.url)) == 404
    assert stage.kinds == [Failure]


async def test_an_error_without_an_id_answers_the_request_it_came_back_on(stage: Stage) -> None:
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"no","data":{"supported":[]}}}'
    async with raw_server(answering(body, "400 Bad Request")) as server:
        assert await call(await stage.to(server.url)) == 400
    message = stage.inbox.messages[0][0]
    assert isinstance(message, Failure)
    assert message.id == "g1"
    assert bytes(message.error.data or b"") == b'{"supported":[]}'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b'{"error":"x"}',
        b'{"jsonrpc":"2.0","id":"server-error","error":{"code":1,"message":"x"}}',
        b"[]",
    ],
)
@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "405 Method Not Allowed"])
@pytest.mark.shows("EB-B1")
async def test_a_refusal_without_an_answer_keeps_status_and_body(stage: Stage, status: str, body: bytes) -> None:
    async with raw_server(answering(body, status)) as server:
        fault = await fails(await stage.to(server.url))
    assert isinstance(fault, HttpRefusal)
    assert (fault.status, fault.body) == (int(status[:3]), body)
    assert stage.inbox.messages == []


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
async def test_refused_credentials_are_told_with_the_challenge(stage: Stage, status: str) -> None:
    async with raw_server(answering(b"", status, www_authenticate="Bearer x")) as server:
        fault = await fails(await stage.to(server.url))
    assert isinstance(fault, CredentialsRefused)
    assert fault.challenge == "Bearer x"


@pytest.mark.shows("EB-B3")
async def test_503_is_an_outage_in_which_nothing_was_done(stage: Stage) -> None:
    async with raw_server(answering(b"busy", "503 Service Unavailable")) as server:
        assert isinstance(await fails(await stage.to(server.url)), BackendUnavailable)


async def test_500_leaves_open_what_was_done(stage: Stage) -> None:
    async with raw_server(answering(b"", "500 Internal Server Error")) as server:
        assert isinstance(await fails(await stage.to(server.url)), OutcomeUnknown)


@pytest.mark.parametrize(
    ("body", "rubbish"),
    [
        (b"{", True),
        (b'{"jsonrpc":"2.0","id":"g1","result":"\xff"}', True),
        (b'{"jsonrpc":"2.0","id":"g2","result":{}}', False),
        (b"[" * 100_000, True),
        (TOLD, False),
    ],
)
async def test_a_body_without_the_answer_is_a_violation(stage: Stage, body: bytes, rubbish: bool) -> None:
    async with raw_server(answering(body)) as server:
        assert isinstance(await fails(await stage.to(server.url)), BackendViolation)
    assert bool(stage.inbox.rubbish_heard) == rubbish


@pytest.mark.parametrize("body", [b"<html>hello</html>", b""])
async def test_a_page_instead_of_an_answer_is_a_refusal(stage: Stage, body: bytes) -> None:
    headers = {"content_type": "text/html"} if body else {}
    async with raw_server(answering(body, **headers)) as server:
        fault = await fails(await stage.to(server.url))
    assert isinstance(fault, HttpRefusal)
    assert fault.status == 200


async def test_an_answer_beyond_the_limit_is_cut_off(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.say(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n")
        await wire.say(b"x" * 2000)
        await wire.hung_up()

    async with raw_server(script) as server:
        fault = await fails(await stage.to(server.url, max_body_bytes=1000))
        assert isinstance(fault, BackendViolation)
        assert "1000 bytes" in str(fault)
        await server.until_closed()


async def test_an_event_beyond_the_limit_loses_its_call_and_says_why(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        await wire.chunk(b"data: " + b"x" * 2000 + b"\n\n")
        await wire.end_stream()

    async with raw_server(script) as server:
        fault = await fails(await stage.to(server.url, max_event_bytes=1000))
    assert isinstance(fault, OutcomeUnknown)
    assert "too large" in str(fault)


async def test_rubbish_between_events_costs_nothing_but_a_note(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        await wire.chunk(event(b"{rubbish") + event(DONE))
        await wire.end_stream()

    async with raw_server(script) as server:
        await call(await stage.to(server.url))
    assert len(stage.inbox.rubbish_heard) == 1
    assert stage.kinds == [Result]


@pytest.mark.parametrize(
    "junk", [b"SSH-2.0-x\r\n", b"\0\0\0\0", b"HTTP/1.1 101 S\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"]
)
async def test_what_is_not_http_is_a_violation(stage: Stage, junk: bytes) -> None:
    async with raw_server(saying(junk)) as server:
        assert isinstance(await fails(await stage.to(server.url)), BackendViolation)


# -- lost on the way


async def test_nobody_there_is_unavailable(stage: Stage) -> None:
    transport = await stage.to(f"http://127.0.0.1:{unused_port()}/mcp")
    assert isinstance(await fails(transport), BackendUnavailable)
    assert isinstance(await fails(transport, NOTE, None), BackendUnavailable)


@pytest.mark.parametrize(
    "part",
    [
        b"",
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n" + DONE[:20],
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + event(DONE)[:-1],
    ],
)
async def test_an_answer_lost_on_the_way_is_an_unknown_outcome_and_nothing_is_sent_twice(
    stage: Stage, part: bytes
) -> None:
    async with raw_server(saying(part)) as server:
        assert isinstance(await fails(await stage.to(server.url)), OutcomeUnknown)
        assert len(server.requests) == 1


async def test_a_refusal_whose_body_is_cut_is_still_that_refusal(stage: Stage) -> None:
    async with raw_server(saying(b"HTTP/1.1 404 Not Found\r\ncontent-length: 50\r\n\r\nno")) as server:
        fault = await fails(await stage.to(server.url))
    assert isinstance(fault, HttpRefusal)
    assert fault.status == 404


async def test_a_header_that_would_break_out_is_not_sent(stage: Stage) -> None:
    async with raw_server(answering(DONE)) as server:
        transport = await stage.to(server.url)
        with pytest.raises(BackendUnavailable):
            await transport.send(CALL, "g1", [("Mcp-Name", "a\r\nx-evil: 1")])
        assert server.connections == 0


# -- redirects


async def test_a_redirect_within_the_origin_is_followed_once_and_a_slash_remembered(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        while True:
            asked = await wire.request()
            if asked.target == "/mcp/":
                await wire.answer(DONE)
            else:
                await wire.answer(b"", "307 Temporary Redirect", location="/mcp/")

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        await call(transport)
        await call(transport)
        assert [asked.target for asked in server.requests] == ["/mcp", "/mcp/", "/mcp/"]
        assert server.requests[1].body == CALL
        assert server.connections == 1


@pytest.mark.parametrize("location", ["http://evil.test/mcp", "https://127.0.0.1/mcp", "/round", ""])
async def test_a_redirect_to_elsewhere_or_around_is_refused(stage: Stage, location: str) -> None:
    async with raw_server(answering(b"", "308 Permanent Redirect", location=location)) as server:
        fault = await fails(await stage.to(server.url))
        assert isinstance(fault, HttpRefusal)
        assert fault.status == 308
        assert len(server.requests) <= 2


# -- sessions


async def test_the_session_of_an_answer_goes_on_everything_after_it(stage: Stage) -> None:
    async with raw_server(answering(DONE, mcp_session_id="s-1")) as server:
        transport = await stage.to(server.url)
        await call(transport)
        assert transport.session_id == "s-1"
        transport.protocol_version = "2025-11-25"
        await call(transport)
        assert "mcp-session-id" not in server.requests[0].headers
        assert server.requests[1].headers["mcp-session-id"] == "s-1"
        assert server.requests[1].headers["mcp-protocol-version"] == "2025-11-25"
        await transport.close()
        assert (server.requests[2].method, server.requests[2].headers["mcp-session-id"]) == ("DELETE", "s-1")


async def test_a_refusal_does_not_begin_a_session(stage: Stage) -> None:
    async with raw_server(answering(b"", "400 Bad Request", mcp_session_id="s-1")) as server:
        transport = await stage.to(server.url)
        await fails(transport)
        assert transport.session_id is None


@pytest.mark.shows("EB-B9")
async def test_404_in_a_session_says_that_it_is_gone_and_hands_nothing_over(stage: Stage) -> None:
    gone = b'{"jsonrpc":"2.0","id":"g1","error":{"code":-32600,"message":"Session not found"}}'

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.answer(DONE, mcp_session_id="s-1")
        await wire.request()
        await wire.answer(gone, "404 Not Found")
        await wire.request()
        await wire.answer(DONE)

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        await call(transport)
        assert isinstance(await fails(transport), SessionGone)
        assert stage.kinds == [Result]
        transport.forget_session()
        await call(transport)
        assert "mcp-session-id" not in server.requests[2].headers


async def test_a_server_that_does_not_take_the_farewell_does_not_hold_up_the_close(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.answer(DONE, mcp_session_id="s-1")
        await wire.request()
        await wire.hung_up()

    async with raw_server(script) as server:
        transport = await stage.to(server.url, farewell_seconds=0.05)
        await call(transport)
        async with asyncio.timeout(WAIT):
            await transport.close()
        await server.until_closed()


# -- resuming


async def test_a_stream_that_was_cut_is_resumed_where_it_was(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        asked = await wire.request()
        await wire.open_stream()
        if asked.method == "POST":
            await wire.chunk(b"id: e0\nretry: 3000\ndata:\n\n" + event(TOLD, "e1"))
            wire.reset()
        else:
            await wire.chunk(event(ASK, "e2") + event(DONE, "e3"))
            await wire.end_stream()

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        waiting = asyncio.ensure_future(call(transport))
        await server.until(lambda: len(server.requests) == 1)
        await server.until_closed()
        while stage.clock.waiting == 0:  # noqa: ASYNC110 - until it waits to come back
            await asyncio.sleep(0)
        await stage.clock.advance(2.9)
        assert len(server.requests) == 1
        await stage.clock.advance(0.2)
        await waiting
        assert (server.requests[1].method, server.requests[1].headers["last-event-id"]) == ("GET", "e1")
        assert stage.kinds == [Notification, Request, Result]
        assert stage.origins == [Origin("post", "g1"), Origin("resume", "g1"), Origin("resume", "g1")]


async def drive(stage: Stage, waiting: asyncio.Future[int]) -> None:
    """Move the clock until the call has ended."""
    async with asyncio.timeout(WAIT):
        while not waiting.done():
            await stage.clock.advance(1)


async def test_a_server_that_lets_us_poll_is_polled_as_long_as_it_says_something(stage: Stage) -> None:
    polls = 12

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        number = wire.number
        await wire.chunk(event(DONE) if number == polls else f"id: e{number}\nretry: 10\ndata:\n\n".encode())
        await wire.end_stream()

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        waiting = asyncio.ensure_future(call(transport))
        await drive(stage, waiting)
        assert waiting.result() == 200
        assert [asked.headers.get("last-event-id") for asked in server.requests][-1] == f"e{polls - 1}"


@pytest.mark.parametrize("resumed", [b"", b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n"])
async def test_a_stream_that_cannot_be_resumed_is_an_unknown_outcome(stage: Stage, resumed: bytes) -> None:
    async def script(wire: Wire) -> None:
        asked = await wire.request()
        if asked.method == "GET":
            await wire.say(resumed)
            return
        await wire.open_stream()
        await wire.chunk(event(TOLD, "e1"))

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        waiting = asyncio.ensure_future(fails(transport))
        async with asyncio.timeout(WAIT):
            while not waiting.done():
                await stage.clock.advance(1)
        assert isinstance(waiting.result(), OutcomeUnknown)
        assert len(server.requests) == (2 if resumed else 6)
        assert [asked.method for asked in server.requests].count("POST") == 1


# -- cancelling


async def test_cancelling_hangs_up_where_that_is_the_cancellation(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        await wire.hung_up()

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        waiting = asyncio.ensure_future(transport.send(CALL, "g1"))
        await server.until(lambda: len(server.requests) == 1)
        waiting.cancel()
        await server.until_closed()
        assert waiting.cancelled()


@pytest.mark.shows("EB-F2")
async def test_cancelling_reads_on_where_hanging_up_means_nothing(stage: Stage) -> None:
    cancelled = asyncio.Event()

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        await cancelled.wait()
        await wire.chunk(event(ASK))
        await wire.last_chunk(event(DONE))
        await wire.request()
        await wire.answer(DONE)

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        transport.drains_abandoned = True
        waiting = asyncio.ensure_future(transport.send(CALL, "g1"))
        await server.until(lambda: len(server.requests) == 1)
        waiting.cancel()
        await settle()
        assert waiting.cancelled()
        cancelled.set()
        assert isinstance(await stage.inbox.next(), Request)
        assert isinstance(await stage.inbox.next(), Result)
        assert stage.origins == [Origin("post", "g1")] * 2
        await settle()
        await call(transport)
        assert server.connections == 1


async def test_what_is_read_on_ends_at_last(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        await wire.hung_up()

    async with raw_server(script) as server:
        transport = await stage.to(server.url, drain_seconds=100)
        transport.drains_abandoned = True
        waiting = asyncio.ensure_future(transport.send(CALL, "g1"))
        await server.until(lambda: len(server.requests) == 1)
        waiting.cancel()
        await stage.clock.advance(99)
        assert len(server.open) == 1
        await stage.clock.advance(2)
        await server.until_closed()


async def test_closing_ends_what_waits_as_unknown_and_leaves_no_stream(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        await wire.hung_up()

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        waiting = asyncio.ensure_future(fails(transport))
        transport.open_get_stream()
        await server.until(lambda: len(server.requests) == 2)
        await transport.close()
        assert isinstance(await waiting, OutcomeUnknown)
        assert isinstance(await fails(transport), BackendUnavailable)
        assert stage.inbox.faults == []
        await server.until_closed()


async def test_holding_a_call_stops_its_stream_and_no_other(stage: Stage) -> None:
    more = asyncio.Event()

    async def script(wire: Wire) -> None:
        asked = await wire.request()
        request = json.loads(asked.body)["id"]
        await wire.open_stream()
        await more.wait()
        await wire.chunk(event(b'{"jsonrpc":"2.0","id":"%b","result":{}}' % request.encode()))
        await wire.end_stream()

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        held = asyncio.ensure_future(transport.send(CALL, "g1"))
        free = asyncio.ensure_future(transport.send(CALL.replace(b"g1", b"g2"), "g2"))
        await server.until(lambda: len(server.requests) == 2)
        transport.hold("g1")
        more.set()
        await free
        await server.until_closed()
        assert not held.done()
        transport.release("g1")
        async with asyncio.timeout(WAIT):
            await held
