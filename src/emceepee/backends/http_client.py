"""Our HTTP/1.1 client: a bounded pool of kept connections for each origin, and exchanges told by callback.

It knows neither MCP nor what a body means. There are no redirects, cookies, encodings or retries of what may have
arrived: `http_answers` and the transports decide those, with what happened in their hands.

The one rule: a request is sent a second time only when nothing of the first can have reached the server, or when its
sender said that it is repeatable.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import ssl
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from weakref import WeakValueDictionary

import msgspec

from emceepee.backends.http_address import Address, write_lines
from emceepee.backends.http_connection import Connection, Exchange, HttpFault, Receiver
from emceepee.backends.http_opening import client_tls, open_connection
from emceepee.backends.http_proxy import Proxies, Proxy, UnusableProxy
from emceepee.backends.transport import Header
from emceepee.runtime.clock import Clock, Timer
from emceepee.runtime.spawn import TaskScope

_log = logging.getLogger("emceepee.backends")

Method: TypeAlias = Literal["GET", "POST", "DELETE"]

_SURELY_SEEN_SECONDS = 0.05
"""An end that came longer ago than this has been read by the loop; while it is busy it may not have been."""


@dataclass(slots=True, frozen=True)
class ClientSettings:
    """`idle_seconds` is below the five after which uvicorn and Node hang up, so that we do it first; a server's own
    `Keep-Alive: timeout` counts instead, up to `idle_seconds_at_most`. `spare` connections are kept for what ends other
    calls (answers, cancellations), so that calls which fill the pool cannot lock themselves in."""

    connections_per_origin: int = 2048
    spare_per_origin: int = 64
    idle_per_origin: int = 64
    waiting_per_origin: int = 4096
    idle_seconds: float = 4.0
    idle_seconds_at_most: float = 60.0
    drain_seconds: float = 5.0


@dataclass(slots=True)
class Route:
    """One origin as we reach it: made once for each endpoint, then used for all its requests."""

    address: Address
    proxy: Proxy | None
    problem: str | None
    pool: Pool = field(repr=False)

    def head(self, method: Method, target: str, headers: Sequence[Header]) -> bytes:
        """Everything before the body but its length. Raises `BadAddress`."""
        address = self.address
        forwarded = self.proxy is not None and address.scheme == "http"
        start = f"{address.scheme}://{address.host_header}{target}" if forwarded else target
        lines = [] if any(name.lower() == "host" for name, _ in headers) else [("host", address.host_header)]
        if forwarded and self.proxy is not None and self.proxy.credentials is not None:
            lines.append(("proxy-authorization", self.proxy.credentials))
        return f"{method} {start} HTTP/1.1\r\n".encode("ascii") + write_lines((*lines, *headers))


class HttpRequest(msgspec.Struct, eq=False):
    """What is sent. `urgent` may use the spare connections; `repeatable` is sent again when a kept connection died."""

    route: Route
    head: bytes
    body: bytes | None = None
    connect_timeout: float = 10.0
    urgent: bool = False
    repeatable: bool = False


class HttpClient:
    """One for the whole process. `close()` leaves neither socket nor task."""

    def __init__(
        self,
        clock: Clock,
        environment: Mapping[str, str],
        settings: ClientSettings | None = None,
        tls: Callable[[], ssl.SSLContext] = client_tls,
    ) -> None:
        self.clock = clock
        self.settings = settings or ClientSettings()
        self.scope = TaskScope("http")
        self._proxies = Proxies(environment)
        self._make_tls = tls
        self._tls: ssl.SSLContext | None = None
        self._pools: WeakValueDictionary[object, Pool] = WeakValueDictionary()
        self._sweeping: Timer | None = None
        self.closed = False

    def route(self, address: Address) -> Route:
        """Never fails: what is wrong with the way is said by the first request that takes it."""
        proxy, problem = None, None
        try:
            proxy = self._proxies.for_address(address)
        except UnusableProxy as error:
            problem = str(error)
        key = (address.origin, proxy)
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = Pool(self, address, proxy)
        return Route(address, proxy, problem, pool)

    def start(self, request: HttpRequest, receiver: Receiver) -> Exchange:
        """Send as soon as there is a connection. The receiver may hear a fault before this returns."""
        route = request.route
        exchange = Exchange(request, receiver, route.pool)
        if self.closed or route.problem is not None:
            receiver.on_fault(HttpFault("unreached", route.problem or "the gateway is closing"))
        else:
            route.pool.start(exchange)
        return exchange

    def tls(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = self._make_tls()
        return self._tls

    # -- what lies idle, or is only drained, ends by one timer

    def sweep_later(self) -> None:
        if self._sweeping is None and not self.closed:
            self._sweeping = self.clock.after(self.settings.idle_seconds / 2, self._sweep)

    def _sweep(self) -> None:
        self._sweeping = None
        now = self.clock.now()
        left = [pool.sweep(now) for pool in list(self._pools.values())]
        if any(left):
            self.sweep_later()

    @property
    def connections(self) -> int:
        return sum(len(pool.alive) for pool in self._pools.values())

    async def close(self) -> None:
        self.closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        await self.scope.close()
        pools = list(self._pools.values())
        for pool in pools:
            pool.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                for pool in pools:
                    await pool.empty()


class Pool:
    """The connections to one origin. Implements `http_connection.Keeper`."""

    def __init__(self, client: HttpClient, address: Address, proxy: Proxy | None) -> None:
        self._client = client
        self._settings = client.settings
        self._address = address
        self._proxy = proxy
        self.alive: set[Connection] = set()
        self._idle: deque[Connection] = deque()
        self._waiting: dict[Exchange, _Attempt | None] = {}
        self._opening: dict[Connection, _Attempt] = {}
        self._connecting = 0
        self._drained: set[Connection] = set()
        self._emptied: asyncio.Future[None] | None = None

    # -- giving connections to exchanges

    def start(self, exchange: Exchange) -> None:
        now = self._client.clock.now()
        while self._idle:
            connection = self._idle.pop()
            long_ago = now - connection.since > _SURELY_SEEN_SECONDS
            if now < connection.expires and not (long_ago and connection.is_stale()) and connection.begin(exchange):
                return
            connection.retire()
        if len(self._waiting) >= self._settings.waiting_per_origin:
            exchange.receiver.on_fault(HttpFault("unreached", "too many requests wait for a connection to it"))
            return
        self._waiting[exchange] = None
        self._connect_for(exchange)

    again = start

    def _connect_for(self, exchange: Exchange) -> None:
        room = self._settings.connections_per_origin - len(self.alive) - self._connecting
        if exchange.request.urgent:
            room += self._settings.spare_per_origin
        if room > 0 and not self._client.closed:
            self._connecting += 1
            attempt = self._waiting[exchange] = _Attempt()
            attempt.task = self._client.scope.spawn(self._connect(exchange, attempt), "connect")

    async def _connect(self, exchange: Exchange, attempt: _Attempt) -> None:
        connection = Connection(self)
        self._opening[connection] = attempt
        attempt.limit(self._client.clock, exchange.request.connect_timeout)
        fault: HttpFault | None = None
        try:
            await open_connection(self._address, self._proxy, lambda: connection, self._client.tls)
        except asyncio.CancelledError:
            if not attempt.late:
                raise
            fault = HttpFault("unreached", f"no connection within {exchange.request.connect_timeout:g} s")
        except (OSError, EOFError, UnicodeError) as error:
            fault = HttpFault("unreached", f"no connection: {_reason(error)}")
        except Exception as error:  # noqa: BLE001 - what loops and TLS raise besides is not ours to list
            _log.warning("http_connect_failed_oddly", exc_info=error)
            fault = HttpFault("unreached", f"no connection: {type(error).__name__}")
        finally:
            attempt.settle()
            self._opening.pop(connection, None)
            self._connecting -= 1
            self._attempted(exchange, fault)

    def _attempted(self, exchange: Exchange, fault: HttpFault | None) -> None:
        if exchange in self._waiting:
            # What was opened for it went to somebody who waited longer, or was closed at once.
            self._waiting[exchange] = None
            if fault is not None:
                del self._waiting[exchange]
                exchange.receiver.on_fault(fault)
        self._connect_more()

    def _connect_more(self) -> None:
        """Each who waits has a connection on its way, his own or another's, as far as there is room."""
        for exchange, attempt in list(self._waiting.items()):
            if self._connecting >= len(self._waiting):
                return
            if attempt is None:
                self._connect_for(exchange)

    def made(self, connection: Connection) -> None:
        attempt = self._opening.pop(connection, None)
        if attempt is not None and not attempt.settle():
            connection.retire()
            return
        self.alive.add(connection)
        self.released(connection)

    def released(self, connection: Connection) -> None:
        if self._drained:
            self._drained.discard(connection)
        if self._waiting:
            self._give(connection)
        else:
            self._keep(connection)

    def _give(self, connection: Connection) -> None:
        # What is urgent may be what ends the others.
        urgent = (exchange for exchange in self._waiting if exchange.request.urgent)
        exchange = next(urgent, None) or next(iter(self._waiting))
        if connection.begin(exchange):
            # A connection of its own that is still on its way will serve the next, or lie idle.
            del self._waiting[exchange]
        else:
            connection.retire()

    def _keep(self, connection: Connection) -> None:
        settings = self._settings
        seconds = settings.idle_seconds
        stated = connection.headers.get(b"keep-alive")
        if stated is not None:
            seconds = _stated_seconds(stated, seconds, settings.idle_seconds_at_most)
        if seconds <= 0 or len(self._idle) >= settings.idle_per_origin or self._client.closed:
            connection.retire()
            return
        connection.since = now = self._client.clock.now()
        connection.expires = now + seconds
        self._idle.append(connection)
        self._client.sweep_later()

    # -- taking them back

    def draining(self, connection: Connection) -> None:
        if connection in self._drained:
            return
        connection.expires = self._client.clock.now() + self._settings.drain_seconds
        self._drained.add(connection)
        self._client.sweep_later()

    def withdrawn(self, exchange: Exchange) -> None:
        attempt = self._waiting.pop(exchange, None)
        if attempt is not None:
            attempt.give_up()

    def gone(self, connection: Connection) -> None:
        self.alive.discard(connection)
        self._drained.discard(connection)
        if connection.idle:
            with contextlib.suppress(ValueError):
                self._idle.remove(connection)
        if self._waiting:
            self._connect_more()
        if not self.alive and self._emptied is not None and not self._emptied.done():
            self._emptied.set_result(None)

    def sweep(self, now: float) -> bool:
        """Whether anything is left to be swept later."""
        for connection in [c for c in self._idle if c.expires <= now]:
            self._idle.remove(connection)
            connection.retire()
        for connection in [c for c in self._drained if c.expires <= now]:
            self._drained.discard(connection)
            connection.hang_up()
        return bool(self._idle or self._drained)

    def close(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for exchange in waiting:
            exchange.receiver.on_fault(HttpFault("unreached", "the gateway is closing"))
        for connection in list(self.alive):
            connection.fail(HttpFault("unanswered", "the gateway is closing"))

    async def empty(self) -> None:
        if self.alive:
            self._emptied = asyncio.get_running_loop().create_future()
            await self._emptied


class _Attempt:
    """One attempt at a connection. It can be given up until there is one; from then on the connection may be somebody
    else's, and cancelling the task that opened it would close it under them. What comes of it after it was given up is
    nobody's: the loop is about to close it."""

    __slots__ = ("_given_up", "_settled", "_timer", "late", "task")

    def __init__(self) -> None:
        self.late = False
        self.task: asyncio.Task[None] | None = None
        self._given_up = False
        self._settled = False
        self._timer: Timer | None = None

    def limit(self, clock: Clock, seconds: float) -> None:
        self._timer = clock.after(seconds, self._too_late)

    def _too_late(self) -> None:
        self.late = True
        self.give_up()

    def give_up(self) -> None:
        if not self._settled and self.task is not None:
            self._given_up = True
            self.task.cancel()

    def settle(self) -> bool:
        """There is a connection, or there will be none. Whether somebody may use it."""
        self._settled = True
        if self._timer is not None:
            self._timer.cancel()
        return not self._given_up


def _reason(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or 'the server does not speak it'})"
    if isinstance(error, OSError) and error.errno and error.errno > 0:
        # The text of some loops repeats the address; the number says the same without.
        return os.strerror(error.errno)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _stated_seconds(value: bytes, otherwise: float, at_most: float) -> float:
    """A second less than `timeout` of a Keep-Alive header; Node states it."""
    for part in value.lower().split(b","):
        name, _, seconds = part.strip().partition(b"=")
        if name.strip() == b"timeout" and seconds.strip().isdigit():
            return min(float(seconds) - 1, at_most)
    return otherwise
