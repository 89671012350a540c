"""Streamable HTTP towards one server, as both eras use it: POST with an answer or a stream, GET for what comes unasked.

It has the mechanisms and knows no era: whoever speaks one sets `protocol_version`, asks for the standalone stream, and
says by `drains_abandoned` whether hanging up on a request means anything to the server. A session id that an answer
brings goes on everything after it, until `forget_session`.

The one rule: a request is never sent twice by this file. A stream is resumed where it was cut; when it cannot be, the
outcome is unknown and that is what is said.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from emceepee.backends.http_answers import SessionGone, fault_of, refusal
from emceepee.backends.http_client import HttpClient, HttpRequest
from emceepee.backends.http_endpoint import Endpoint, HttpSettings
from emceepee.backends.http_post import Outcome, Post
from emceepee.backends.http_streams import Ending, EventIntake, EventStream
from emceepee.backends.transport import GET, Header, Inbox, Origin
from emceepee.errors import BackendFault, BackendUnavailable, OutcomeUnknown
from emceepee.framing.json_text import Limits
from emceepee.protocol.messages import RequestId
from emceepee.runtime.backoff import Backoff
from emceepee.runtime.clock import Clock, Timer
from emceepee.runtime.spawn import TaskScope, bounded
from emceepee.vocabulary.names import ServerName

_log = logging.getLogger("emceepee.backends")

FIRST_RETRY_SECONDS = 1.0
LEAST_RETRY_SECONDS = 0.05


class HttpTransport:
    """Implements `transport.Transport`."""

    def __init__(
        self,
        server: ServerName,
        url: str,
        headers: Sequence[Header],
        client: HttpClient,
        clock: Clock,
        settings: HttpSettings | None = None,
        backoff: Callable[[float, float], Backoff] = Backoff,
    ) -> None:
        self.server = server
        self.drains_abandoned = False
        """Whether an abandoned request is read to its end, because closing its stream is no cancellation (legacy)."""
        self._settings = settings or HttpSettings()
        self._client = client
        self._clock = clock
        self._backoff = backoff
        self._endpoint = Endpoint(server, url, headers, client, self._settings)
        self._inbox: Inbox | None = None
        self._scope = TaskScope(f"http:{server}")
        self._listening: asyncio.Task[None] | None = None
        self._posts: set[Post] = set()
        self._streams: set[EventStream] = set()
        self._drains: dict[Post, Timer] = {}
        self._closed = False
        self.on_unreached: Callable[[BackendFault], None] = lambda fault: None
        """Hears that the standalone stream cannot be opened again, because nobody is there."""

    @property
    def children(self) -> tuple[int, ...]:
        return ()

    @property
    def session(self) -> str | None:
        return self._endpoint.session_id

    @property
    def session_id(self) -> str | None:
        return self._endpoint.session_id

    @property
    def protocol_version(self) -> str | None:
        return self._endpoint.protocol_version

    @protocol_version.setter
    def protocol_version(self, version: str | None) -> None:
        """Sent as `MCP-Protocol-Version` on everything; None where the caller gives it with each message."""
        self._endpoint.protocol_version = version

    async def start(self, inbox: Inbox) -> None:
        self._inbox = inbox

    # -- sending

    async def send(self, message: bytes, request: RequestId | None = None, headers: Sequence[Header] = ()) -> None:
        """Besides what the Protocol says, raises `HttpRefusal` (of which `SessionGone`) and `CredentialsRefused`. A
        server that takes a request with 202 answers elsewhere, if at all: this returns then."""
        await self.post(message, request, headers)

    def begin(self, message: bytes, request: RequestId, headers: Sequence[Header] = ()) -> Post:
        if self._closed or self._inbox is None:
            raise BackendUnavailable(self.server, "the connection is closed")
        post = Post(self._endpoint, self._inbox, request, self)
        post.more = headers
        self._start(post, self._endpoint.post(message, headers))
        return post

    async def post(self, message: bytes, request: RequestId | None = None, headers: Sequence[Header] = ()) -> int:
        """`send`, for whoever wants to know the HTTP status of the answer, also of one that was a message."""
        post, outcome = await self._posted(self._endpoint.post(message, headers, request is None), request)
        return post.status if outcome == "done" else await self._otherwise(post, outcome, message, headers)

    async def _otherwise(self, post: Post, outcome: Outcome, message: bytes, headers: Sequence[Header]) -> int:
        """Follow a redirect, or resume a stream that was cut; the status that came in the end."""
        request = post.request
        if outcome == "redirect":
            target = self._endpoint.redirected(post.status, post.headers)
            if target is None:
                raise refusal(self.server, post.status, post.headers, b"", request is not None)
            again = self._endpoint.post(message, headers, request is None, target)
            post, outcome = await self._posted(again, request)
            if outcome == "redirect":
                raise refusal(self.server, post.status, post.headers, b"", request is not None)
        if outcome == "cut":
            await self._resume(post)
        return post.status

    def _new(self, request: RequestId | None) -> Post:
        if self._closed or self._inbox is None:
            raise BackendUnavailable(self.server, "the connection is closed")
        return Post(self._endpoint, self._inbox, request, self)

    def _start(self, post: Post, http: HttpRequest) -> None:
        self._posts.add(post)
        exchange = self._client.start(http, post)
        if not post.over:
            post.exchange = exchange

    async def _posted(self, http: HttpRequest, request: RequestId | None) -> tuple[Post, Outcome]:
        post = self._new(request)
        waiter: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        post.waiter = waiter
        self._start(post, http)
        try:
            return post, await waiter
        except asyncio.CancelledError:
            post.abandon()
            raise
        finally:
            post.waiter = None

    # -- how a POST ends

    def over(self, post: Post, how: Outcome | BackendFault) -> None:
        """Implements `http_post.Owner`."""
        if self._ended(post):
            return
        waiter = post.waiter
        if waiter is not None:
            if waiter.done():
                return
            if isinstance(how, BackendFault):
                waiter.set_exception(how)
            else:
                waiter.set_result(how)
        elif isinstance(how, BackendFault):
            self._failed(post, how)
        elif how != "done":
            post.going_on = self._scope.spawn(self._go_on(post, how), how)

    async def _go_on(self, post: Post, how: Outcome) -> None:
        """The answer of a request that was only begun is to be had elsewhere."""
        assert post.exchange is not None, "it got that far"
        try:
            await self._otherwise(post, how, post.exchange.request.body or b"", post.more)
        except BackendFault as fault:
            self._failed(post, fault)
        finally:
            post.going_on = None

    def _failed(self, post: Post, fault: BackendFault) -> None:
        if post.request is not None and self._inbox is not None:
            self._inbox.failed(post.request, fault)

    def _ended(self, post: Post) -> bool:
        """Whether it was only being drained: then nobody waits."""
        self._posts.discard(post)
        if not self._drains:
            return False
        drain = self._drains.pop(post, None)
        if drain is not None:
            drain.cancel()
        return drain is not None

    def unwanted(self, post: Post) -> None:
        if post.going_on is not None:
            post.going_on.cancel()
        elif not post.over:
            self._abandoned(post)

    def _abandoned(self, post: Post) -> None:
        sent = post.exchange is not None and post.exchange.connection is not None
        if self.drains_abandoned and sent and not self._closed and post.exchange is not None:
            post.exchange.resume()
            self._drains[post] = self._clock.after(self._settings.drain_seconds, lambda: self._drop(post))
        else:
            self._drop(post)

    def _drop(self, post: Post) -> None:
        post.hang_up()
        self._ended(post)

    def hold(self, request: RequestId) -> None:
        """Stop reading the stream of a request, so that its server slows down; what was read already still comes."""
        for post in self._posts:
            if post.request == request and post.exchange is not None:
                post.exchange.pause()

    def release(self, request: RequestId) -> None:
        for post in self._posts:
            if post.request == request and post.exchange is not None:
                post.exchange.resume()

    # -- resuming the stream of a request

    async def _resume(self, post: Post) -> None:
        intake = post.intake
        if intake is None or intake.last_id is None:
            cut = "after an event that was too large" if intake is not None and intake.overlong else "without an answer"
            raise OutcomeUnknown(self.server, f"the stream ended {cut}")
        waits = self._backoff(FIRST_RETRY_SECONDS, self._settings.retry_seconds_at_most)
        heard, fruitful = intake.heard, True
        self._posts.add(post)
        try:
            while waits.attempts < self._settings.resume_attempts:
                await self._clock.sleep(self._pause(intake, waits, fruitful))
                if self._scope.closed:
                    break
                intake.again(Origin("resume", post.request))
                ending = await self._get(intake, post)
                if ending.how == "answered":
                    return
                if ending.how == "refused":
                    break
                fruitful = intake.heard > heard
                if fruitful:
                    heard = intake.heard
                    waits.reset()
        finally:
            self._posts.discard(post)
        lost = "the stream was cut before the answer and could not be resumed"
        raise OutcomeUnknown(self.server, lost, {"lastEventId": intake.last_id})

    def _pause(self, intake: EventIntake, waits: Backoff, fruitful: bool) -> float:
        """The server's own wish, else ours; counted as an attempt either way. A server that wishes no pause and says
        nothing is given one all the same."""
        ours = waits.next()
        if intake.retry is None:
            return ours
        wished = min(intake.retry / 1000, self._settings.retry_seconds_at_most)
        return max(wished, LEAST_RETRY_SECONDS if fruitful else ours)

    async def _get(
        self, intake: EventIntake, post: Post | None = None, first: asyncio.Future[bool] | None = None
    ) -> Ending:
        stream = EventStream(intake)
        if first is not None:
            stream.opened.add_done_callback(lambda opened: _settle(first, opened.result()))
        self._streams.add(stream)
        stream.exchange = self._client.start(self._endpoint.get(intake.last_id), stream)
        if post is not None:
            post.exchange = stream.exchange
        try:
            return await stream.ended
        finally:
            self._streams.discard(stream)
            if stream.ended.cancelled():
                stream.abandon()

    # -- the standalone stream

    def open_get_stream(self) -> asyncio.Future[bool]:
        """Listen for what comes unasked, until closed: a stream that ends is opened again, where it was, with back-off.
        The future says whether the first attempt became a stream; nobody has to await it, and it never raises."""
        first: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        if self._listening is not None:
            self._listening.cancel()
        self._listening = self._scope.spawn(self._listen(first), "get")
        self._listening.add_done_callback(lambda _: _settle(first, False))
        return first

    async def _listen(self, first: asyncio.Future[bool]) -> None:
        assert self._inbox is not None, "started"
        settings = self._settings
        intake = EventIntake(self._inbox, GET, self._endpoint.event_limits)
        waits = self._backoff(FIRST_RETRY_SECONDS, settings.retry_seconds_at_most)
        was_open = False
        while True:
            session, heard, began = self.session_id, intake.heard, self._clock.now()
            ending = await self._get(intake, None, first)
            if ending.how == "refused" and not _may_pass(ending.status):
                self._refused(ending, was_open, session)
                return
            was_open = was_open or ending.status == 200
            if ending.fault is not None and not ending.status:
                self.on_unreached(fault_of(self.server, ending.fault, is_request=False))
            fruitful = intake.heard > heard or self._clock.now() - began > settings.retry_seconds_at_most
            if fruitful:
                waits.reset()
            await self._clock.sleep(self._pause(intake, waits, fruitful))
            intake.again(GET)

    def _refused(self, ending: Ending, was_open: bool, session: str | None) -> None:
        """405 is a server without such a stream, and so is 404 where there never was one."""
        _log.info("get_stream_refused", extra={"data": {"server": self.server, "status": ending.status}})
        if ending.status == 404 and was_open and session is not None and session == self.session_id and self._inbox:
            self._inbox.lost(SessionGone(self.server, 404, "the session is gone"))

    # -- the end of a session, and of everything

    def forget_session(self) -> None:
        """Before a new `initialize`: the old session's id, version and stream are no more."""
        self._endpoint.session_id = None
        self._endpoint.protocol_version = None
        if self._listening is not None:
            self._listening.cancel()
            self._listening = None

    async def delete_session(self) -> None:
        """Tell the server that the session is over. Whatever it answers, it is."""
        if self._endpoint.session_id is None or self._inbox is None:
            return
        farewell = EventStream(EventIntake(self._inbox, GET, Limits()))
        farewell.exchange = self._client.start(self._endpoint.delete(), farewell)
        self._endpoint.session_id = None
        try:
            await farewell.ended
        finally:
            farewell.abandon()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for post in list(self._posts):
            post.give_up(self._closing_fault(post))
        for stream in list(self._streams):
            stream.abandon()
        await self._scope.close(self._settings.farewell_seconds)
        await bounded(self.delete_session(), self._settings.farewell_seconds)
        # The one holds us, and so does what the other was cancelled with.
        self._inbox = self._listening = None

    def _closing_fault(self, post: Post) -> BackendFault:
        sent = post.exchange is not None and post.exchange.connection is not None
        return (OutcomeUnknown if sent else BackendUnavailable)(self.server, "the connection was closed")


def _settle(future: asyncio.Future[bool], value: bool) -> None:
    if not future.done():
        future.set_result(value)


def _may_pass(status: int) -> bool:
    """Refusals that are about now and not about us."""
    return (status >= 500 and status != 501) or status in (408, 425, 429)
