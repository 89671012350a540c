"""Legacy clients over Streamable HTTP: sessions by header, POST, the standing GET stream, DELETE.

What a request means is the desk's (`front/legacy.py`). The one rule: 404 is said only of a session that does not
exist for this caller, because the client answers it by starting anew.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from emceepee.eras.revisions import LEGACY, accepts_batches, primes_streams, resumes_streams
from emceepee.errors import LimitReached
from emceepee.framing.json_text import Unreadable
from emceepee.front.answers import empty, legacy_error, logged, plain_error, refuse, unreadable
from emceepee.front.exchange import Exchange, Header
from emceepee.front.guards import Acceptable, Refused
from emceepee.front.heads import Head
from emceepee.front.kept_stream import STANDING, KeptStream
from emceepee.front.kept_streams import Found, TooOld
from emceepee.front.legacy import LegacyDesk
from emceepee.front.reply import Reply
from emceepee.front.resumable import ResumableStream
from emceepee.front.shop import Shop
from emceepee.front.standing import Standing
from emceepee.front.stream import EventStream
from emceepee.protocol.messages import (
    INVALID_REQUEST,
    Failure,
    Message,
    Notification,
    Request,
    RequestId,
    Result,
    write_failure,
)
from emceepee.relay.surface import Surface
from emceepee.sessions.session import Session

_log = logging.getLogger("emceepee.front")

_TOO_OLD: Final = (
    "Last-Event-ID: what that stream said is kept no longer; whether its request was done is not known here"
)
_NO_SESSION: Final = "Missing session: send the mcp-session-id header that initialize was answered with"
_UNKNOWN_SESSION: Final = "Session '{}' not found: it has ended or never was; send initialize again"
_NO_BATCH: Final = "Batches are served on sessions of 2025-03-26 and older only"
_NO_HELLO_IN_BATCH: Final = "initialize must not be part of a batch"


class LegacyHttp:
    def __init__(self, shop: Shop, desk: LegacyDesk) -> None:
        self._shop = shop
        self._desk = desk

    async def post(
        self,
        exchange: Exchange,
        surface: Surface,
        path: str,
        head: Head,
        message: Message | list[Message | Unreadable],
        principal: str,
    ) -> None:
        acceptable = head.acceptable
        if isinstance(message, Request) and message.method == "initialize":
            await self._hello(exchange, surface, path, message, principal, acceptable)
            return
        request_id = message.id if isinstance(message, Request) else None
        session = await self._session(exchange, path, head, principal, request_id)
        if session is None:
            return
        if isinstance(message, list):
            await self._batch(exchange, surface, session, message, acceptable)
        elif isinstance(message, Request):
            reply = Reply(exchange, self._shop, acceptable, session=session)
            reply.keep_alive()
            voice = reply if acceptable.events else None
            answer = await self._desk.answer(surface, session, message, reply.notice, reply.deliveries.promise, voice)
            await (reply.nothing() if answer is None else reply.answer(200, answer))
        else:
            self._take(surface, session, message)
            await empty(exchange, 202)

    async def get(self, exchange: Exchange, surface: Surface, path: str, head: Head, principal: str) -> None:
        """The one standing stream of a session; open until either side ends it."""
        if not head.acceptable.events:
            await refuse(exchange, Refused(406, "Accept must name text/event-stream"))
            return
        session = await self._session(exchange, path, head, principal, None)
        if session is None:
            return
        try:
            found = self._place(session, head.get(b"last-event-id"))
        except TooOld:
            await refuse(exchange, Refused(410, _TOO_OLD))
            return
        if found is not None and found[0].number != STANDING:
            await self._resume(exchange, session, *found)
        else:
            await self._stand(exchange, surface, session, found)

    def _place(self, session: Session, last_event_id: str | None) -> Found | None:
        """Where the client wants to go on. An id that is not known leads to the start of what the standing stream
        kept: whoever names one has missed something."""
        if not last_event_id or not resumes_streams(session.revision):
            return None
        streams = self._shop.kept_streams.of(session)
        found = streams.find(last_event_id)
        if found is None:
            data = {"lastEventId": last_event_id[:40], "action": "returning_all_events"}
            _log.warning("event_cursor_not_found", extra={"data": data})
            return streams.standing(), 0
        return found

    async def _resume(self, exchange: Exchange, session: Session, stream: KeptStream, place: int) -> None:
        """The stream of a request, from there to its answer."""
        showing = ResumableStream(exchange, self._shop, stream, after=place, primed=False)
        showing.open()
        try:
            await exchange.gone()
        finally:
            showing.client_left()
            self._desk.directory.touch(session.id)

    async def _stand(self, exchange: Exchange, surface: Surface, session: Session, found: Found | None) -> None:
        standing = Standing.of(session)
        if standing.busy:
            if found is None or not found[1]:
                await refuse(exchange, Refused(409, "This session has an open stream already; one is served at a time"))
                return
            # Who knows where he was has lost the one that we believe to be open.
            standing.end_stream()
        stream = self._standing_stream(exchange, session, standing, found)
        stream.open()
        standing.open(stream, caught_up=found is not None and found[1] >= found[0].dropped)
        try:
            await logged(standing.start(surface), "listen_failed")
            await exchange.gone()
        finally:
            standing.closed(stream)
            stream.client_left()
            self._desk.directory.touch(session.id)

    def _standing_stream(
        self, exchange: Exchange, session: Session, standing: Standing, found: Found | None
    ) -> EventStream | ResumableStream:
        shop = self._shop
        if not resumes_streams(session.revision):
            return EventStream(exchange, shop.tasks, shop.clock, shop.settings, [])
        standing.kept = kept = shop.kept_streams.of(session).standing()
        primed = found is None and primes_streams(session.revision)
        return ResumableStream(exchange, shop, kept, after=kept.last if found is None else found[1], primed=primed)

    async def delete(self, exchange: Exchange, path: str, head: Head, principal: str) -> None:
        session = await self._session(exchange, path, head, principal, None)
        if session is not None:
            self._desk.end(session)
            await empty(exchange, 204)

    async def _hello(
        self,
        exchange: Exchange,
        surface: Surface,
        path: str,
        request: Request,
        principal: str,
        acceptable: Acceptable,
    ) -> None:
        try:
            session, answer = await self._desk.hello(surface, path, request, principal)
        except LimitReached as limit:
            await plain_error(exchange, 503, legacy_error(request.id, limit, request.method, LEGACY[-1]))
            return
        headers: list[Header] = [] if session is None else [(b"mcp-session-id", session.id.encode())]
        await Reply(exchange, self._shop, acceptable, headers).answer(200, answer)

    async def _session(
        self, exchange: Exchange, path: str, head: Head, principal: str, request_id: RequestId | None
    ) -> Session | None:
        """The session the header names; otherwise answers why not."""
        session_id = head.get(b"mcp-session-id")
        if session_id is None:
            await plain_error(exchange, 400, write_failure(request_id, INVALID_REQUEST, _NO_SESSION))
            return None
        session = self._desk.directory.find(session_id, principal, path)
        if session is None:
            await plain_error(
                exchange, 404, write_failure(request_id, INVALID_REQUEST, _UNKNOWN_SESSION.format(session_id[:64]))
            )
        return session

    def _take(self, surface: Surface, session: Session, message: Notification | Result | Failure) -> None:
        """A message that is not answered."""
        if isinstance(message, Notification):
            self._desk.told(surface, session, message)
        else:
            self._desk.answered(session, message)

    async def _batch(
        self,
        exchange: Exchange,
        surface: Surface,
        session: Session,
        items: list[Message | Unreadable],
        acceptable: Acceptable,
    ) -> None:
        if not accepts_batches(session.revision) or len(items) > self._shop.settings.max_batch:
            await plain_error(exchange, 400, write_failure(None, INVALID_REQUEST, _NO_BATCH))
            return
        reply = Reply(exchange, self._shop, acceptable, session=session)
        reply.keep_alive()
        members = [self._member(surface, session, item, reply) for item in items]
        try:
            await asyncio.gather(*(member for member in members if isinstance(member, asyncio.Task)))
        except BaseException:
            reply.deliveries.settle(False)
            raise
        answers = (member.result() if isinstance(member, asyncio.Task) else member for member in members)
        told = [answer for answer in answers if answer is not None]
        if told:
            await reply.answer(200, b"[" + b",".join(told) + b"]")
        elif any(isinstance(item, Request) for item in items):
            await reply.nothing()
        else:
            reply.drop()
            await empty(exchange, 202)

    def _member(
        self, surface: Surface, session: Session, item: Message | Unreadable, reply: Reply
    ) -> asyncio.Task[bytes | None] | bytes | None:
        """Starts one member of a batch: its answer, the task that will have it, or None where there is none."""
        if isinstance(item, Unreadable):
            return unreadable(item)
        if not isinstance(item, Request):
            self._take(surface, session, item)
            return None
        if item.method == "initialize":
            return write_failure(item.id, INVALID_REQUEST, _NO_HELLO_IN_BATCH)
        work = self._desk.answer(surface, session, item, reply.notice, reply.deliveries.promise, reply)
        return self._shop.tasks.spawn(work, "batch member")
