"""One HTTP exchange: the order of the checks, paths, methods, and bad input of every kind."""

from __future__ import annotations

import json

import pytest

from emceepee.front.exchange import Exchange
from emceepee.front.settings import FrontSettings
from tests.support.fake_clock import settle
from tests.support.front_bench import Bench, call, request

JSON = {"content-type": "application/json"}


@pytest.mark.shows("X-GAP-10")
async def test_a_foreign_host_or_origin_is_403_before_anything_is_read(bench: Bench) -> None:
    for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
        answer = await bench.client.start("POST", {**JSON, **headers}, None).done()
        assert answer.status == 403
    assert bench.surface.calls == []


async def test_a_page_of_this_machine_and_a_configured_one_may_call() -> None:
    settings = FrontSettings(allowed_hosts=frozenset({"mcp.example"}), allowed_origins=frozenset({"https://a.example"}))
    bench = Bench(settings=settings)
    for headers in (
        {"origin": "http://localhost:6274"},
        {"origin": "https://a.example", "host": "mcp.example:443"},
        {"host": "[::1]:8000"},
    ):
        assert (await bench.ask(call(), {**headers, "mcp-session-id": "x"})).status == 404
    await bench.close()


async def test_a_doubled_host_is_refused(bench: Bench) -> None:
    answer = await bench.client.post(call(), [("host", "localhost"), ("host", "evil.example")]).done()
    assert answer.status == 400


async def test_an_unknown_path_is_404_and_names_the_paths(bench: Bench) -> None:
    answer = await bench.ask(call(), {}, "/servers/nobody/mcp")
    assert answer.status == 404
    assert answer.json["paths"] == ["/mcp", "/servers/{name}/mcp", "/direct/mcp", "/mcp/w/{workspace}", "/health"]


async def test_a_trailing_slash_does_not_matter(bench: Bench) -> None:
    answer = await bench.ask(request("initialize", {"protocolVersion": "2025-11-25"}), {}, "/mcp/")
    assert answer.status == 200


async def test_health_answers_and_says_when_we_go_down(bench: Bench) -> None:
    assert (await bench.client.start("GET", {}, b"", "/health").done()).json == {"status": "ok"}
    bench.front.drain()
    answer = await bench.client.start("GET", {}, b"", "/health").done()
    assert (answer.status, answer.json) == (503, {"status": "draining"})


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD"])
async def test_other_methods_are_405_and_told_which_are_served(bench: Bench, method: str) -> None:
    answer = await bench.client.start(method, JSON, b"").done()
    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST, DELETE")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-type": ""}, 415),
        ({"content-type": "application/json; charset=latin-1"}, 415),
        ({"content-encoding": "gzip"}, 415),
        ({"accept": "text/html"}, 406),
        ({"content-length": "99999999"}, 413),
        ({"content-length": "many"}, 400),
    ],
)
async def test_types_and_sizes_are_checked_before_the_body(bench: Bench, headers: dict[str, str], status: int) -> None:
    answer = await bench.ask(call(), headers)
    assert answer.status == status
    assert answer.json["error"]["code"] == -32600


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"no json", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"} {}', -32700),
        (b'"text"', -32600),
        (b"[]", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 100 + b"1" + b"}" * 101, -32600),
        (b"[" * 100_000, -32700),
    ],
)
async def test_what_is_no_message_is_400_with_the_right_code(bench: Bench, body: bytes, code: int) -> None:
    answer = await bench.ask(body)
    assert (answer.status, answer.json["error"]["code"]) == (400, code)


async def test_wrong_types_and_unknown_methods_name_their_request(bench: Bench) -> None:
    session = await bench.hello()
    for message, code in (
        (request("no/such", id=5), -32601),
        (request("tools/call", {"name": 3}, id=5), -32602),
        (request("tools/call", {}, id=5), -32602),
        (request("tools/call", {"name": "x", "arguments": []}, id=5), -32602),
        (request("tools/call", {"name": "x", "_meta": 1}, id=5), -32602),
        (request("tools/call", {"name": "x", "_meta": {"progressToken": {}}}, id=5), -32602),
        (request("logging/setLevel", {"level": "loud"}, id=5), -32602),
        (request("resources/subscribe", {}, id=5), -32602),
    ):
        answer = await bench.ask(message, session)
        assert (answer.status, answer.json["id"], answer.json["error"]["code"]) == (200, 5, code)
    assert bench.surface.calls == []


async def test_a_body_that_grows_too_large_is_413_though_it_never_said_so() -> None:
    bench = Bench(settings=FrontSettings(max_body=1000))
    answer = bench.client.start("POST", JSON, None)
    for _ in range(3):
        answer.send_body(b"x" * 500, more=True)
    await answer.done()
    assert (answer.status, answer.headers["connection"]) == (413, "close")
    whole = await bench.ask(b"y" * 1001)
    assert whole.status == 413
    await bench.close()


async def test_a_body_in_parts_is_put_together(bench: Bench) -> None:
    session = await bench.hello()
    answer = bench.client.start("POST", {**JSON, **session}, None)
    data = json.dumps(request("ping")).encode()
    answer.send_body(data[:10], more=True)
    await settle()
    answer.send_body(data[10:], more=False)
    assert (await answer.done()).json["result"] == {}


async def test_a_body_that_does_not_come_is_408() -> None:
    bench = Bench(settings=FrontSettings(body_timeout=0.01))
    answer = bench.client.start("POST", JSON, None)
    answer.send_body(b"{", more=True)
    await answer.done()
    assert (answer.status, answer.headers["connection"]) == (408, "close")
    await bench.close()


async def test_a_client_that_leaves_within_its_body_is_forgotten(bench: Bench) -> None:
    answer = bench.client.start("POST", JSON, None)
    answer.send_body(b'{"json', more=True)
    await settle()
    answer.leave()
    await answer.done()
    assert answer.status == 0


async def test_a_bug_of_the_front_itself_is_500_without_a_word_of_it(bench: Bench) -> None:
    def broken(exchange: Exchange) -> str:
        raise ZeroDivisionError("secret")

    bench.front._identify = broken
    answer = await bench.ask(call())
    assert answer.status == 500
    assert b"secret" not in answer.body


async def test_what_is_not_http_is_left_alone(bench: Bench) -> None:
    await bench.front({"type": "lifespan"}, None, None)  # type: ignore[arg-type]
