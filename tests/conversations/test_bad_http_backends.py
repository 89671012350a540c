"""Servers behind HTTP that are none, or break in the middle of an answer, over real sockets: each is told for what it
is, is not kept, and a healthy server beside it notices nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from emceepee.backends.definition import HttpEndpoint, ServerDefinition
from tests.conversations.house import House, Json, ModernClient, response_of
from tests.support.certificates import server_tls
from tests.support.neighbour import Neighbour
from tests.support.raw_server import RawServer, Script, Wire, raw_server, unused_port

PATH = "/servers/bad/mcp"
CALL = {"name": "echo", "arguments": {"text": "a"}}
MEGABYTE = b"x" * 2**20
LIMIT = 64 * 2**20
"""How large an answer may be."""


def house_at(url: str, neighbour: Neighbour) -> House:
    definition = ServerDefinition("bad", HttpEndpoint(url), connect_timeout=8.0)
    return House({"good": neighbour.backend}, (definition,))


async def error_of(client: ModernClient, params: Json = CALL) -> Json:
    found: Json = (await client.call("tools/call", params))["error"]
    assert found["code"] == -32603, found
    return found


# --- not an MCP server at all


async def page(wire: Wire) -> None:
    while True:
        await wire.request()
        await wire.answer(b"<!doctype html><title>Welcome</title>", content_type="text/html; charset=utf-8")


async def words(wire: Wire) -> None:
    while True:
        await wire.request()
        await wire.answer(b"hello", content_type="text/plain")


async def other_json(wire: Wire) -> None:
    while True:
        await wire.request()
        await wire.answer(b'{"hello":"world"}')


async def half_json(wire: Wire) -> None:
    while True:
        await wire.request()
        await wire.answer(b'{"jsonrpc":"2.0","id":')


async def nothing(wire: Wire) -> None:
    while True:
        await wire.request()
        await wire.say(b"HTTP/1.1 204 No Content\r\n\r\n")


async def not_found(wire: Wire) -> None:
    while True:
        await wire.request()
        await wire.answer(b"<h1>404</h1>", "404 Not Found", content_type="text/html")


async def elsewhere(wire: Wire) -> None:
    while True:
        await wire.request()
        await wire.say(b"HTTP/1.1 302 Found\r\nlocation: https://login.example/\r\ncontent-length: 0\r\n\r\n")


async def round_and_round(wire: Wire) -> None:
    while True:
        await wire.request()
        await wire.say(b"HTTP/1.1 307 Temporary Redirect\r\nlocation: /mcp\r\ncontent-length: 0\r\n\r\n")


async def mail(wire: Wire) -> None:
    await wire.say(b"220 mail.example ESMTP\r\n")
    await wire.hung_up()


async def closing(wire: Wire) -> None:
    """Accepts, and hangs up."""


async def resetting(wire: Wire) -> None:
    await wire.request()
    wire.reset()


async def endless_head(wire: Wire) -> None:
    await wire.request()
    await wire.say(b"HTTP/1.1 200 OK\r\n")
    while True:
        await wire.say(b"x-more: " + b"y" * 1000 + b"\r\n")


async def ten_gigabytes(wire: Wire) -> None:
    await wire.request()
    await wire.say(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10737418240\r\n\r\n[")
    while True:
        await wire.say(MEGABYTE)


async def endless_page(wire: Wire) -> None:
    await wire.request()
    await wire.say(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        await wire.chunk(MEGABYTE)


async def echoing(wire: Wire) -> None:
    """What a port that answers with what it is sent does."""
    asked = await wire.request()
    await wire.say(asked.body)


NO_SERVERS: dict[str, tuple[Script, str]] = {
    "an HTML page": (page, "backend_violation"),
    "words": (words, "backend_violation"),
    "other JSON": (other_json, "backend_violation"),
    "half of a JSON": (half_json, "backend_violation"),
    "not found": (not_found, "backend_violation"),
    "a redirect to elsewhere": (elsewhere, "backend_violation"),
    "a redirect in a circle": (round_and_round, "backend_violation"),
    "a mail server": (mail, "backend_violation"),
    "a port that hangs up": (closing, "backend_unavailable"),
    "a port that resets": (resetting, "backend_unavailable"),
    "a head without an end": (endless_head, "backend_violation"),
    "ten gigabytes": (ten_gigabytes, "backend_violation"),
    "a page without an end": (endless_page, "backend_violation"),
    "an echo": (echoing, "backend_violation"),
}


@pytest.mark.parametrize(("script", "reason"), NO_SERVERS.values(), ids=NO_SERVERS.keys())
async def test_what_is_no_mcp_server_is_said_to_be_none(script: Script, reason: str) -> None:
    neighbour = Neighbour()
    async with raw_server(script) as server:
        house = house_at(server.url, neighbour)
        async with neighbour.busy(house):
            error = await error_of(house.modern_client(PATH))
            assert error["data"] == {"reason": reason, "server": "bad"}, error
        await house.close()
        await server.until_closed()


@pytest.mark.parametrize(("script", "reason"), NO_SERVERS.values(), ids=NO_SERVERS.keys())
async def test_what_is_no_mcp_server_is_not_added(script: Script, reason: str) -> None:
    neighbour = Neighbour()
    async with raw_server(script) as server:
        house = House({"good": neighbour.backend})
        async with neighbour.busy(house):
            error = await refused_by_add_server(house, name="bad", url=server.url)
            assert error["code"] == "TOOL_ERR_EXECUTION_FAILED", error
            assert error["details"]["reason"] == reason, error
            assert "it was not added" in error["message"]
            assert [one.name for one in house.gateway.registry.list()] == ["good"]
        await house.close()
        await server.until_closed()


async def test_a_server_that_takes_everything_and_says_nothing_is_a_timeout() -> None:
    """Its answers might come on another stream, so there is a wait."""
    neighbour = Neighbour()
    async with raw_server(nothing) as server:
        house = house_at(server.url, neighbour)
        async with neighbour.busy(house):
            asking = asyncio.create_task(error_of(house.modern_client(PATH)))
            await server.until(lambda: len(server.requests) >= 1)
        for _ in range(4):
            await house.clock.advance(10)
        async with asyncio.timeout(10):
            assert (await asking)["data"]["reason"] == "backend_timeout"
        await house.close()


async def test_a_tls_port_spoken_to_in_clear_is_unavailable_or_no_http() -> None:
    neighbour = Neighbour()
    async with raw_server(page, server_tls()) as server:
        house = house_at(server.url.replace("https:", "http:"), neighbour)
        async with neighbour.busy(house):
            error = await error_of(house.modern_client(PATH))
            assert error["data"]["reason"] in ("backend_unavailable", "backend_violation"), error
        await house.close()


async def test_a_clear_port_spoken_to_in_tls_is_unavailable() -> None:
    async def confused(wire: Wire) -> None:
        await wire.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    neighbour = Neighbour()
    async with raw_server(confused) as server:
        house = house_at(server.url.replace("http:", "https:"), neighbour)
        async with neighbour.busy(house):
            error = await error_of(house.modern_client(PATH))
            assert error["data"]["reason"] == "backend_unavailable", error
        await house.close()


async def test_a_certificate_that_nobody_signed_is_said() -> None:
    neighbour = Neighbour()
    async with raw_server(page, server_tls()) as server:
        house = house_at(server.url, neighbour)
        async with neighbour.busy(house):
            error = await error_of(house.modern_client(PATH))
            assert error["data"]["reason"] == "backend_unavailable"
            assert "certificate is not accepted" in error["message"]
        await house.close()


async def test_a_port_where_nobody_listens_is_unavailable() -> None:
    neighbour = Neighbour()
    house = house_at(f"http://127.0.0.1:{unused_port()}/mcp", neighbour)
    async with neighbour.busy(house):
        error = await error_of(house.modern_client(PATH))
        assert error["data"]["reason"] == "backend_unavailable", error
    await house.close()


async def refused_by_add_server(house: House, **arguments: Any) -> Json:
    client = house.modern_client("/mcp")
    result = await client.result("tools/call", {"name": "add_server", "arguments": arguments})
    assert result["isError"], result
    found: Json = json.loads(result["content"][0]["text"])["error"]
    assert found["next"]
    return found


# --- servers that were good until the call


Broken: TypeAlias = Callable[[Wire, Any], Awaitable[bool]]
"""Answers one call, on the wire and with the id of the request; whether the connection goes on."""


def legacy_server(broken: Broken) -> Script:
    """A legacy server whose first call goes wrong in the given way, and all later ones well."""
    calls = 0

    async def script(wire: Wire) -> None:
        nonlocal calls
        while True:
            asked = await wire.request()
            message = json.loads(asked.body) if asked.body else {}
            method = message.get("method", asked.method)
            calls += method == "tools/call"
            if method == "tools/call" and calls == 1:
                if not await broken(wire, message["id"]):
                    return
            elif method == "initialize":
                await wire.answer(answer_to(message["id"], WELCOME), mcp_session_id="s1")
            elif method == "server/discover":
                await wire.answer(b"Bad Request", "400 Bad Request", content_type="text/plain")
            elif method == "tools/call":
                await wire.answer(answer_to(message["id"], GOOD))
            elif "id" in message:
                await wire.answer(answer_to(message["id"], {"tools": []}))
            elif method == "GET":
                await wire.answer(b"", "405 Method Not Allowed")
            else:
                await wire.answer(b"", "202 Accepted")

    return script


WELCOME = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "b", "version": "1"}}
GOOD = {"content": [{"type": "text", "text": "good"}]}


def answer_to(request: Any, result: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request, "result": result}).encode()


def progress(request: Any, number: int) -> bytes:
    params = {"progressToken": request, "progress": number}
    return b"data: " + json.dumps({"method": "notifications/progress", "jsonrpc": "2.0", "params": params}).encode()


async def cut_in_the_body(wire: Wire, request: Any) -> bool:
    body = answer_to(request, GOOD)
    await wire.say(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n" + body[:20])
    return False


async def cut_in_the_head(wire: Wire, request: Any) -> bool:
    await wire.say(b"HTTP/1.1 200 OK\r\ncontent-ty")
    return False


async def cut_before_the_head(wire: Wire, request: Any) -> bool:
    return False


async def cut_in_an_event(wire: Wire, request: Any) -> bool:
    await wire.open_stream()
    await wire.chunk(b"data: " + answer_to(request, GOOD)[:20])
    return False


async def stream_without_the_answer(wire: Wire, request: Any) -> bool:
    await wire.open_stream()
    await wire.chunk(progress(request, 1) + b"\n\n")
    await wire.end_stream()
    return True


async def another_id(wire: Wire, request: Any) -> bool:
    await wire.answer(answer_to("nobody", GOOD))
    return True


async def another_page(wire: Wire, request: Any) -> bool:
    await wire.answer(b"<title>Session expired</title>", content_type="text/html")
    return True


async def server_error(wire: Wire, request: Any) -> bool:
    await wire.answer(b"Traceback", "500 Internal Server Error", content_type="text/plain")
    return True


async def body_without_end(wire: Wire, request: Any) -> bool:
    await wire.say(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        await wire.chunk(MEGABYTE)


async def event_too_large(wire: Wire, request: Any) -> bool:
    await wire.open_stream()
    await wire.chunk(b"data: ")
    for _ in range(LIMIT // len(MEGABYTE) + 1):
        await wire.chunk(MEGABYTE)
    await wire.chunk(b"\n\n")
    await wire.end_stream()
    return True


async def misshapen_event(wire: Wire, request: Any) -> bool:
    """The stream stays open, so only the event itself can end the call."""
    await wire.open_stream()
    await wire.chunk(b"data: " + answer_to(request, GOOD)[:-1] + b',"error":{"code":1,"message":"m"}}\n\n')
    await wire.hung_up()
    return False


async def chunks_that_are_none(wire: Wire, request: Any) -> bool:
    await wire.open_stream()
    await wire.say(b"zzz\r\nnot a chunk\r\n")
    return False


BROKEN: dict[str, tuple[Broken, str]] = {
    "cut in the body": (cut_in_the_body, "outcome_unknown"),
    "cut in the head": (cut_in_the_head, "outcome_unknown"),
    "cut before the head": (cut_before_the_head, "outcome_unknown"),
    "cut in an event": (cut_in_an_event, "outcome_unknown"),
    "a stream without the answer": (stream_without_the_answer, "outcome_unknown"),
    "an answer to nobody": (another_id, "backend_violation"),
    "a page": (another_page, "backend_violation"),
    "a server error": (server_error, "outcome_unknown"),
    "a body without an end": (body_without_end, "backend_violation"),
    "an event that is too large": (event_too_large, "outcome_unknown"),
    "an event that is both": (misshapen_event, "backend_violation"),
    "chunks that are none": (chunks_that_are_none, "outcome_unknown"),
}


@pytest.mark.parametrize(("broken", "reason"), BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("front", ["legacy", "modern"])
async def test_a_call_that_breaks_is_told_once_is_not_made_twice_and_the_next_is_answered(
    front: str, broken: Broken, reason: str
) -> None:
    neighbour = Neighbour()
    async with raw_server(legacy_server(broken)) as server:
        house = house_at(server.url, neighbour)
        client: Any = await house.legacy_client(PATH) if front == "legacy" else house.modern_client(PATH)
        async with neighbour.busy(house):
            error = (await client.call("tools/call", CALL))["error"]
            assert (error["code"], error["data"]["reason"]) == (-32603, reason), error
            assert calls_at(server) == 1
            assert (await client.result("tools/call", CALL))["content"] == GOOD["content"]
            assert calls_at(server) == 2
        await house.close()


async def test_a_flood_on_a_stream_is_bounded_and_the_answer_behind_it_comes_through() -> None:
    # Ten times what may wait anywhere for a client that is slower; more would only measure this machine.
    flood = 20_000

    async def flooding(wire: Wire, request: Any) -> bool:
        await wire.open_stream()
        for first in range(0, flood, 1_000):
            await wire.chunk(b"".join(progress(request, number) + b"\n\n" for number in range(first, first + 1_000)))
        await wire.chunk(b"data: " + answer_to(request, GOOD) + b"\n\n")
        await wire.end_stream()
        return True

    neighbour = Neighbour()
    async with raw_server(legacy_server(flooding)) as server:
        house = house_at(server.url, neighbour)
        async with neighbour.busy(house):
            client = house.modern_client(PATH)
            answer = await client.start("tools/call", CALL, meta={"progressToken": "mine"}).done()
            assert response_of(answer)["result"]["content"] == GOOD["content"]
            told = [event["params"]["progress"] for event in answer.events if "method" in event]
            assert told
            assert told == sorted(told)
            assert len(told) <= flood
        await house.close()


async def test_a_server_that_never_answers_is_a_timeout_and_is_told_that_nobody_waits() -> None:
    async def silent(wire: Wire, request: Any) -> bool:
        await wire.hung_up()
        return False

    neighbour = Neighbour()
    async with raw_server(legacy_server(silent)) as server:
        house = house_at(server.url, neighbour)
        client = house.modern_client(PATH)
        async with neighbour.busy(house):
            answer = client.start("tools/call", CALL)
            await server.until(lambda: calls_at(server) == 1)
        await house.clock.advance(700)
        error = response_of(await answer.done())["error"]
        assert error["data"] == {"reason": "backend_timeout", "server": "bad"}
        await server.until(lambda: any(b"notifications/cancelled" in asked.body for asked in server.requests))
        assert (await client.result("tools/call", CALL))["content"] == GOOD["content"]
        await house.close()


def calls_at(server: RawServer) -> int:
    return sum(b'"tools/call"' in asked.body for asked in server.requests)
