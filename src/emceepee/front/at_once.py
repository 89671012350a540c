"""The calls that need not wait: begun in the turn in which they came, answered in the turn in which their answer came.

A plain call waits for nobody but its server. It is read, handed to its surface and asked without a task; what comes of
it is written by whoever brings it. It has no words of its own for anything: the desks read and write, as for every
other request, and `front/reply.py` makes a stream of an answer that is more than one message.

The one rule: what would have to wait, and what is in any way out of the ordinary, is not touched here: `begin` says
False before anything was done, and the request goes the ordinary way (`front/http.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

from emceepee.eras.choose import choose_http
from emceepee.eras.requests import ReadCall
from emceepee.errors import EmceepeeError
from emceepee.framing.json_text import Limits, Unreadable, read_message
from emceepee.front.answers import legacy_error, modern_error, refuse
from emceepee.front.deliveries import Deliveries
from emceepee.front.exchange import Exchange
from emceepee.front.guards import (
    Refused,
    check_accept,
    check_content_type,
    check_host,
    check_length,
    check_origin,
)
from emceepee.front.heads import Head, mcp_headers
from emceepee.front.legacy import LegacyDesk, Teller
from emceepee.front.modern import ModernDesk
from emceepee.front.modern import Teller as ModernTeller
from emceepee.front.reply import Reply
from emceepee.front.shop import Shop
from emceepee.front.wire_exchange import WireExchange
from emceepee.protocol.messages import Request, RequestId
from emceepee.relay.hold import Parked
from emceepee.relay.surface import OnNotice, Surface
from emceepee.runtime.waiting_line import WaitingLine
from emceepee.sessions.session import Session
from emceepee.vocabulary.calls import MAY_ASK, Call
from emceepee.vocabulary.notices import Notice
from emceepee.vocabulary.outcomes import Answered, Begun, Done
from emceepee.vocabulary.tasks import GoesOn

_log = logging.getLogger("emceepee.front")

CARRIED: Final = MAY_ASK | {"completion/complete"}


class KnownPost:
    """A head that passed all guards, kept for the next request of its connection."""

    __slots__ = ("_asked", "head", "mcp_headers", "path", "session")

    def __init__(self, asked: str, path: str, head: Head) -> None:
        self._asked = asked
        self.path = path
        self.head = head
        self.session = head.get(b"mcp-session-id")
        self.mcp_headers = mcp_headers(head.headers)

    def covers(self, exchange: Exchange) -> bool:
        mine, its = self.head.headers, exchange.headers
        return (its is mine or its == mine) and exchange.path == self._asked and exchange.method == "POST"


class AtOnce:
    """`silent` has the calls that wait longer than clients like to be told nothing."""

    def __init__(
        self,
        shop: Shop,
        legacy: LegacyDesk,
        modern: ModernDesk,
        surfaces: Callable[[str], Surface | None],
        identify: Callable[[Exchange], str],
    ) -> None:
        self.shop = shop
        self.legacy = legacy
        self.modern = modern
        self.silent = WaitingLine(shop.clock, shop.settings.keep_alive)
        self._surfaces = surfaces
        self._identify = identify
        self._limits = Limits(max_bytes=shop.settings.max_body, max_depth=shop.settings.max_depth)

    def begin(self, exchange: WireExchange) -> bool:
        """Implements `http_wire.Begin`. What goes wrong is found again, and answered, by whoever can wait."""
        try:
            return self._begun(exchange)
        except EmceepeeError:
            return False
        except Exception as error:  # noqa: BLE001 -- the wall, towards whoever brought the bytes
            _log.error("internal_error", exc_info=error)
            return False

    def _begun(self, exchange: WireExchange) -> bool:
        known: KnownPost | None = exchange.memory.get("post")
        if known is None or not known.covers(exchange):
            known = self._admitted(exchange)
        if known is None or self.shop.draining or self.shop.leaving or not known.head.acceptable.json:
            return False
        surface = self._surfaces(known.path)
        body = exchange.body()
        if surface is None or body is None:
            return False
        try:
            message = read_message(body, self._limits)
        except Unreadable:
            return False
        if type(message) is not Request or message.method not in CARRIED:
            return False
        era = choose_http(known.head.versions, message)
        principal = self._identify(exchange)
        if era == "legacy":
            session = self._session(known, principal)
            return session is not None and LegacyCall(self, exchange, known, surface, message).begin(session)
        return era == "modern" and ModernCall(self, exchange, known, surface, message).begin(principal)

    def _admitted(self, exchange: WireExchange) -> KnownPost | None:
        """A head that all guards let pass, whose connection has shown us another one before."""
        if exchange.method != "POST" or not exchange.memory:
            return None
        head, settings = Head(exchange.headers), self.shop.settings
        if (
            head.refused()
            or check_host(head.get(b"host"), settings.allowed_hosts)
            or check_origin(head.get(b"origin"), settings.allowed_origins)
            or check_content_type(head.get(b"content-type"), head.get(b"content-encoding"))
            or check_accept(head.acceptable)
            or check_length(head.get(b"content-length"), self._limits.max_bytes)
        ):
            return None
        known = exchange.memory["post"] = KnownPost(exchange.path, exchange.path.rstrip("/"), head)
        return known

    def _session(self, known: KnownPost, principal: str) -> Session | None:
        """Of a client that cannot be asked anything: what is asked needs somebody who waits for the answer."""
        if known.session is None:
            return None
        session = self.legacy.directory.find(known.session, principal, known.path)
        return session if session is not None and not session.asks else None


class _Call:
    """One call without a task. Implements `wire_exchange.Owner` and `waiting_line.Waits`; the surface tells it what is
    heard on the way (`hear`) and how it ended (`ended`)."""

    __slots__ = (
        "_at_once", "_begun", "_exchange", "_known", "_over", "_reply", "_request", "_surface", "_tell", "_token",
    )  # fmt: skip

    def __init__(
        self, at_once: AtOnce, exchange: WireExchange, known: KnownPost, surface: Surface, request: Request
    ) -> None:
        self._at_once = at_once
        self._exchange = exchange
        self._known = known
        self._surface = surface
        self._request = request
        self._reply: Reply | None = None
        self._token: RequestId | None = None
        self._begun: Begun | None = None
        self._tell: OnNotice | None = None
        self._over = False

    # -- how the eras differ

    def _teller(self) -> OnNotice:
        raise NotImplementedError

    def client_left(self) -> None:
        raise NotImplementedError

    def ended(self, outcome: Answered | GoesOn | Exception) -> None:
        raise NotImplementedError

    def _session(self) -> Session | None:
        return None

    def _leave(self) -> None:
        """It is no longer one of the calls that run."""
        raise NotImplementedError

    # -- on the way

    def _begin(self, read: ReadCall) -> bool:
        """Of what runs by now."""
        self._token = read.token
        self._exchange.owned(self)
        self._at_once.silent.join(self)
        try:
            begun = self._start(read.call)
        except EmceepeeError:
            self._undo()
            raise
        except Exception as error:  # noqa: BLE001 -- the wall: it may have been asked, and must not be asked twice
            self.ended(error)
            return True
        if self._over:
            return True
        if begun is None:
            self._undo()
            return False
        self._begun = begun
        return True

    def _start(self, call: Call) -> Begun | None:
        return self._surface.begin(call, self.hear, self.ended)

    def _undo(self) -> None:
        """As if it had never been tried."""
        if self._end():
            self._exchange.owned(None)

    def hear(self, notice: Notice) -> None:
        if self._over:
            return
        if self._tell is None:
            self._tell = self._teller()
        self._tell(notice)

    def _notice(self, message: bytes, key: str | None) -> None:
        self._replying().notice(message, key)

    def overdue(self) -> None:
        self._replying().silent()

    def _replying(self) -> Reply:
        """From here on it may be a stream."""
        if self._reply is None:
            acceptable = self._known.head.acceptable
            self._reply = Reply(self._exchange, self._at_once.shop, acceptable, session=self._session())
        return self._reply

    # -- its end

    def _end(self) -> bool:
        """Whether it was not over before."""
        if self._over:
            return False
        self._over = True
        self._begun = self._tell = None
        self._at_once.silent.leave(self)
        self._leave()
        return True

    def _answer(self, status: int, body: bytes, deliveries: Deliveries | None = None) -> None:
        reply, exchange = self._reply, self._exchange
        if reply is not None:
            if deliveries is not None:
                reply.deliveries = deliveries
            self._finish(reply.answer(status, body))
            return
        if deliveries is None:
            exchange.write_json(status, body)
        else:
            will_be_known = exchange.on_read(deliveries.settle)
            there = not exchange.left
            exchange.write_json(status, body)
            if not there or not will_be_known:
                deliveries.settle(there)
        exchange.over()

    def _finish(self, ending: Coroutine[Any, Any, None]) -> None:
        self._at_once.shop.tasks.spawn(self._finished(ending), "finish answer")

    async def _finished(self, ending: Coroutine[Any, Any, None]) -> None:
        try:
            await ending
        finally:
            self._exchange.over()

    def _stop(self) -> bool:
        """Its server is told that nobody wants it any more. Whether it was not over before."""
        begun = self._begun
        if not self._end():
            return False
        if begun is not None:
            begun.abandon()
        return True

    def cut_off(self) -> None:
        if not self._stop():
            return
        if self._reply is not None:
            self._reply.drop()
            self._exchange.over()
        else:
            self._finish(refuse(self._exchange, Refused(503, "Shutting down")))


class LegacyCall(_Call):
    """Also an entry of its session's calls in flight: nothing but the client's own word, or its session's end, calls it
    off. A client that goes away has cancelled nothing."""

    __slots__ = ("_of",)

    _of: Session

    def begin(self, session: Session) -> bool:
        """False where nothing was done. Raises `EmceepeeError`, also before anything was done."""
        self._of = session
        read = self._at_once.legacy.read(session, self._request)
        session.in_flight.enter(self._request.id, self)
        return self._begin(read)

    def _teller(self) -> OnNotice:
        return Teller(self._of, self._token, self._notice)

    def _session(self) -> Session:
        return self._of

    def _leave(self) -> None:
        self._of.in_flight.finish(self._request.id)
        self._of.last_activity = self._at_once.shop.clock.now()

    def client_left(self) -> None: ...

    def ended(self, outcome: Answered | GoesOn | Exception) -> None:
        if not self._end():
            return
        session, request = self._of, self._request
        deliveries: Deliveries | None = None
        try:
            if isinstance(outcome, Exception):
                body = legacy_error(request.id, outcome, request.method, session.revision)
            else:
                if type(outcome) is Done and outcome.delivery is not None:
                    deliveries = Deliveries()
                promise = None if deliveries is None else deliveries.promise
                body = self._at_once.legacy.written(self._surface, session, request, outcome, promise)
        except Exception as error:  # noqa: BLE001 -- the wall
            body = legacy_error(request.id, error.with_traceback(None), request.method, session.revision)
        self._answer(200, body, deliveries)

    def call_off(self) -> None:
        if self._stop():
            self._finish(self._replying().nothing())


class ModernCall(_Call):
    """A client that goes away has cancelled."""

    __slots__ = ("_call",)

    _call: Call

    def begin(self, principal: str) -> bool:
        """As `LegacyCall.begin`."""
        read = self._at_once.modern.read_at_once(self._surface, self._request, principal, self._known.mcp_headers)
        if read is None:
            return False
        self._call = read.call
        return self._begin(read)

    def _start(self, call: Call) -> Begun | None:
        """It may be sent away with a question, and then this request is over, and the call is not."""
        return self._at_once.shop.begin(self._surface, call, self.hear, self.ended)

    def _teller(self) -> OnNotice:
        return ModernTeller(self._token, self._call.log_level, self._notice)

    def _leave(self) -> None:
        self._at_once.modern.done()

    def client_left(self) -> None:
        if self._stop():
            if self._reply is not None:
                self._reply.drop()
            self._exchange.over()

    def ended(self, outcome: Answered | GoesOn | Exception) -> None:
        if not self._end():
            return
        request = self._request
        deliveries: Deliveries | None = None
        try:
            if isinstance(outcome, Exception):
                status, body = modern_error(request.id, outcome, request.method)
            else:
                if (type(outcome) is Done and outcome.delivery is not None) or type(outcome) is Parked:
                    deliveries = Deliveries()
                promise = None if deliveries is None else deliveries.promise
                status, body = self._at_once.modern.written(request, self._call, outcome, promise)
        except Exception as error:  # noqa: BLE001 -- the wall
            status, body = modern_error(request.id, error.with_traceback(None), request.method)
        self._answer(status, body, deliveries)
