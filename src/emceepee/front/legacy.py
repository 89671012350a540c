"""The desk for legacy clients: what one session may ask, and what it is answered, whatever carries it.

HTTP and its headers are in `front/legacy_http.py`, pipes in `front/stdio.py`. The one rule: a request is answered
once or called off by its own session, and losing the wire it came on is neither.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

from emceepee.eras.asks import read_profile
from emceepee.eras.legacy import towards_client as legacy
from emceepee.eras.legacy.tasks import METHODS as TASK_METHODS
from emceepee.eras.requests import ReadCall
from emceepee.eras.revisions import LATEST_LEGACY
from emceepee.errors import ClientFault, LimitReached
from emceepee.front.answers import legacy_answer, legacy_error, logged
from emceepee.front.asking import Asking, Voice
from emceepee.front.deliveries import Promise, promised
from emceepee.front.legacy_tasks import answer_created, answer_task_request
from emceepee.front.shop import Shop
from emceepee.front.standing import Standing
from emceepee.front.telling import Rising, coalescing_key
from emceepee.protocol.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    Failure,
    Notification,
    Request,
    RequestId,
    Result,
    write_failure,
    write_result,
)
from emceepee.relay.surface import Surface
from emceepee.sessions.directory import Directory
from emceepee.sessions.in_flight import until_called_off
from emceepee.sessions.session import Session
from emceepee.vocabulary.asks import NO_ASKS, AskProfile, RaisedAsk, Withdraw
from emceepee.vocabulary.names import at_least
from emceepee.vocabulary.notices import LogLine, Notice
from emceepee.vocabulary.outcomes import Answered, Done, Failed, failed
from emceepee.vocabulary.raw_json import EMPTY_OBJECT, NotThatShape, read_fields, read_value
from emceepee.vocabulary.tasks import GoesOn

Tell: TypeAlias = Callable[[bytes, str | None], None]
"""Takes a notification for the client and the key it may be coalesced by."""


_MAX_HELLO: Final = 64 * 1024
"""A session keeps what its client declared for as long as it lives; real ones declare a few hundred bytes."""


_CALLING_OFF_SECONDS: Final = 1.0


class LegacyDesk:
    """Serves all sessions of all surfaces."""

    def __init__(self, shop: Shop, directory: Directory) -> None:
        self._shop = shop
        self.directory = directory

    async def hello(
        self, surface: Surface, path: str, request: Request, principal: str
    ) -> tuple[Session | None, bytes]:
        """`initialize`: a new session and its welcome, or no session and why not. Raises `LimitReached`."""
        try:
            if request.params is not None and len(memoryview(request.params)) > _MAX_HELLO:
                raise ClientFault(INVALID_PARAMS, f"initialize: params are larger than {_MAX_HELLO} bytes")
            hello = legacy.read_hello(request.params)
        except ClientFault as fault:
            return None, legacy_error(request.id, fault, request.method, LATEST_LEGACY)
        session = self.directory.open(path, principal, hello.revision, hello.capabilities, hello.client_info)
        session.forget = surface.forget
        session.asks = read_profile(session.caller.capabilities, session.revision)
        # Held against the idle sweep, and against a second request of this id; it cannot be called off.
        session.in_flight.begin(request.id, can_be_called_off=False)
        welcomed = False

        async def welcome() -> bytes:
            nonlocal welcomed
            description = await surface.describe(session.caller)
            welcomed = True
            offered, info = description.capabilities, self._shop.server_info
            return write_result(request.id, legacy.write_welcome(hello, offered, info, description.instructions))

        try:
            body = await legacy_answer(request, hello.revision, welcome())
        finally:
            session.in_flight.finish(request.id)
            if not welcomed:
                self.end(session)
        return (session if welcomed else None), body

    async def answer(
        self,
        surface: Surface,
        session: Session,
        request: Request,
        tell: Tell,
        promise: Promise | None = None,
        voice: Voice | None = None,
    ) -> bytes | None:
        """One request to its end: the response, or None when it was called off and is never answered. What depends on
        the response arriving is promised first. What its server asks meanwhile goes out by the voice."""
        try:
            running = session.in_flight.begin(request.id)
        except (ClientFault, LimitReached) as error:
            return legacy_error(request.id, error, request.method, session.revision)
        self.directory.touch(session.id)
        try:
            work = self._answered(surface, session, request, tell, promise, voice)
            return await until_called_off(running, legacy_answer(request, session.revision, work))
        finally:
            session.in_flight.finish(request.id)
            self.directory.touch(session.id)

    async def _answered(
        self,
        surface: Surface,
        session: Session,
        request: Request,
        tell: Tell,
        promise: Promise | None,
        voice: Voice | None,
    ) -> bytes:
        match request.method:
            case "ping":
                return write_result(request.id, EMPTY_OBJECT)
            case "logging/setLevel":
                await self._set_level(surface, session, request)
                return write_result(request.id, EMPTY_OBJECT)
            case "resources/subscribe" | "resources/unsubscribe":
                await self._subscribe(surface, session, request)
                return write_result(request.id, EMPTY_OBJECT)
            case method if method in TASK_METHODS:
                return await answer_task_request(surface.tasks, session, request, self._shop, voice)
            case _:
                return await self._carried(surface, session, request, tell, promise, voice)

    async def _carried(
        self,
        surface: Surface,
        session: Session,
        request: Request,
        tell: Tell,
        promise: Promise | None,
        voice: Voice | None,
    ) -> bytes:
        read = self.read(session, request)
        teller = Teller(session, read.token, tell)
        if session.asks and (voice is not None or _listens(session) or read.call.tasks == "asks"):
            read.call.asks, read.call.ear = session.asks, teller
            teller.asking, teller.voice = Asking.of(session, self._shop.clock), voice
        outcome = await surface.carry(read.call, teller)
        return self.written(surface, session, request, outcome, promise)

    def read(self, session: Session, request: Request) -> ReadCall:
        """What is to be carried. Raises `ClientFault`."""
        read = legacy.read_call(request, session.caller, session.revision)
        if read.workspace is not None:
            read.call.caller = self._shop.placed(session.caller, read.workspace)
        return read

    def written(
        self, surface: Surface, session: Session, request: Request, outcome: Answered | GoesOn, promise: Promise | None
    ) -> bytes:
        """The response that says how it ended."""
        if isinstance(outcome, Done):
            done, revision = outcome, session.revision
            if done.delivery is None:
                return write_result(request.id, legacy.write_done(request.method, done, revision))
            return promised(
                done.delivery,
                promise,
                lambda: write_result(request.id, legacy.write_done(request.method, done, revision)),
            )
        if isinstance(outcome, GoesOn):
            return answer_created(surface.tasks, session, request, outcome)
        ended = failed(outcome)
        instead = legacy.result_instead(request.method, ended, session.asks)
        if instead is not None:
            return write_result(request.id, instead)
        return legacy_error(request.id, ended, request.method, session.revision)

    async def _set_level(self, surface: Surface, session: Session, request: Request) -> None:
        level = legacy.read_level(request.params)
        await surface.set_log_level(session.caller, level)
        session.log_level = level

    async def _subscribe(self, surface: Surface, session: Session, request: Request) -> None:
        uri = legacy.read_subscribed(request.method, request.params)
        standing = Standing.of(session)
        if request.method == "resources/subscribe":
            await standing.subscribe(surface, uri, self.directory.settings.max_subscriptions)
        else:
            await standing.unsubscribe(surface, uri)

    def told(self, surface: Surface, session: Session, notification: Notification) -> None:
        """A notification of the client. What we do not know is ignored, as JSON-RPC wants it."""
        self.directory.touch(session.id)
        match notification.method:
            case "notifications/initialized":
                session.step("initialized")
                if session.asks:
                    Asking.of(session, self._shop.clock)
                if isinstance(session.standing, Standing):
                    session.standing.flush()
            case "notifications/cancelled":
                request_id = cancelled_id(notification)
                if (request_id is None or not session.in_flight.call_off(request_id)) and isinstance(
                    session.asking, Asking
                ):
                    session.asking.told(notification)
            case "notifications/progress" if isinstance(session.asking, Asking):
                session.asking.told(notification)
            case "notifications/roots/list_changed" if session.ready:
                self._shop.tasks.spawn(logged(self._roots_changed(surface, session), "roots_changed_failed"), "roots")

    async def _roots_changed(self, surface: Surface, session: Session) -> None:
        """Whoever was promised to be told, is, and may ask for them while he is."""
        await surface.roots_changed(session.caller)

    def answered(self, session: Session, message: Result | Failure) -> None:
        """A response of the client, to something that we asked it."""
        self.directory.touch(session.id)
        if isinstance(session.asking, Asking):
            session.asking.answered(message)

    def end(self, session: Session) -> None:
        """The client wants no more: gone at once, cleaned up behind it."""
        self.directory.end(session.id, self.clean)

    def end_streams(self) -> None:
        """We go down: every standing stream ends; the sessions stay until they are closed."""
        for session in self.directory.sessions():
            if isinstance(session.standing, Standing):
                session.standing.end_stream()

    async def end_calls(self) -> None:
        """Call off whatever runs, and wait until each call has said so to its server, but not long."""
        for session in self.directory.sessions():
            session.in_flight.call_off_all()
        running = [session.in_flight for session in self.directory.sessions() if len(session.in_flight)]
        await asyncio.gather(*(calls.emptied(_CALLING_OFF_SECONDS) for calls in running))

    async def clean(self, session: Session) -> None:
        """What hangs on a session that is over: calls first, then what it listens to, then its connections."""
        session.in_flight.call_off_all()
        if session.asking is not None:
            session.asking.close()
        if isinstance(session.standing, Standing):
            await session.standing.close()
        if session.streams is not None:
            session.streams.close()
        if session.forget is not None:
            await session.forget(session.id)


def _listens(session: Session) -> bool:
    return session.standing is not None and session.standing.busy


class Teller:
    """`OnNotice` of one call: the right token, the session's log level, rising progress. And its `Ear`, where the
    client can be asked."""

    __slots__ = ("_rising", "_session", "_tell", "_token", "asking", "voice")

    def __init__(self, session: Session, token: RequestId | None, tell: Tell) -> None:
        self._session = session
        self._token = token
        self._tell = tell
        self._rising: Rising | None = None
        self.asking: Asking | None = None
        self.voice: Voice | None = None

    @property
    def hears(self) -> AskProfile:
        return self._session.asks if self.asking is not None and self._session.ready else NO_ASKS

    def ask(self, ask: RaisedAsk) -> Withdraw | Failed:
        assert self.asking is not None
        return self.asking.ask(ask, self.voice)

    def completed(self, elicitation_id: str) -> None:
        assert self.asking is not None
        self.asking.completed(elicitation_id, self.voice)

    def __call__(self, notice: Notice) -> None:
        level = self._session.log_level
        if isinstance(notice, LogLine) and level is not None and not at_least(notice.level, level):
            return
        if self._rising is None:
            self._rising = Rising()
        if not self._rising.lets(notice):
            return
        message = legacy.write_notice(notice, self._token, self._session.revision)
        if message is not None:
            self._tell(message, coalescing_key(notice))


def cancelled_id(notification: Notification) -> RequestId | None:
    """Which request a `notifications/cancelled` names, by exact type, or None when it names none."""
    try:
        fields = read_fields(notification.params or EMPTY_OBJECT)
        value = read_value(fields["requestId"]) if "requestId" in fields else None
    except NotThatShape:
        return None
    return value if type(value) is int or type(value) is str else None


def not_initialized(request_id: RequestId) -> bytes:
    return write_failure(
        request_id, INVALID_REQUEST, "Not initialized: the first request of a legacy client is initialize"
    )
