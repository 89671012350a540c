"""The desk for modern clients: each request stands for itself.

HTTP and its headers are in `front/modern_http.py`, pipes in `front/stdio.py`. The one rule: nothing is remembered of a
client between two requests; what a request needs to know came with it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from emceepee.eras.meta import split_meta
from emceepee.eras.modern import towards_client as modern
from emceepee.eras.modern.tasks import METHODS as TASK_METHODS
from emceepee.eras.modern.tasks import write_created
from emceepee.eras.refusal import Refusal
from emceepee.eras.requests import ReadCall
from emceepee.errors import ClientFault, LimitReached
from emceepee.front.answers import modern_answer, modern_error, refusal
from emceepee.front.deliveries import Promise, promised
from emceepee.front.latest import Latest
from emceepee.front.modern_tasks import answer_task_request
from emceepee.front.shop import Shop
from emceepee.front.telling import Rising, coalescing_key
from emceepee.protocol.messages import INTERNAL_ERROR, Request, RequestId, write_result
from emceepee.relay.hold import Parked
from emceepee.relay.surface import Listener, Surface, Unknown
from emceepee.relay.task_room import Following
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.names import LogLevel
from emceepee.vocabulary.notices import Interest, Notice
from emceepee.vocabulary.outcomes import Answered, Done, InputNeeded
from emceepee.vocabulary.raw_json import EMPTY_OBJECT, Fields, NotThatShape, read_fields, read_text
from emceepee.vocabulary.tasks import GoesOn

Tell: TypeAlias = Callable[[bytes, str | None], None]
Headers: TypeAlias = Mapping[str, Sequence[str]]

LISTEN = "subscriptions/listen"


class Outlet(Protocol):
    """Where a listen stream goes: an event stream of its own, or standard output."""

    def notice(self, message: bytes, key: str | None) -> None: ...

    def answer(self, message: bytes) -> None: ...

    def end(self) -> None: ...


class ModernDesk:
    """Serves all modern requests of all surfaces."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._calls = 0
        self._listens: set[Listening] = set()

    @property
    def calls(self) -> int:
        """Requests being carried now."""
        return self._calls

    @property
    def listens(self) -> int:
        return len(self._listens)

    def answer(
        self,
        surface: Surface,
        request: Request,
        principal: str,
        tell: Tell,
        promise: Promise | None = None,
        headers: Headers | None = None,
    ) -> Coroutine[Any, Any, tuple[int, bytes]]:
        """One request to its end; status and response. What depends on the response arriving is promised first. With
        headers, the last rung of their ladder is climbed here, on params that are decoded once for all of it."""
        return modern_answer(request, self._counted(surface, request, principal, tell, promise, headers))

    async def _counted(
        self,
        surface: Surface,
        request: Request,
        principal: str,
        tell: Tell,
        promise: Promise | None,
        headers: Headers | None,
    ) -> tuple[int, bytes]:
        if self._calls >= self._shop.settings.max_calls:
            raise LimitReached("requests in flight", self._shop.settings.max_calls)
        self._calls += 1
        try:
            if request.method == "server/discover":
                return await self._described(surface, request, principal)
            if request.method in TASK_METHODS:
                caller = caller_of(request, principal, self._shop)
                return 200, await answer_task_request(surface.tasks, request, caller, self._shop.server_info)
            read = await self._read(surface, request, principal, headers)
            if isinstance(read, Refusal):
                return refusal(read)
            if self._shop.leaving and read.call.state is None:
                raise ClientFault(INTERNAL_ERROR, "The gateway is shutting down", {"reason": "shutting_down"})
            teller = Teller(read.token, read.call.log_level, tell)
            outcome = await self._shop.carry(surface, read.call, teller)
            return self.written(request, read.call, outcome, promise)
        finally:
            self._calls -= 1

    # -- for a call that nobody waits for

    def read_at_once(self, surface: Surface, request: Request, principal: str, headers: Headers) -> ReadCall | None:
        """What is to be carried, counted as being carried until it is `done`; None where something would have to be
        waited for, or is wrong. Raises `EmceepeeError`."""
        if self._calls >= self._shop.settings.max_calls or modern.check(request, headers) is not None:
            return None
        read = self._placed(modern.read_call(request, principal, principal))
        if read.call.state is not None:
            # Its client has come back with an answer.
            return None
        if request.method == "tools/call":
            name = read_text(read.call.params.get("name"))
            schema = None if name is None else surface.schema_at_hand(read.call.caller, name)
            if isinstance(schema, Unknown) or (
                schema is not None
                and modern.check_header_params(read.call.params.get("arguments"), schema, headers) is not None
            ):
                return None
        self._calls += 1
        return read

    def done(self) -> None:
        self._calls -= 1

    async def _described(self, surface: Surface, request: Request, principal: str) -> tuple[int, bytes]:
        described = await surface.describe(caller_of(request, principal, self._shop))
        info = self._shop.server_info
        return 200, write_result(
            request.id, modern.write_discover(described.capabilities, info, described.instructions)
        )

    def written(
        self, request: Request, call: Call, outcome: Answered | GoesOn, promise: Promise | None
    ) -> tuple[int, bytes]:
        info = self._shop.server_info
        if isinstance(outcome, Done):
            done = outcome
            if done.delivery is None:
                return 200, write_result(request.id, modern.write_done(request.method, done, info))
            return 200, promised(
                done.delivery, promise, lambda: write_result(request.id, *modern.done_parts(request.method, done, info))
            )
        if isinstance(outcome, GoesOn):
            return 200, write_result(request.id, write_created(outcome.task, info))
        if isinstance(outcome, InputNeeded):
            needed = outcome
            delivery = needed if isinstance(needed, Parked) and needed.hold is not None else None
            return 200, promised(
                delivery, promise, lambda: write_result(request.id, modern.write_input_needed(needed, info))
            )
        ended, declared = outcome, call.caller.capabilities
        instead = modern.done_instead(request.method, ended, declared)
        if instead is not None:
            return 200, write_result(request.id, modern.write_done(request.method, instead, info))
        return modern_error(request.id, ended, request.method, declared)

    async def _read(
        self, surface: Surface, request: Request, principal: str, headers: Headers | None
    ) -> ReadCall | Refusal:
        """The call, or what its headers are refused for: a rung before the shape of its params."""
        if headers is None or request.method != "tools/call":
            return self._placed(modern.read_call(request, principal, principal))
        try:
            read = self._placed(modern.read_call(request, principal, principal))
        except ClientFault:
            refused = await self.check_parameters(surface, request, principal, headers)
            if refused is None:
                raise
            return refused
        refused = await _misled(surface, read.call.caller, read.call.params, headers)
        return read if refused is None else refused.answering(request.id)

    def _placed(self, read: ReadCall) -> ReadCall:
        if read.workspace is not None:
            read.call.caller = self._shop.placed(read.call.caller, read.workspace)
        return read

    async def check_parameters(
        self, surface: Surface, request: Request, principal: str, headers: Headers
    ) -> Refusal | None:
        """`Mcp-Param-*` against the schema of the called tool, as we list it, for a call that cannot be read as one."""
        if request.method != "tools/call":
            return None
        try:
            fields = read_fields(request.params or EMPTY_OBJECT)
        except NotThatShape:
            return None
        refused = await _misled(surface, Caller(principal, principal), fields, headers)
        return refused if refused is None else refused.answering(request.id)

    def listening(self, request: Request, outlet: Outlet) -> Listening:
        """A new listen stream, not yet begun. Raises `LimitReached`; `ended` gives its place back."""
        if len(self._listens) >= self._shop.settings.max_listens:
            raise LimitReached("listen streams", self._shop.settings.max_listens)
        listening = Listening(request, outlet, self._shop)
        self._listens.add(listening)
        return listening

    async def ended(self, listening: Listening) -> None:
        """The stream is over, whoever ended it."""
        self._listens.discard(listening)
        await listening.close()

    def end_listens(self) -> None:
        """We go down: every listener is told, so that it need not take silence for loss."""
        for listening in list(self._listens):
            listening.end()


