"""The pool over real sockets: reuse, bounds, staleness, and what is never sent twice. On both loops."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Mapping

import pytest

from emceepee.backends.http_address import read_address
from emceepee.backends.http_client import ClientSettings, HttpClient, HttpRequest
from emceepee.backends.http_connection import Connection, Exchange
from emceepee.backends.http_opening import open_connection
from tests.support.fake_clock import FakeClock, settle
from tests.support.heard import Heard
from tests.support.raw_server import Wire, raw_server, unused_port


class Asking:
    """A client, and short ways to use it. After the test nothing of it is left."""

    def __init__(self, settings: ClientSettings | None = None, environment: Mapping[str, str] | None = None) -> None:
        self.clock = FakeClock()
        self.client = HttpClient(self.clock, environment or {}, settings)

    def start(self, url: str, body: bytes | None = b"{}", urgent: bool = False, repeatable: bool = False) -> Heard:
        address = read_address(url)
        route = self.client.route(address)
        heard = Heard()
        head = route.head("POST" if body is not None else "GET", address.target, [])
        request = HttpRequest(route, head, body, urgent=urgent, repeatable=repeatable)
        heard.exchange = self.client.start(request, heard)
        return heard

    async def ask(self, url: str, body: bytes | None = b"{}") -> Heard:
        return await self.start(url, body).end()


@pytest.fixture
async def asking() -> AsyncIterator[Asking]:
    one = Asking()
    yield one
    await closed(one)


async def closed(asking: Asking) -> None:
    await asking.client.close()
    assert asking.client.connections == 0
    assert len(asking.client.scope) == 0
    assert asking.clock.waiting == 0


async def echo(wire: Wire) -> None:
    while True:
        asked = await wire.request()
        await wire.answer(asked.body)


def fault(heard: Heard) -> str:
    assert heard.fault is not None
    return heard.fault.kind


async def test_one_call_after_another_uses_one_connection(asking: Asking) -> None:
    async with raw_server(echo) as server:
        for number in range(5):
            heard = await asking.ask(server.url, b"%d" % number)
            assert heard.body == b"%d" % number
        assert server.connections == 1


async def test_calls_at_the_same_time_use_a_connection_each_and_keep_them(asking: Asking) -> None:
    async with raw_server(echo) as server:
        for _ in range(2):
            heards = [asking.start(server.url, b"%d" % number) for number in range(8)]
            assert [(await heard.end()).body for heard in heards] == [b"%d" % number for number in range(8)]
        assert server.connections == 8


async def test_a_megabyte_crosses_both_ways_whole(asking: Asking) -> None:
    body = bytes(range(256)) * 4096
    async with raw_server(echo) as server:
        assert (await asking.ask(server.url, body)).body == body


async def test_nobody_there_means_unreached(asking: Asking) -> None:
    heard = await asking.ask(f"http://127.0.0.1:{unused_port()}/mcp")
    assert fault(heard) == "unreached"
    assert heard.fault is not None
    assert heard.fault.detail == "no connection: Connection refused"


async def test_a_name_that_does_not_exist_means_unreached(asking: Asking) -> None:
    assert fault(await asking.ask("http://nowhere.invalid/mcp")) == "unreached"


async def test_a_name_with_several_addresses_is_tried_until_one_answers(asking: Asking) -> None:
    async with raw_server(echo) as server:
        heard = await asking.ask(f"http://localhost:{server.port}/mcp")
        assert heard.body == b"{}"
        assert server.requests[0].headers["host"] == f"localhost:{server.port}"


async def test_connecting_has_a_limit(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object) -> None:
        await asyncio.get_running_loop().create_future()

    monkeypatch.setattr("emceepee.backends.http_client.open_connection", never)
    heard = asking.start("http://127.0.0.1:1/mcp")
    await asking.clock.advance(9.9)
    assert not heard.ends
    await asking.clock.advance(0.2)
    assert fault(heard) == "unreached"
    assert heard.fault is not None
    assert "10 s" in heard.fault.detail


async def test_a_reset_before_the_answer_is_an_unknown_outcome(asking: Asking) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        wire.reset()

    async with raw_server(script) as server:
        assert fault(await asking.ask(server.url)) == "unanswered"
        assert server.connections == 1


async def test_a_reset_in_the_answer_is_half_an_answer(asking: Asking) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.say(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhi")
        await told.wait()
        wire.reset()

    told = asyncio.Event()
    async with raw_server(script) as server:
        heard = asking.start(server.url)
        await heard.until(lambda: heard.body == b"hi")
        told.set()
        assert fault(await heard.end()) == "truncated"


async def test_a_kept_connection_that_the_server_closed_is_not_used_again(asking: Asking) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.answer(b"ok")

    async with raw_server(script) as server:
        await asking.ask(server.url)
        await server.until_closed()
        await until_gone(asking)
        assert (await asking.ask(server.url)).body == b"ok"
        assert server.connections == 2


async def until_gone(asking: Asking) -> None:
    async with asyncio.timeout(10):
        while asking.client.connections:  # noqa: ASYNC110 - a closed socket tells nobody but the pool
            await asyncio.sleep(0)


async def test_a_close_that_the_loop_has_not_seen_yet_is_seen_before_the_connection_is_used(asking: Asking) -> None:
    """The loop is kept busy while the other side closes: that must not cost a request."""
    listening, sock_url = blocking_listener()
    with listening:
        heard = asking.start(sock_url)
        loop = asyncio.get_running_loop()
        peer, _ = await loop.run_in_executor(None, listening.accept)
        with peer:
            await loop.run_in_executor(None, peer.recv, 65536)
            peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            await heard.end()
        asking.clock._now += 1
        again = asking.start(sock_url)
        peer, _ = await loop.run_in_executor(None, listening.accept)
        with peer:
            peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            assert (await again.end()).fault is None


def blocking_listener() -> tuple[socket.socket, str]:
    listening = socket.create_server(("127.0.0.1", 0))
    return listening, f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"


async def test_a_post_on_a_kept_connection_that_dies_is_not_sent_again(asking: Asking) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.answer(b"ok")
        await wire.request()

    async with raw_server(script) as server:
        await asking.ask(server.url)
        assert fault(await asking.ask(server.url)) == "unanswered"
        assert len(server.requests) == 2


async def test_what_may_be_repeated_is_sent_again_once_on_a_fresh_connection(asking: Asking) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        if wire.number == 1:
            await wire.answer(b"ok")
            await wire.request()

    async with raw_server(script) as server:
        await asking.ask(server.url)
        heard = await asking.start(server.url, None, repeatable=True).end()
        assert fault(heard) == "unanswered"
        assert [asked.connection for asked in server.requests] == [1, 1, 2]


async def test_an_idle_connection_is_closed_before_the_server_would(asking: Asking) -> None:
    async with raw_server(echo) as server:
        await asking.ask(server.url)
        await asking.clock.advance(3.5)
        await asking.ask(server.url)
        assert server.connections == 1
        await asking.clock.advance(6.1)
        await server.until_closed()
        assert asking.clock.waiting == 0


@pytest.mark.parametrize(
    ("stated", "after", "connections"), [("30", 28, 1), ("30", 29.5, 2), ("2", 1.5, 2), ("1", 0, 2)]
)
async def test_how_long_a_server_says_it_waits_is_believed(
    asking: Asking, stated: str, after: float, connections: int
) -> None:
    async def script(wire: Wire) -> None:
        while True:
            await wire.request()
            await wire.answer(b"ok", keep_alive=f"timeout={stated}")

    async with raw_server(script) as server:
        await asking.ask(server.url)
        await asking.clock.advance(after)
        await asking.ask(server.url)
        assert server.connections == connections


async def test_more_calls_than_connections_wait_their_turn() -> None:
    asking = Asking(ClientSettings(connections_per_origin=2))
    async with raw_server(echo) as server:
        heards = [asking.start(server.url, b"%d" % number) for number in range(9)]
        assert [(await heard.end()).body for heard in heards] == [b"%d" % number for number in range(9)]
        assert server.connections == 2
    await closed(asking)


async def test_calls_that_fill_the_pool_do_not_lock_out_what_would_end_them() -> None:
    answered = asyncio.Event()

    async def script(wire: Wire) -> None:
        asked = await wire.request()
        if asked.body == b"answer":
            answered.set()
        await answered.wait()
        await wire.answer(b"done")

    asking = Asking(ClientSettings(connections_per_origin=2, spare_per_origin=1))
    async with raw_server(script) as server:
        calls = [asking.start(server.url) for _ in range(2)]
        await server.until(lambda: len(server.requests) == 2)
        assert (await asking.start(server.url, b"answer", urgent=True).end()).body == b"done"
        for call in calls:
            assert (await call.end()).body == b"done"
    await closed(asking)


async def test_too_many_waiting_are_told_so_at_once() -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.hung_up()

    asking = Asking(ClientSettings(connections_per_origin=1, spare_per_origin=0, waiting_per_origin=1))
    async with raw_server(script) as server:
        asking.start(server.url)
        await server.until(lambda: len(server.requests) == 1)
        asking.start(server.url)
        assert fault(asking.start(server.url)) == "unreached"
        await asking.client.close()
    await closed(asking)


async def test_after_a_failed_connection_the_next_who_waits_gets_its_try() -> None:
    asking = Asking(ClientSettings(connections_per_origin=1))
    url = f"http://127.0.0.1:{unused_port()}/mcp"
    heards = [asking.start(url) for _ in range(3)]
    assert [fault(await heard.end()) for heard in heards] == ["unreached"] * 3
    await closed(asking)


async def test_a_connection_that_dies_as_it_is_made_costs_nobody_his_turn(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = 0
    begin = Connection.begin

    def sometimes(connection: Connection, exchange: Exchange) -> bool:
        nonlocal made
        made += 1
        return made % 2 == 0 and begin(connection, exchange)

    monkeypatch.setattr(Connection, "begin", sometimes)
    async with raw_server(echo) as server:
        heards = [asking.start(server.url, b"%d" % number) for number in range(4)]
        assert [(await heard.end()).body for heard in heards] == [b"%d" % number for number in range(4)]


async def test_who_leaves_while_connecting_leaves_his_place_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    first = True

    async def once_never(*args: object) -> object:
        nonlocal first
        if first:
            first = False
            await asyncio.get_running_loop().create_future()
        return await open_connection(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("emceepee.backends.http_client.open_connection", once_never)
    asking = Asking(ClientSettings(connections_per_origin=1, spare_per_origin=0))
    async with raw_server(echo) as server:
        leaving, staying = asking.start(server.url), asking.start(server.url)
        await settle()
        assert leaving.exchange is not None
        leaving.exchange.abandon()
        assert (await staying.end()).body == b"{}"
        await closed(asking)


async def test_what_is_urgent_goes_first_when_a_connection_becomes_free() -> None:
    async def script(wire: Wire) -> None:
        while True:
            asked = await wire.request()
            await go.wait()
            await wire.answer(asked.body)

    go = asyncio.Event()
    asking = Asking(ClientSettings(connections_per_origin=1, spare_per_origin=0))
    async with raw_server(script) as server:
        heards = [asking.start(server.url, b"1")]
        await server.until(lambda: len(server.requests) == 1)
        heards += [asking.start(server.url, b"2"), asking.start(server.url, b"3", urgent=True)]
        go.set()
        for heard in heards:
            await heard.end()
        assert [asked.body for asked in server.requests] == [b"1", b"3", b"2"]
        await closed(asking)


async def test_abandoning_a_call_hangs_up_on_it_and_on_no_other(asking: Asking) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        if wire.number == 1:
            await wire.hung_up()
        else:
            await told.wait()
            await wire.answer(b"ok")

    told = asyncio.Event()
    async with raw_server(script) as server:
        first = asking.start(server.url)
        await server.until(lambda: len(server.requests) == 1)
        second = asking.start(server.url)
        await server.until(lambda: len(server.requests) == 2)
        assert first.exchange is not None
        first.exchange.abandon()
        await server.until(lambda: len(server.open) == 1)
        told.set()
        assert (await second.end()).body == b"ok"
        assert first.ends == 0


async def test_abandoning_a_call_that_still_connects_leaves_nothing(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> None:
        await asyncio.get_running_loop().create_future()

    monkeypatch.setattr("emceepee.backends.http_client.open_connection", never)
    heard = asking.start("http://127.0.0.1:1/mcp")
    await settle()
    assert heard.exchange is not None
    heard.exchange.abandon()
    await settle()
    assert len(asking.client.scope) == 0
    assert asking.clock.waiting == 0
    assert heard.ends == 0


async def test_a_detached_stream_that_does_not_end_is_cut_after_a_while(asking: Asking) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        await wire.chunk(b"x")
        await wire.hung_up()

    async with raw_server(script) as server:
        heard = asking.start(server.url)
        await heard.until(lambda: heard.body == b"x")
        assert heard.exchange is not None
        heard.exchange.detach()
        await asking.clock.advance(4)
        assert len(server.open) == 1
        await asking.clock.advance(4)
        await server.until_closed()
        assert asking.client.connections == 0


async def test_holding_a_stream_reaches_the_server_as_pressure(asking: Asking) -> None:
    size = 32 * 1024 * 1024

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.say(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        for _ in range(size // 65536):
            await wire.say(b"x" * 65536)
        written.set()
        await wire.hung_up()

    written = asyncio.Event()
    async with raw_server(script) as server:
        heard = asking.start(server.url)
        assert heard.exchange is not None
        await heard.until(lambda: bool(heard.status))
        heard.exchange.pause()
        await settle(200)
        held = len(heard.body)
        assert held < size
        assert not written.is_set()
        heard.exchange.resume()
        await heard.end()
        assert len(heard.body) == size
        await closed(asking)
        await server.until_closed()


async def test_closing_tells_everybody_who_waits(asking: Asking) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.hung_up()

    async with raw_server(script) as server:
        sent = asking.start(server.url)
        await server.until(lambda: len(server.requests) == 1)
        await asking.client.close()
        assert fault(sent) == "unanswered"
        assert fault(asking.start(server.url)) == "unreached"
        await server.until_closed()


async def test_the_pool_of_an_origin_nobody_uses_any_more_is_forgotten(asking: Asking) -> None:
    async with raw_server(echo) as server:
        await asking.ask(server.url)
        assert len(asking.client._pools) == 1
        await asking.clock.advance(10)
        await server.until_closed()
        await until_gone(asking)
        await settle()
    gc.collect()
    assert len(asking.client._pools) == 0


async def test_a_plain_request_goes_to_the_proxy_with_its_whole_address() -> None:
    async with raw_server(echo) as server:
        asking = Asking(environment={"http_proxy": f"http://me:hush@127.0.0.1:{server.port}"})
        assert (await asking.ask("http://backend.test/mcp?x=1")).body == b"{}"
        asked = server.requests[0]
        assert asked.target == "http://backend.test/mcp?x=1"
        assert asked.headers["host"] == "backend.test"
        assert asked.headers["proxy-authorization"] == "Basic bWU6aHVzaA=="
        await closed(asking)


async def test_a_proxy_that_cannot_be_used_is_said_by_the_request(asking: Asking) -> None:
    other = Asking(environment={"all_proxy": "socks5://127.0.0.1:1"})
    assert fault(await other.ask("http://backend.test/mcp")) == "unreached"
    await closed(other)


@pytest.mark.parametrize("just", ["before", "after"])
async def test_giving_up_in_the_moment_of_connecting_takes_the_connection_from_nobody(
    just: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection goes to whoever has waited longest, and the one who had it opened may leave just then."""
    release, happened = asyncio.Event(), asyncio.Event()

    async def slow(wire: Wire) -> None:
        while True:
            asked = await wire.request()
            await release.wait()
            await wire.answer(asked.body)

    asking = Asking(ClientSettings(connections_per_origin=1, spare_per_origin=1))
    async with raw_server(slow) as server:
        first = asking.start(server.url, b"1")
        await server.until(lambda: len(server.requests) == 1)
        second = asking.start(server.url, b"2")
        hasty = asking.start(server.url, b"3", urgent=True)
        assert second.exchange is not None
        assert hasty.exchange is not None
        pool, made = second.exchange.keeper, second.exchange.keeper.made

        def made_and_given_up(connection: Connection) -> None:
            assert hasty.exchange is not None
            if just == "before":
                hasty.exchange.abandon()
            made(connection)
            hasty.exchange.abandon()
            happened.set()

        monkeypatch.setattr(pool, "made", made_and_given_up)
        async with asyncio.timeout(10):
            await happened.wait()
        await settle()
        release.set()
        assert [(await one.end()).body for one in (first, second)] == [b"1", b"2"]
        assert hasty.ends == 0
    await closed(asking)
