"""Everything we say to a server of the stateless era: self-contained requests, and one listen stream for all scopes.

The one rule: no request leans on an earlier one. What a scope wished (a log level, notices) is kept by its handle and
stamped on, or widened into, what goes out; so one link serves every scope.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from msgspec import Raw

from emceepee.backends.carried import Carried, OnOutcome
from emceepee.backends.connection import Connection, Link, OnDoubt, OnNotice, identity_of, tell_all
from emceepee.backends.conversation import Conversation, Hearing
from emceepee.backends.far_task import FollowedTask
from emceepee.backends.hearing import CallHearing
from emceepee.backends.listening import Listening
from emceepee.backends.recovery import Identity
from emceepee.backends.transport import Header, Origin
from emceepee.eras.asks import undeclared
from emceepee.eras.capabilities import declares_tasks
from emceepee.eras.modern import towards_backend as wire
from emceepee.eras.modern.far_tasks import CANCEL, FarTask, named, read_created, write_about
from emceepee.eras.modern.headers import HeaderMap
from emceepee.eras.modern.listen import ACKNOWLEDGED
from emceepee.errors import BackendFault, BackendViolation
from emceepee.protocol.inbound import Debt
from emceepee.protocol.messages import Failure, Result
from emceepee.protocol.outbound import Asked
from emceepee.runtime.awaited import Awaited
from emceepee.runtime.clock import Clock
from emceepee.runtime.ids import Ids
from emceepee.runtime.spawn import TaskScope
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.names import LogLevel
from emceepee.vocabulary.notices import NOTHING, Interest, ListChanged, LogLine, Notice, ResourceUpdated
from emceepee.vocabulary.outcomes import Answered, Begun, Done, InputNeeded, Outcome
from emceepee.vocabulary.profiles import NO_ASKS, AskProfile
from emceepee.vocabulary.raw_json import Fields, NotThatShape, read_fields, read_items, read_text
from emceepee.vocabulary.tasks import TAKE_TASKS

_log = logging.getLogger("emceepee.backends")

HEADER_MISMATCH = -32020
RELIST_SECONDS = 30.0
ABOUT_SECONDS = 30.0


class ModernLink:
    """Implements `connection.Link` and `carried.Carrier`."""

    def __init__(
        self,
        conversation: Conversation,
        about: About,
        client_info: Raw,
        clock: Clock,
        ids: Ids,
        on_lost: Callable[[Link, BackendFault], None],
        over_http: bool,
    ) -> None:
        self._server = conversation.server
        self._conversation = conversation
        self._about = about
        self._client_info = client_info
        self._ids = ids
        self._on_lost = on_lost
        self._over_http = over_http
        self._header_maps: dict[str, HeaderMap] = {}
        self._tools_seen = False
        self._wants: dict[Connection, Interest] = {}
        self._tasks = TaskScope(f"link:{self._server}")
        self._clock = clock
        self._followed: dict[Carried, FollowedTask] = {}
        self._listening = Listening(self._server, self._listen, clock, self._changed, self._after_a_gap)
        self.alive = True
        self.on_doubt: OnDoubt = lambda link, fault: None
        self.leased = False
        self.on_asks_beside: Callable[[], None] = lambda: None

    @property
    def about(self) -> About:
        return self._about

    @property
    def identity(self) -> Identity:
        return identity_of(self._about, self._conversation.transport.session)

    @property
    def lasting(self) -> bool:
        return False

    @property
    def silent_death(self) -> bool:
        return self._over_http

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

    async def ping(self, seconds: float) -> None:
        """This era has no ping; what every server answers is who it is."""
        revision = self._about.revision
        await self._conversation.ask(
            "server/discover",
            wire.write_discover_params(self._client_info),
            seconds,
            headers=wire.headers("server/discover", {}, revision) if self._over_http else (),
        )

    # -- requests

    async def request(self, call: Call, on_notice: OnNotice | None, timeout: float, level: LogLevel | None) -> Answered:
        if call.log_level is None and level is not None:
            call.log_level = level
        if self._over_http and call.method == "tools/call" and not self._tools_seen:
            await self._learn_tools(call.caller)
        outcome: Awaited[Answered] = Awaited()
        carried = Carried(self, self._conversation, call, on_notice, timeout, outcome)
        carried.ask()
        return await outcome.value(carried.abandon)

    def begin(
        self, call: Call, on_notice: OnNotice | None, timeout: float, level: LogLevel | None, ended: OnOutcome
    ) -> Begun | None:
        if self._over_http and call.method == "tools/call" and not self._tools_seen:
            return None
        if call.log_level is None and level is not None:
            call.log_level = level
        carried = Carried(self, self._conversation, call, on_notice, timeout, ended)
        carried.ask()
        return carried

    # -- for `Carried`

    def ask(self, carried: Carried) -> Asked:
        call, on_notice = carried.call, carried.on_notice
        revision, info = self._about.revision, self._client_info
        span = self._ids.span() if "traceparent" in call.meta else None
        takes = call.tasks in TAKE_TASKS and declares_tasks(self._about.capabilities)
        return self._conversation.begin(
            call.method,
            (lambda token: wire.write_call(call, token, revision, info, span, takes))
            if call.wants_progress and on_notice is not None
            else wire.write_call(call, None, revision, info, span, takes),
            carried.timeout,
            carried,
            hearing=None
            if on_notice is None
            else CallHearing(on_notice, self._changed, wire.read_notice, wire.read_progress),
            headers=self._headers(call),
        )

    def _headers(self, call: Call) -> Sequence[Header]:
        if not self._over_http:
            return ()
        return wire.headers(call.method, call.params, self._about.revision, self._header_map(call))

    def read(self, carried: Carried, answer: Result | Failure) -> Answered | None:
        call = carried.call
        if isinstance(answer, Failure):
            if answer.error.code == HEADER_MISMATCH and call.method == "tools/call" and carried.again is None:
                carried.again = self._tasks.spawn(self._once_more(carried), "once more")
                return None
            return wire.read_failed(call.method, answer.error)
        if call.tasks in TAKE_TASKS and (made := read_created(answer.result)) is not None:
            carried.again = self._tasks.spawn(self._follow(carried, made), "far task")
            return None
        done = self._read(call, answer)
        return self._offered(done) if call.method == "tools/list" and type(done) is Done else done

    async def _once_more(self, carried: Carried) -> None:
        """Its schema changed under us: what we mirror into headers is made from the list, so read it again."""
        try:
            await self._learn_tools(carried.call.caller)
        except BackendFault as fault:
            carried(fault)
        else:
            carried.ask_again()

    def failed(self, carried: Carried, fault: BackendFault) -> BackendFault:
        if self.alive:
            self.on_doubt(self, fault)
        return fault

    def given_up(self, carried: Carried) -> None:
        self._let_go(carried)

    # -- tasks that the server makes of calls

    async def _follow(self, carried: Carried, made: FarTask) -> None:
        async def ask(method: str, task_id: str, answers: Fields | None = None) -> Result | Failure:
            return await self._ask_about(method, task_id, carried.call.asks, answers)

        self._followed[carried] = followed = FollowedTask(self._server, made, carried, ask, self._clock)
        try:
            await followed.follow()
        finally:
            self._let_go(carried)

    def _let_go(self, carried: Carried) -> None:
        followed = self._followed.pop(carried, None)
        if followed is not None and not followed.known_to_be_over and self.alive:
            self._tasks.spawn(self._cancel(followed.id), "cancel far task")

    async def _cancel(self, task_id: str) -> None:
        try:
            await self._ask_about(CANCEL, task_id, NO_ASKS)
        except BackendFault as fault:
            _log.info("far_task_not_cancelled", extra={"data": {"server": self._server, "error": fault.detail}})

    async def _ask_about(
        self, method: str, task_id: str, profile: AskProfile, answers: Fields | None = None
    ) -> Result | Failure:
        revision = self._about.revision
        return await self._conversation.ask(
            method,
            write_about(task_id, revision, self._client_info, profile, answers),
            ABOUT_SECONDS,
            headers=wire.headers(method, named(task_id), revision) if self._over_http else (),
        )

    def _read(self, call: Call, answer: Result) -> Done | InputNeeded:
        try:
            return wire.read_done(call.method, answer.result, self._about.revision, answer.fields)
        except wire.Incomplete as unfinished:
            if unfinished.result_type != "input_required":
                raise self._untaken(call.method, unfinished) from None
            return self._needed(call, unfinished)
        except ValueError as error:
            raise self._untaken(call.method, error) from None

    def _needed(self, call: Call, unfinished: wire.Incomplete) -> Done | InputNeeded:
        try:
            return wire.read_input_needed(call, unfinished)
        except ValueError as error:
            # What was not declared must not be asked; a model is told of it as of any tool that fails.
            asking = None if call.relays_asks else wire.tool_that_asks(call.method, unfinished)
            if asking is None:
                raise self._untaken(call.method, error) from None
            return asking

    def _untaken(self, method: str, error: ValueError) -> BackendViolation:
        return BackendViolation(self._server, f"its answer to {method} cannot be taken: {error}")

    # -- tool headers

    def _header_map(self, call: Call) -> HeaderMap | None:
        if not self._header_maps or call.method != "tools/call":
            return None
        return self._header_maps.get(read_text(call.params.get("name")) or "")

    async def _learn_tools(self, caller: Caller) -> None:
        self._tools_seen = True
        if not self._about.offers("tools"):
            return
        self._header_maps.clear()
        cursor: Raw | None = None
        for _ in range(100):
            call = Call("tools/list", {} if cursor is None else {"cursor": cursor}, caller)
            params = wire.write_call(call, None, self._about.revision, self._client_info)
            headers = self._headers(call)
            answer = await self._conversation.ask(call.method, params, RELIST_SECONDS, headers=headers)
            if isinstance(answer, Failure):
                return
            done = self._read(call, answer)
            if not isinstance(done, Done):
                return
            self._learn(done)
            cursor = done.payload.get("nextCursor")
            if cursor is None:
                return

    def _offered(self, done: Done) -> Done:
        """A page of tools without those that a client could not call over HTTP."""
        self._learn(done)
        listing = wire.filter_tools(done, "http" if self._over_http else "pipe")
        for name, reason in listing.dropped:
            data = {"server": self._server, "tool": name, "reason": reason}
            _log.warning("tool_not_offered" if self._over_http else "tool_annotation_dropped", extra={"data": data})
        return listing.done

    def _learn(self, done: Done) -> None:
        self._tools_seen = True
        try:
            tools = [read_fields(tool) for tool in read_items(done.payload.get("tools") or b"[]")]
        except NotThatShape:
            return
        for tool in tools:
            name, schema = read_text(tool.get("name")), tool.get("inputSchema")
            if name is None or schema is None:
                continue
            found = wire.compile_header_map(schema)
            if isinstance(found, HeaderMap) and found.params:
                self._header_maps[name] = found
            else:
                self._header_maps.pop(name, None)

    async def set_log_level(self, who: Connection, level: LogLevel) -> None:
        """Nothing to send: the handle's level is stamped on each of its requests."""

    # -- what comes unasked

    async def want(self, who: Connection, interest: Interest) -> Interest:
        honoured = Interest(
            frozenset(kind for kind in interest.lists if self._about.offers(kind)),
            interest.uris if self._about.offers("resources") else frozenset(),
        )
        self._wants[who] = honoured
        self._listening.wish(self._union())
        return honoured

    def _union(self) -> Interest:
        union = NOTHING
        for interest in self._wants.values():
            union |= interest
        return union

    async def _listen(self, interest: Interest, hearing: Hearing) -> Result | Failure:
        revision = self._about.revision
        try:
            return await self._conversation.ask(
                "subscriptions/listen",
                wire.write_listen(interest, revision, self._client_info),
                None,
                hearing=hearing,
                headers=wire.headers("subscriptions/listen", {}, revision) if self._over_http else (),
            )
        except BackendFault as fault:
            self.on_doubt(self, fault)
            raise

    def _after_a_gap(self) -> None:
        for who, interest in list(self._wants.items()):
            tell_all(who, interest)

    def told(self, method: str, params: Raw | None, origin: Origin) -> None:
        if method == ACKNOWLEDGED:
            self._listening.acknowledged_elsewhere(params)
            return
        notice = wire.read_notice(method, params)
        if isinstance(notice, LogLine):
            # A pipe does not say for which request; only a single listener makes that certain.
            hearing = self._conversation.only_listener()
            if hearing is not None:
                hearing.told(method, params)
        elif notice is not None:
            self._changed(notice)

    def _changed(self, notice: Notice) -> None:
        if isinstance(notice, ListChanged) and notice.kind == "tools":
            self._tools_seen = False
        for who, interest in list(self._wants.items()):
            if wanted(interest, notice):
                who.told(notice)

    def raised(self, owed: Debt) -> Outcome | None:
        """In this era servers ask in their results."""
        return undeclared(owed.method)

    def ask_cancelled(self, owed: Debt) -> None:
        pass

    # -- the end

    def lost(self, fault: BackendFault) -> None:
        self.alive = False
        self._on_lost(self, fault)

    def void_asks(self) -> None:
        """Nothing is asked over it."""

    async def roots_changed(self) -> None:
        """Nobody is told in this era: roots are asked for when they are needed."""

    async def leave(self, who: Connection) -> None:
        self._wants.pop(who, None)
        self._listening.wish(self._union())

    async def close(self) -> None:
        self.alive = False
        self._wants.clear()
        await self._listening.close()
        await self._tasks.close()
        await self._conversation.close()


def wanted(interest: Interest, notice: Notice) -> bool:
    match notice:
        case ListChanged(kind=kind):
            return kind in interest.lists
        case ResourceUpdated(uri=uri):
            # A server may name a sub-resource of what was subscribed.
            return uri in interest.uris or any(uri.startswith(wished.rstrip("/") + "/") for wished in interest.uris)
    return False
