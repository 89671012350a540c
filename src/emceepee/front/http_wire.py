"""HTTP/1.1 as a server speaks it, on one connection: bytes to exchanges, and exchanges to bytes.

httptools does the parsing; this is what stands around it: one exchange after another in the order they came, bodies
bounded while they arrive, answers in one piece or in chunks, back-pressure, and a deadline for whatever the other side
owes us. It knows no path and no meaning. It exists because every call pays for it: a general server with its interface
between us and the socket cost as much as all the rest of the gateway (docs/benchmarks.md).

    reading    the request is not whole yet: it must be within `request_timeout`
    serving    ours to answer: no deadline here, the call has its own
    idle       between requests: closed after `idle_connection`
    stalled    the client does not read: aborted after `stalled_after`
    in doubt   answered, and somebody wants to know whether the client read it: at most `doubt_after`

What is written to a socket may never be read. A client that goes on to its next request has read; so has one that ends
the connection in order. One that is killed before it read everything has the system reset the connection, which is how
we know.

The one rule: a connection that was answered before its request was whole, or answered only in part, is not used again.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias, cast

import httptools

from emceepee.framing.known_head import KnownHead, known_head
from emceepee.front.exchange import Exchange, Header, Known
from emceepee.front.settings import FrontSettings
from emceepee.front.wire_exchange import LENGTH, STATUS_LINES, WireExchange, path_of
from emceepee.runtime.clock import Clock
from emceepee.runtime.spawn import TaskScope

_log = logging.getLogger("emceepee.front")

MAX_HEAD: Final = 64 * 1024
MAX_PIPELINED: Final = 16
MAX_LENGTH_DIGITS: Final = 18
HIGH_WATER: Final = 256 * 1024
_ONE_WRITE: Final = 64 * 1024
"""Up to this a head and its body are joined: one copy is cheaper than a second call to the socket."""


Serve: TypeAlias = Callable[[Exchange], Awaitable[None]]

Begin: TypeAlias = "Callable[[WireExchange], bool]"
"""Serves an exchange that is whole without waiting: whoever took it says when it is `over`. False: nothing was done."""


def never(exchange: WireExchange) -> bool:
    """Everything goes the ordinary way."""
    return False


class Connections:
    """What all connections of one server share, and the set of them. `sweep` ends those whose deadline has passed."""

    def __init__(
        self, serve: Serve, settings: FrontSettings, clock: Clock, tasks: TaskScope, begin: Begin = never
    ) -> None:
        self.serve = serve
        self.begin = begin
        self.settings = settings
        self.clock = clock
        self.tasks = tasks
        self.open: set[HttpConnection] = set()
        self.draining = False
        self.now = clock.now()
        """As of the last sweep: exact enough for deadlines of tens of seconds, and free."""
        self._ended: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self.open)

    @property
    def serving(self) -> int:
        return sum(connection.serving for connection in self.open)

    def sweep(self) -> None:
        self.now = self.clock.now()
        for connection in list(self.open):
            connection.look_at_deadline(self.now)

    def drain(self) -> None:
        """Those that do nothing are closed; the others after what they do."""
        self.draining = True
        for connection in list(self.open):
            if not connection.serving:
                connection.close()

    def cut_off(self) -> None:
        """What is being served ends now; whoever has not been answered anything is told so by the front."""
        for connection in list(self.open):
            connection.cut_off()

    def abort(self) -> None:
        for connection in list(self.open):
            connection.abort()

    async def none_serving(self) -> None:
        """Until every exchange is over and its answer has left."""
        while self.open:
            self._ended = asyncio.get_running_loop().create_future()
            await self._ended

    def ended(self, connection: HttpConnection) -> None:
        self.open.discard(connection)
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)


class HttpConnection(asyncio.Protocol):
    """The socket's side: parses, queues, keeps the deadline. Its exchanges are served in order, one at a time: in the
    turn in which they came whole where that can be, else by a task."""

    __slots__ = (
        "_all",
        "_between",
        "_deadline",
        "_doubt",
        "_doubt_until",
        "_going_on",
        "_head_bytes",
        "_headers",
        "_known",
        "_like",
        "_owed_body",
        "_parser",
        "_queue",
        "_reading",
        "_runner",
        "_stalled",
        "_target",
        "_transport",
        "_watched",
        "_writable",
        "closing",
        "gone",
        "memory",
        "serving",
    )

    def __init__(self, connections: Connections) -> None:
        self._all = connections
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._queue: deque[WireExchange] = deque()
        self._reading: WireExchange | None = None
        self._runner: asyncio.Task[None] | None = None
        self._watched: WireExchange | None = None
        self._writable: asyncio.Future[None] | None = None
        self._target = b""
        self._headers: list[Header] = []
        self._head_bytes = 0
        self._owed_body = 0
        self._deadline: float | None = None
        self._stalled: float | None = None
        self._doubt: tuple[WireExchange, Known] | None = None
        self._doubt_until = 0.0
        self._going_on = False
        self._between = True
        """Whether the parser stands between two requests."""
        self._known: KnownHead | None = None
        self._like: tuple[str, list[Header]] = "", []
        self.memory: dict[str, Any] = {}
        self.serving = False
        self.closing = False
        self.gone = False

    # -- the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not of asyncio's classes, only of their shape.
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        if len(self._all.open) >= self._all.settings.max_connections:
            self._refuse(503)
            return
        self._all.open.add(self)
        self._deadline = self._all.now + self._all.settings.request_timeout

    def data_received(self, data: bytes) -> None:
        if self._doubt is not None:
            self._resolve(True)
        if self.closing:
            return
        if self._owed_body:
            self._take_body(data)
            self._go_on()
            return
        fresh = self._between
        if fresh and self._known is not None and self._recognised(data):
            self._go_on()
            return
        if self._reading is None:
            self._head_bytes += len(data)
            if self._deadline is None or not self._head_bytes - len(data):
                self._deadline = self._all.now + self._all.settings.request_timeout
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse(400)
        else:
            if self._reading is None and self._head_bytes > MAX_HEAD:
                self._refuse(431)
            elif fresh and self._between:
                self._remember(data)
        self._go_on()

    def _recognised(self, data: bytes) -> bool:
        """A whole request under the head of the one before: what the parser would say of it is known."""
        assert self._known is not None
        body = self._known.body(data)
        if body is None or len(self._queue) >= MAX_PIPELINED:
            return False
        exchange = WireExchange(self, "POST", *self._like)
        exchange.came_whole(body)
        self._deadline = None
        self._queue.append(exchange)
        return True

    def _remember(self, data: bytes) -> None:
        """The head of a request that came alone and whole."""
        last = self._queue[-1] if self._queue else None
        if last is not None and last.keep_alive and last.chunks and last.method == "POST" and len(self._queue) == 1:
            self._known = known_head(data)
            self._like = last.path, last.headers

    def eof_received(self) -> bool:
        if self._doubt is not None:
            self._resolve(self._is_read())
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone = self.closing = True
        if self._doubt is not None:
            self._resolve(False)
        # It holds our methods: a circle, for each connection that there ever was.
        del self._parser
        self._transport = None
        self._all.ended(self)
        self._stalled = None
        for exchange in {self._reading, self._watched, *self._queue} - {None}:
            cast(WireExchange, exchange).client_left()
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()
        self._stalled = self._all.now + self._all.settings.stalled_after

    def resume_writing(self) -> None:
        self._stalled = None
        waiting, self._writable = self._writable, None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    # -- whether an answer was read

    def doubt(self, exchange: WireExchange, known: Known) -> bool:
        """Of the exchange being served. With a further request on its way already, what comes next tells nothing."""
        if self._queue or self._reading is not None or self._head_bytes or self._all.draining:
            return False
        self._doubt = exchange, known
        self._doubt_until = math.inf
        if self.gone:
            self._resolve(False)
        return True

    def _is_read(self) -> bool:
        """At the end of what the client sends: whether it had been written everything, and nothing of that came back
        because there was nobody any more."""
        assert self._doubt is not None
        assert self._transport is not None
        if not self._doubt[0].answered or self._transport.get_write_buffer_size():
            return False
        sock = self._transport.get_extra_info("socket")
        return sock is None or not sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)

    def _resolve(self, is_read: bool) -> None:
        doubt, self._doubt = self._doubt, None
        if doubt is not None:
            doubt[1](is_read)

    # -- what httptools calls

    def on_message_begin(self) -> None:
        self._between = False
        self._target = b""
        self._headers = []

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._head_bytes = 0
        method = self._parser.get_method().decode("latin-1")
        exchange = WireExchange(self, method, path_of(self._target), self._headers)
        exchange.keep_alive = self._parser.should_keep_alive()
        exchange.chunks = self._parser.get_http_version() != "1.0"
        self._reading = exchange
        self._queue.append(exchange)
        if len(self._queue) > MAX_PIPELINED:
            self._refuse(400)

    def on_body(self, body: bytes) -> None:
        if self._reading is not None:
            self._reading.feed(body)

    def on_message_complete(self) -> None:
        self._between = True
        if not self._parser.should_upgrade():
            self._is_whole()

    def _is_whole(self) -> None:
        exchange, self._reading = self._reading, None
        self._deadline = None
        if exchange is not None:
            exchange.whole()

    # -- a wish to upgrade, which some clients send with every first request; the parser stops there, body or not

    def _ignore_upgrade(self, rest: bytes) -> None:
        exchange = self._reading
        if exchange is None:
            self._refuse(400)
            return
        exchange.keep_alive = False
        length = dict(exchange.headers).get(LENGTH, b"0")
        self._owed_body = int(length) if length.isdigit() and len(length) < MAX_LENGTH_DIGITS else 0
        self._take_body(rest)

    def _take_body(self, data: bytes) -> None:
        part = data[: self._owed_body]
        self._owed_body -= len(part)
        if part and self._reading is not None:
            self._reading.feed(part)
        if not self._owed_body:
            self._is_whole()

    # -- one exchange after another

    def _go_on(self) -> None:
        """With the next one, unless one is being served. It may be over before we look again."""
        if self._going_on:
            return
        self._going_on = True
        while self._queue and not self.serving:
            exchange = self._queue.popleft()
            self.serving = True
            if self.closing or not exchange.is_whole or not self._all.begin(exchange):
                self._runner = self._all.tasks.spawn(self._serve(exchange), "exchange")
        self._going_on = False

    async def _serve(self, exchange: WireExchange) -> None:
        try:
            await self._all.serve(exchange)
        finally:
            self._runner = None
            self.over(exchange)

    def over(self, exchange: WireExchange) -> None:
        """The one that was served is answered, or never will be."""
        if self._writable is not None and not self.gone:
            # Nothing more is done for a client that does not read.
            self._writable.add_done_callback(lambda _: self.over(exchange))
            return
        self.serving = False
        self._watched = None
        self._doubt_until = self._all.now + self._all.settings.doubt_after
        if not exchange.reusable or self._all.draining:
            self._queue.clear()
            self.close()
        elif self._queue:
            self._go_on()
        elif self._reading is None:
            self._deadline = self._all.now + self._all.settings.idle_connection

    # -- writing, for the exchange being served

    def write(self, *parts: bytes) -> None:
        transport = self._transport
        if transport is None or self.gone or transport.is_closing():
            return
        if len(parts) > 1 and sum(map(len, parts)) > _ONE_WRITE:
            transport.writelines(parts)
        else:
            transport.write(b"".join(parts) if len(parts) > 1 else parts[0])

    def watch(self, exchange: WireExchange) -> None:
        """This one wants to know when the client leaves."""
        self._watched = exchange

    @property
    def draining(self) -> bool:
        return self._all.draining

    @property
    def max_body(self) -> int:
        return self._all.settings.max_body

    @property
    def writable(self) -> asyncio.Future[None] | None:
        """To be awaited while the client does not read; None when it does."""
        return self._writable

    # -- deadlines and ends

    def look_at_deadline(self, now: float) -> None:
        if self._doubt is not None and now >= self._doubt_until:
            # It is there and has had its time; nothing better will be known.
            self._resolve(True)
            if self.closing:
                self.close()
        if self._stalled is not None and now >= self._stalled:
            unsent = self._transport.get_write_buffer_size() if self._transport is not None else 0
            _log.warning("client_does_not_read", extra={"data": {"unsent": unsent}})
            self.abort()
        elif self._deadline is not None and now >= self._deadline:
            self.close()

    def _refuse(self, status: int) -> None:
        """What is not even a request is answered by its status alone, and only where nothing else is being said."""
        if not self.serving and not self._queue:
            self.write(STATUS_LINES[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self.close()

    def close(self) -> None:
        """After what was written has left, which a client that does not read must not put off for ever."""
        self.closing = True
        transport = self._transport
        if transport is None or self.gone:
            return
        if self._doubt is not None:
            if self._lingers(transport):
                return
            self._resolve(True)
        if self._stalled is None and not transport.is_closing():
            self._stalled = self._all.now + self._all.settings.stalled_after
        transport.close()

    def _lingers(self, transport: asyncio.Transport) -> bool:
        """Our side is closed, and the client's end tells whether it read what came before."""
        if self._all.draining or transport.is_closing() or not transport.can_write_eof():
            return False
        transport.write_eof()
        return True

    def cut_off(self) -> None:
        if self._runner is not None:
            self._runner.cancel()
        elif self._watched is not None:
            self._watched.cut_off()

    def abort(self) -> None:
        self.closing = True
        if self._doubt is not None:
            self._resolve(False)
        if self._transport is not None:
            self._transport.abort()