class Listening:
    """One `subscriptions/listen`: acknowledged first, then its notices, at last its result."""

    __slots__ = ("_early", "_following", "_listener", "_outlet", "_over", "_request", "_shop")

    def __init__(self, request: Request, outlet: Outlet, shop: Shop) -> None:
        self._request = request
        self._outlet = outlet
        self._shop = shop
        self._listener: Listener | None = None
        self._following: Following | None = None
        self._early: Latest | None = Latest()
        self._over = False

    async def begin(self, surface: Surface, principal: str) -> None:
        """Raises what the surface raises; nothing was written then."""
        interest = modern.read_listen(self._request)
        caller = caller_of(self._request, principal, self._shop)
        self._listener = await surface.listen(caller, interest, self._hear)
        if self._over:
            return
        honoured = self._listener.honoured
        if interest.tasks:
            self._following = surface.tasks.follow(caller, interest.tasks, self._hear)
            honoured |= Interest(tasks=self._following.honoured)
        self._outlet.answer(modern.write_acknowledged(self._request.id, honoured))
        early, self._early = self._early, None
        for key, message in early.items() if early is not None else ():
            self._outlet.notice(message, key)

    def _hear(self, notice: Notice) -> None:
        message = modern.write_listen_notice(notice, self._request.id)
        if message is None or self._over:
            return
        key = coalescing_key(notice)
        if self._early is None:
            self._outlet.notice(message, key)
        elif key is not None:
            # Nothing may come before the acknowledgement.
            self._early.put(key, message)

    def end(self) -> None:
        """Gracefully, by us. Idempotent."""
        if self._over:
            return
        self._over = True
        result = modern.write_listen_end(self._request.id, self._shop.server_info)
        self._outlet.answer(write_result(self._request.id, result))
        self._outlet.end()

    async def close(self) -> None:
        """Nothing is heard or written any more."""
        self._over = True
        if self._following is not None:
            self._following.close()
        if self._listener is not None:
            await self._listener.close()


class Teller:
    """`OnNotice` of one call: its own token, its own log level, rising progress."""

    __slots__ = ("_level", "_rising", "_tell", "_token")

    def __init__(self, token: RequestId | None, level: LogLevel | None, tell: Tell) -> None:
        self._token = token
        self._level = level
        self._tell = tell
        self._rising: Rising | None = None

    def __call__(self, notice: Notice) -> None:
        if self._rising is None:
            self._rising = Rising()
        if not self._rising.lets(notice):
            return
        message = modern.write_notice(notice, self._token, self._level)
        if message is not None:
            self._tell(message, coalescing_key(notice))


async def _misled(surface: Surface, caller: Caller, params: Fields, headers: Headers) -> Refusal | None:
    """What is wrong with the `Mcp-Param-*` headers of a tool's call."""
    name = read_text(params.get("name"))
    schema = None if name is None else await surface.input_schema(caller, name)
    return None if schema is None else modern.check_header_params(params.get("arguments"), schema, headers)


def caller_of(request: Request, principal: str, shop: Shop) -> Caller:
    """Who sent this, by its own envelope. Its scope is its principal unless it names a workspace: it has no session."""
    try:
        said = split_meta(read_fields(request.params or EMPTY_OBJECT))
    except NotThatShape:
        return Caller(principal, principal)
    return shop.placed(Caller(principal, principal, said.capabilities or {}, said.client_info), said.workspace)
