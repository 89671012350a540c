"""One socket to a server: writes a request, parses what comes, tells the receiver, and says when it is free again.

Everything is delivered from the loop's reading callback, without a task or a queue for an answer. It knows HTTP/1.1
framing (by httptools) and nothing of pools, addresses, time, or what a body means.

The one rule: a connection is given back only when the answer ended where it said it would, nothing came after it, and
nothing of the request was still unsent; in every other case it is closed.
"""

from __future__ import annotations

import asyncio
import logging
import select
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, cast

import httptools

from emceepee.framing.known_head import KnownHead, known_head

if TYPE_CHECKING:
    from emceepee.backends.http_client import HttpRequest

_log = logging.getLogger("emceepee.backends")

Headers: TypeAlias = dict[bytes, bytes]
"""Names in small letters; the values of a repeated name are joined by commas."""

FaultKind: TypeAlias = Literal["unreached", "unanswered", "truncated", "garbled"]

MAX_BARREN = 64 * 1024
"""How much may come without a head or a body growing by it: endless heads, interim answers and trailers end here."""
_WRITE_AT_ONCE = 64 * 1024
_LOST_BYTES = 256 * 1024


@dataclass(slots=True, frozen=True)
class HttpFault:
    """How an exchange failed. `unreached`: nothing of the request can have arrived. `unanswered`: it may have, and no
    byte came back. `truncated`: part of an answer came. `garbled`: what came is not HTTP, or breaks a limit."""

    kind: FaultKind
    detail: str


class Receiver(Protocol):
    """Who hears an answer. Called from the loop, returns at once. The last call is `on_end` or `on_fault`, once."""

    def on_head(self, status: int, headers: Headers) -> None: ...

    def on_data(self, data: bytes) -> None: ...

    def on_end(self) -> None: ...

    def on_fault(self, fault: HttpFault) -> None: ...


class Keeper(Protocol):
    """Who owns connections: learns that one is free, gone, or only being drained."""

    def made(self, connection: Connection) -> None: ...

    def released(self, connection: Connection) -> None: ...

    def gone(self, connection: Connection) -> None: ...

    def draining(self, connection: Connection) -> None: ...

    def again(self, exchange: Exchange) -> None: ...

    def withdrawn(self, exchange: Exchange) -> None: ...


class Exchange:
    """One request and its answer: the handle that the asker holds."""

    __slots__ = ("connection", "keeper", "paused", "receiver", "request")

    def __init__(self, request: HttpRequest, receiver: Receiver, keeper: Keeper) -> None:
        self.request = request
        self.receiver = receiver
        self.keeper = keeper
        self.connection: Connection | None = None
        self.paused = False

    def pause(self) -> None:
        """Stop reading, so that the server feels the pressure; also before the answer has begun."""
        self.paused = True
        if self.connection is not None:
            self.connection.pause(True)

    def resume(self) -> None:
        self.paused = False
        if self.connection is not None:
            self.connection.pause(False)

    def abandon(self) -> None:
        """Hang up, or never send. The receiver hears nothing more. Harmless after the end."""
        self.receiver = DEAF
        if self.connection is not None:
            self.connection.hang_up()
        else:
            self.keeper.withdrawn(self)

    def last_receiver(self) -> Receiver:
        """Who is to hear the end. Forgotten here: it holds us, and a circle would be left to the garbage collector."""
        receiver, self.receiver = self.receiver, DEAF
        return receiver

    def detach(self) -> None:
        """What was wanted has come: the rest is read and dropped, in the background and bounded."""
        self.receiver = _Rest(self)
        if self.paused:
            self.resume()
        if self.connection is not None:
            self.connection.let_drain()


class _Deaf:
    """Hears nothing."""

    def on_head(self, status: int, headers: Headers) -> None: ...

    def on_data(self, data: bytes) -> None: ...

    def on_end(self) -> None: ...

    def on_fault(self, fault: HttpFault) -> None: ...


DEAF = _Deaf()


