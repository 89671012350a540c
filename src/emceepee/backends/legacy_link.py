"""A live session with a server of the handshake era, over whichever transport.

The one rule: everything here is per session: capabilities, log level and subscriptions were agreed at `initialize`
and die with it. A session that the server no longer knows (404) is lost like any other; the supervisor makes it anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import Raw

from emceepee.backends.carried import Carried, OnOutcome
from emceepee.backends.connection import Connection, Link, OnDoubt, OnNotice, identity_of
from emceepee.backends.conversation import Conversation
from emceepee.backends.hearing import CallHearing
from emceepee.backends.http_answers import SessionGone
from emceepee.backends.link_asks import LinkAsks
from emceepee.backends.recovery import Identity
from emceepee.backends.required_tasks import RequiredTasks
from emceepee.backends.streamable_http import HttpTransport
from emceepee.backends.transport import GET, PIPE, Origin
from emceepee.eras.legacy import towards_backend as wire
from emceepee.eras.legacy.asks import COMPLETE
from emceepee.eras.modern.towards_backend import filter_tools
from emceepee.errors import BackendFault, BackendTimeout, BackendUnavailable, BackendViolation
from emceepee.protocol.inbound import Debt
from emceepee.protocol.messages import Failure, Result
from emceepee.protocol.outbound import Asked
from emceepee.runtime.awaited import Awaited
from emceepee.runtime.ids import Ids
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.asks import CLOSED, DISCONNECTED, RECONNECTED, AskDoor
from emceepee.vocabulary.calls import MAY_ASK, Call
from emceepee.vocabulary.names import LOG_LEVELS, LogLevel, ServerName
from emceepee.vocabulary.notices import NOTHING, Interest, ListChanged, LogLine, Notice, ResourceUpdated
from emceepee.vocabulary.outcomes import Answered, Begun, Outcome
from emceepee.vocabulary.raw_json import write

HANDSHAKE_SECONDS = 30.0
MOST_PAGES = 100
SMALL_REQUEST_SECONDS = 10.0
"""For what we ask on our own account: a level, a subscription."""


class LegacyLink:
    """Implements `connection.Link` and `carried.Carrier`."""

    def __init__(
        self,
        conversation: Conversation,
        client_info: Raw,
        ids: Ids,
        on_lost: Callable[[Link, BackendFault], None],
        door: AskDoor = CLOSED,
    ) -> None:
        self._server = conversation.server
        self._conversation = conversation
        transport = conversation.transport
        self._http = transport if isinstance(transport, HttpTransport) else None
        if self._http is not None:
            self._http.drains_abandoned = True
        self._client_info = client_info
        self._ids = ids
        self._on_lost = on_lost
        self._asks = LinkAsks(conversation, door)
        self._required = RequiredTasks(conversation)
        self._asks.call_of_task = self._required.call_of
        self._about = About()
        self._wants: dict[Connection, Interest] = {}
        self._level: LogLevel | None = None
        self.alive = True
        self.on_doubt: OnDoubt = lambda link, fault: None
        self.leased = False
        self.on_asks_beside: Callable[[], None] = lambda: None
        self.turn: asyncio.Lock | None = None
        """Where calls in whose course it may ask are made one after the other."""
        self.marks = False
        """Whether it is told which call is which."""
        if self._http is not None:
            self._http.on_unreached = lambda fault: self.on_doubt(self, fault)

    @property
    def about(self) -> About:
        return self._about

    @property
    def identity(self) -> Identity:
        return identity_of(self._about, self._conversation.transport.session)

    @property
    def lasting(self) -> bool:
        return self._http is not None and self._http.session_id is not None

    @property
    def silent_death(self) -> bool:
        return self._http is not None

    @property
    def pending(self) -> int:
        return len(self._conversation)

    @property
    def asked(self) -> int:
        return self._conversation.asked

    @property
    def rubbish(self) -> int:
        return self._conversation.unreadable

    @property
    def children(self) -> tuple[int, ...]:
        return self._conversation.transport.children

    # -- the handshake

    async def open(self, timeout: float = HANDSHAKE_SECONDS) -> None:
        """Raises `BackendFault`, or `Refused` when the server answered `initialize` with an error."""
        params = wire.write_hello(self._client_info, self._asks.profile)
        answer = await self._conversation.ask("initialize", params, timeout)
        if isinstance(answer, Failure):
            raise Refused(self._server, answer)
        try:
            self._about = wire.read_welcome(answer.result)
        except ValueError as error:
            raise BackendViolation(self._server, f"its answer to initialize is no welcome: {error}") from None
        self._asks.revision = self._about.revision
        self._required.met(self._about)
        if self._http is not None:
            self._http.protocol_version = self._about.revision
        await self._conversation.tell("notifications/initialized")
        if self._http is not None:
            # Some servers put what belongs to a call here; without a reader it would be dropped in silence.
            self._http.open_get_stream()

    # -- requests

    async def request(self, call: Call, on_notice: OnNotice | None, timeout: float, level: LogLevel | None) -> Answered:
        if call.log_level is not None:
            await self._at_least(call.log_level)
        if self._knows_too_little_for(call):
            await self._learn_tools()
        if self.turn is not None and call.method in MAY_ASK:
            async with self.turn:
                return await self._carried(call, on_notice, timeout)
        return await self._carried(call, on_notice, timeout)

    async def _carried(self, call: Call, on_notice: OnNotice | None, timeout: float) -> Answered:
        outcome: Awaited[Answered] = Awaited()
        carried = Carried(self, self._conversation, call, on_notice, timeout, outcome)
        carried.ask()
        return await outcome.value(carried.abandon)

    def begin(
        self, call: Call, on_notice: OnNotice | None, timeout: float, level: LogLevel | None, ended: OnOutcome
    ) -> Begun | None:
        if self.turn is not None or (call.log_level is not None and self._too_quiet_for(call.log_level)):
            return None
        if self._knows_too_little_for(call):
            return None
        carried = Carried(self, self._conversation, call, on_notice, timeout, ended)
        carried.ask()
        return carried

    # -- for `Carried`

    def ask(self, carried: Carried) -> Asked:
        call, on_notice = carried.call, carried.on_notice
        method, said = call.method, call
        if self._required.offered and method == "tools/call":
            method, said = self._required.question(carried)
        revision = self._about.revision
        span = self._ids.span() if "traceparent" in call.meta else None
        wants_progress = call.wants_progress and on_notice is not None
        marks = self.marks
        return self._conversation.begin(
            method,
            (lambda name: wire.write_call(said, name if wants_progress else None, revision, span, marks and name))
            if wants_progress or marks
            else wire.write_call(said, None, revision, span),
            carried.timeout,
            carried,
            hearing=None if on_notice is None and not self._asks.profile else self._hearing(call, on_notice),
        )

    def read(self, carried: Carried, answer: Result | Failure) -> Outcome | None:
        if self._required.offered and carried.call.method == "tools/call" and self._required.goes_on(carried, answer):
            carried.ask_again()
            return None
        return self._outcome(carried.call, answer, self._about.revision)

    def failed(self, carried: Carried, fault: BackendFault) -> BackendFault:
        if isinstance(fault, SessionGone):
            fault = self._expired(fault)
        else:
            self._asks.call_is_over(carried.call)
        self._required.given_up(carried)
        if self.alive:
            self.on_doubt(self, fault)
        return fault

    def given_up(self, carried: Carried) -> None:
        self._required.given_up(carried)
        self._asks.call_is_over(carried.call)

    def _expired(self, gone: SessionGone) -> BackendUnavailable:
        """404 says that the session is gone, so the request was not executed and may be sent again, in another."""
        if self.alive:
            self.lost(gone)
        return BackendUnavailable(self._server, "it forgot our session, and did not execute the request")

    async def ping(self, seconds: float) -> None:
        try:
            await self._conversation.ask("ping", None, seconds)
        except SessionGone as gone:
            self._expired(gone)
            raise

    def _hearing(self, call: Call, on_notice: OnNotice | None) -> CallHearing:
        hearing = CallHearing(on_notice or self._changed, self._changed, wire.read_notice, wire.read_progress)
        if self._asks.profile:
            hearing.call = call
            hearing.takes_logs = on_notice is not None
        return hearing

    def _outcome(self, call: Call, answer: Result | Failure, revision: str) -> Outcome:
        if isinstance(answer, Failure):
            failed = wire.read_failed(call.method, answer.error)
            if failed.code == wire.URL_ELICITATION_REQUIRED and call.ear is not None:
                self._asks.required(call, failed)
            return failed
        try:
            done = wire.read_done(call.method, answer.result, revision, answer.fields)
        except ValueError as error:
            raise BackendViolation(self._server, f"its answer to {call.method} cannot be taken: {error}") from None
        # Header annotations mean nothing in this era; an invalid one must not cost a modern client the tool.
        if call.method != "tools/list":
            return done
        if self._required.offered:
            self._required.note(done.payload)
        return filter_tools(done, "pipe").done

    def _knows_too_little_for(self, call: Call) -> bool:
        """Of a server that runs tools as tasks: which of them it runs no other way."""
        return self._required.offered and not self._required.listed and call.method == "tools/call"

    async def _learn_tools(self) -> None:
        params: dict[str, object] = {}
        for _ in range(MOST_PAGES):
            try:
                answer = await self._small("tools/list", params)
            except BackendTimeout:
                # Without its list it still says with its refusal what it wants.
                return
            if isinstance(answer, Failure):
                self._required.listed = True
                return
            page = wire.read_done("tools/list", answer.result, self._about.revision, answer.fields).payload
            self._required.note(page)
            cursor = page.get("nextCursor")
            if cursor is None:
                return
            params = {"cursor": cursor}

    async def _small(self, method: str, params: dict[str, object]) -> Result | Failure:
        try:
            return await self._conversation.ask(method, write(params), SMALL_REQUEST_SECONDS)
        except SessionGone as gone:
            raise self._expired(gone) from None

    # -- log level: of a shared session the most verbose that anybody asked for, never lowered for one call

    def _too_quiet_for(self, level: LogLevel) -> bool:
        return self._level is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(self._level)

    async def _at_least(self, level: LogLevel) -> None:
        if self._too_quiet_for(level):
            await self._set_level(level)

    async def _set_level(self, level: LogLevel) -> None:
        if self._about.offers("logging") and level != self._level:
            self._level = level
            await self._small("logging/setLevel", {"level": level})

    async def set_log_level(self, who: Connection, level: LogLevel) -> None:
        if len(self._wants) > 1:
            await self._at_least(level)
        else:
            await self._set_level(level)

    # -- what comes unasked

    async def want(self, who: Connection, interest: Interest) -> Interest:
        before = self._subscribed()
        self._wants[who] = interest
        after = self._subscribed()
        refused = set()
        if self._about.offers("resources"):
            for uri in sorted(after - before):
                answer = await self._small("resources/subscribe", {"uri": uri})
                if isinstance(answer, Failure):
                    refused.add(uri)
            for uri in sorted(before - after):
                await self._small("resources/unsubscribe", {"uri": uri})
        else:
            refused = set(interest.uris)
        honoured = Interest(
            frozenset(kind for kind in interest.lists if self._about.offers(kind)), interest.uris - refused
        )
        self._wants[who] = honoured
        return honoured

    def _subscribed(self) -> set[str]:
        return set().union(*(interest.uris for interest in self._wants.values()))

    def told(self, method: str, params: Raw | None, origin: Origin) -> None:
        if method == COMPLETE:
            self._asks.completed(params)
            return
        notice = wire.read_notice(method, params)
        if notice is None:
            return
        if isinstance(notice, LogLine) and origin in (PIPE, GET):
            hearing = self._conversation.only_listener()
            if hearing is not None and origin == PIPE:
                hearing.told(method, params)
                return
        self._changed(notice)

    def _changed(self, notice: Notice) -> None:
        if isinstance(notice, ListChanged) and notice.kind == "tools":
            self._required.forget()
        for who, interest in list(self._wants.items()):
            if not isinstance(notice, ResourceUpdated) or _covers(interest.uris, notice.uri):
                who.told(notice)

    def raised(self, owed: Debt) -> Outcome | None:
        if owed.origin == GET:
            self.on_asks_beside()
        return self._asks.raised(owed, self.leased)

    def ask_cancelled(self, owed: Debt) -> None:
        self._asks.cancelled(owed)

    # -- the end

    def lost(self, fault: BackendFault) -> None:
        self.alive = False
        # Whoever is told of the loss may refuse what was asked: there is nobody who would understand it.
        self._asks.write_off()
        self._on_lost(self, fault)
        # A session that was forgotten is made anew at once, and is told as a loss only where that fails.
        self._asks.void(RECONNECTED if isinstance(fault, SessionGone) else DISCONNECTED)

    def void_asks(self) -> None:
        self._asks.void(RECONNECTED)

    async def roots_changed(self) -> None:
        if "roots_news" in self._asks.profile:
            await self._conversation.tell("notifications/roots/list_changed")

    async def leave(self, who: Connection) -> None:
        """Who shares the session may use it without wishing anything of it, so nothing here says that it is over."""
        if who not in self._wants:
            return
        try:
            await self.want(who, NOTHING)
        finally:
            del self._wants[who]

    async def close(self) -> None:
        self.alive = False
        self._wants.clear()
        # Whatever else ends a connection has ended what was asked over it before.
        self.void_asks()
        await self._conversation.close()


class Refused(BackendViolation):
    """The server answered `initialize` with an error; the probe looks at its code."""

    def __init__(self, server: ServerName, answer: Failure) -> None:
        super().__init__(server, f"it refused initialize: {answer.error.message} ({answer.error.code})")
        self.answer = answer


def _covers(uris: frozenset[str], uri: str) -> bool:
    """A server may name a sub-resource of what was subscribed."""
    return uri in uris or any(uri.startswith(wished.rstrip("/") + "/") for wished in uris)