class _Rest(_Deaf):
    """Lets the rest of an answer pass, unless it is cheaper to make a new connection."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._left = _LOST_BYTES

    def on_data(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            self._exchange.abandon()


class Connection(asyncio.Protocol):
    """The asyncio protocol of one socket, and at the same time the callbacks of its parser."""

    __slots__ = (
        "_barren",
        "_complete",
        "_feeding",
        "_head_open",
        "_headers",
        "_interim",
        "_keep",
        "_keeper",
        "_known",
        "_parser",
        "_paused",
        "_poll",
        "_received",
        "_status",
        "_surplus",
        "_transport",
        "_until_eof",
        "drained",
        "ended",
        "exchange",
        "expires",
        "since",
        "used",
    )

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._poll: select.poll | None = None
        self._headers: Headers = {}
        self._known: KnownHead | None = None
        """The head of the last answer, of which `_headers` are."""
        self._status = 0
        self.exchange: Exchange | None = None
        self.ended = False
        self.used = 0
        self.since = 0.0
        self.expires = 0.0
        """Both kept by the keeper: since when it lies idle, and until when it may, or may be drained."""
        self._paused = False
        self._feeding = False
        self._reset()

    def _reset(self) -> None:
        self._head_open = True
        self._interim = False
        self._received = False
        self._complete = False
        self._surplus = False
        self._until_eof = False
        self._keep = False
        self._barren = 0
        self.drained = False

    # -- the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not of asyncio's classes, only of their shape.
        self._transport = cast(asyncio.Transport, transport)
        self._keeper.made(self)

    def eof_received(self) -> None:
        self.ended = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        self._transport = None
        # It holds our methods: a circle, for each connection that there ever was.
        del self._parser
        self._keeper.gone(self)
        exchange, self.exchange = self.exchange, None
        if exchange is None:
            return
        exchange.connection = None
        if self._received:
            if self._until_eof and exc is None:
                exchange.last_receiver().on_end()
            else:
                exchange.last_receiver().on_fault(
                    HttpFault("truncated", "the connection was closed in the middle of the answer")
                )
        elif self.used > 1 and exchange.request.repeatable:
            self._keeper.again(exchange)
        else:
            exchange.last_receiver().on_fault(HttpFault("unanswered", "the connection was closed before it answered"))

    # -- sending

    @property
    def idle(self) -> bool:
        return self.exchange is None

    def is_stale(self) -> bool:
        """Whether the server hung up, or sent what nobody asked for, though the loop has not told us yet."""
        if self.ended or self._transport is None or self._transport.is_closing():
            return True
        if self._poll is None:
            if not hasattr(select, "poll"):
                return False
            socket = self._transport.get_extra_info("socket")
            if socket is None or socket.fileno() < 0:
                return True
            self._poll = select.poll()
            self._poll.register(socket.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
        return bool(self._poll.poll(0))

    def begin(self, exchange: Exchange) -> bool:
        """Send a request; False when the socket turns out to be closed, and nothing of it was sent."""
        transport = self._transport
        if transport is None or self.ended:
            return False
        head, body = exchange.request.head, exchange.request.body
        if body is None:
            transport.write(head + b"\r\n")
        elif len(body) < _WRITE_AT_ONCE:
            transport.write(b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body))
        else:
            transport.write(b"%bcontent-length: %d\r\n\r\n" % (head, len(body)))
            transport.write(body)
        if transport.is_closing():
            # The loop tried to write and failed at once: not a byte left this machine.
            return False
        self.used += 1
        self.exchange = exchange
        exchange.connection = self
        if exchange.paused:
            self.pause(True)
        return True

    def pause(self, paused: bool) -> None:
        if self._transport is None or paused == self._paused or self._transport.is_closing():
            return
        self._paused = paused
        if paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def let_drain(self) -> None:
        """Nobody listens any more. The keeper is told, unless the end comes with the data that is just being read."""
        self.drained = True
        if not self._feeding:
            self._keeper.draining(self)

    def hang_up(self) -> None:
        """Close at once; whoever waits here is not told."""
        exchange, self.exchange = self.exchange, None
        if exchange is not None:
            exchange.connection = None
        self.ended = True
        if self._transport is not None:
            self._transport.abort()

    def retire(self) -> None:
        """Close an idle connection politely."""
        self.ended = True
        if self._transport is not None:
            self._transport.close()

    def fail(self, fault: HttpFault) -> None:
        exchange = self.exchange
        self.hang_up()
        if exchange is not None:
            exchange.last_receiver().on_fault(fault)

    # -- receiving

    def data_received(self, data: bytes) -> None:
        if self.exchange is None:
            # Nobody asked: a farewell such as 408, or an answer too many. It must not answer the next request.
            self.hang_up()
            return
        fresh, self._received = not self._received, True
        if fresh and self._known is not None and self._recognised(data):
            if self._complete:
                self._finish()
            return
        self._barren += len(data)
        self._feeding = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self._complete:
                self._garbled(error)
                return
            self._surplus = True
        finally:
            self._feeding = False
        if self._complete:
            if fresh and self._keep and self._status == 200:
                self._known = known_head(data)
            self._finish()
        elif self.drained:
            self._keeper.draining(self)
        elif self._barren > MAX_BARREN:
            self.fail(HttpFault("garbled", f"its head or trailer is larger than {MAX_BARREN} bytes"))

    def _recognised(self, data: bytes) -> bool:
        """A whole answer under the head of the one before: what the parser would say of it is known."""
        assert self._known is not None
        assert self.exchange is not None
        body = self._known.body(data)
        if body is None:
            return False
        self._feeding = True
        try:
            self.exchange.receiver.on_head(200, self._headers)
            if body and self.exchange is not None:
                self.exchange.receiver.on_data(body)
        except Exception as error:  # noqa: BLE001 -- as the parser does with what its callbacks raise
            self._feeding = False
            self._untaken(error)
            return True
        self._feeding = False
        self._keep = self._complete = True
        return True

    def _untaken(self, cause: BaseException) -> None:
        _log.error("http_receiver_failed", exc_info=cause)
        self.fail(HttpFault("garbled", f"its answer could not be taken ({type(cause).__name__})"))

    def _garbled(self, error: Exception) -> None:
        if isinstance(error, httptools.HttpParserCallbackError):
            self._untaken(error.__context__ or error)
        elif isinstance(error, httptools.HttpParserUpgrade):
            self.fail(HttpFault("garbled", "it switched protocols, which nobody asked for"))
        else:
            self.fail(HttpFault("garbled", f"its answer is not HTTP: {error}"))

    def _finish(self) -> None:
        exchange, self.exchange = self.exchange, None
        transport = self._transport
        if self._paused:
            self.pause(False)
        reusable = (
            self._keep
            and not self._surplus
            and not self.ended
            and transport is not None
            and not transport.get_write_buffer_size()
        )
        if exchange is not None:
            exchange.connection = None
        if reusable:
            self._reset()
            self._keeper.released(self)
        else:
            self.retire()
        if exchange is not None:
            exchange.last_receiver().on_end()

    @property
    def headers(self) -> Headers:
        """Of the answer that came last."""
        return self._headers

    # -- the parser's callbacks

    def on_message_begin(self) -> None:
        if self._complete:
            self._surplus = True
        else:
            self._headers = {}
            self._known = None

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._head_open or self._complete:
            return
        name = name.lower()
        known = self._headers.get(name)
        self._headers[name] = value if known is None else known + b", " + value

    def on_headers_complete(self) -> None:
        exchange = self.exchange
        if self._complete or exchange is None:
            return
        status = self._status = self._parser.get_status_code()
        if status < 200:
            self._interim = True
            return
        self._head_open = False
        self._barren = 0
        headers = self._headers
        self._until_eof = b"content-length" not in headers and not _is_chunked(headers)
        exchange.receiver.on_head(status, headers)

    def on_body(self, data: bytes) -> None:
        exchange = self.exchange
        if exchange is not None and not self._complete:
            self._barren = 0
            exchange.receiver.on_data(data)

    def on_message_complete(self) -> None:
        if self._interim:
            self._interim = False
        elif not self._complete:
            self._complete = True
            self._keep = self._parser.should_keep_alive()


def _is_chunked(headers: Headers) -> bool:
    return headers.get(b"transfer-encoding", b"").rstrip().lower().endswith(b"chunked")
