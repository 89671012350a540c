"""How a definition becomes a live link: the transport, the era, the handshake, and the second thoughts about each.

It opens and hands over; it keeps nothing but the verdicts. One attempt, whatever it tries on the way, is one `dial`.

The one rule: whatever was opened on the way to a link and is not part of it has been closed before `dial` returns or
raises.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec import Raw

from emceepee.backends.children import Children
from emceepee.backends.connection import Link
from emceepee.backends.conversation import Conversation, Nobody
from emceepee.backends.definition import HttpEndpoint, InProcess, ServerDefinition, StdioLaunch, fingerprint
from emceepee.backends.era_probe import (
    LEGACY,
    NOT_THIS_WAY,
    PROBE_SECONDS_HTTP,
    PROBE_SECONDS_PIPE,
    UNSUPPORTED_VERSION,
    EraStore,
    Verdict,
    Verdicts,
    judge,
    judge_fault,
)
from emceepee.backends.http_client import HttpClient
from emceepee.backends.http_endpoint import HttpSettings
from emceepee.backends.http_sse import SseTransport
from emceepee.backends.in_memory import InMemoryTransport, InProcessServer
from emceepee.backends.legacy_link import LegacyLink, Refused
from emceepee.backends.modern_link import ModernLink
from emceepee.backends.stdio import LIMITS, StdioTransport
from emceepee.backends.streamable_http import HttpTransport
from emceepee.backends.transport import HttpRefusal, Transport
from emceepee.eras.modern import towards_backend as modern
from emceepee.eras.revisions import MODERN
from emceepee.errors import BackendFault, BackendUnavailable, BackendViolation
from emceepee.framing.json_text import Limits
from emceepee.runtime.clock import Clock
from emceepee.runtime.ids import Ids
from emceepee.vocabulary.asks import CLOSED, AskDoor
from emceepee.vocabulary.names import ServerName

_log = logging.getLogger("emceepee.backends")

HANDSHAKE_SECONDS_HTTP = 10.0
HANDSHAKE_SECONDS_PIPE = 60.0
"""A package runner may fetch the server before it starts it. Who waits has a limit of its own; the attempt goes on."""

OnLost = Callable[[Link, BackendFault], None]
OnSaid = Callable[[str], None]
"""What a program writes to its standard error, line by line."""


@dataclass(slots=True, frozen=True)
class Owner:
    """Whoever has a link made: what he hears when it is lost, and what its server may ask him and says beside it."""

    on_lost: OnLost
    door: AskDoor
    on_said: OnSaid


@dataclass(slots=True, frozen=True)
class Doors:
    """What links are opened with."""

    http: HttpClient
    family: Children
    hosted: Mapping[str, Callable[[], InProcessServer]]
    """Servers in this process, by name; each connection gets one of its own."""
    over_http: HttpSettings = field(default_factory=HttpSettings)
    over_pipes: Limits = LIMITS


class ServerDialer:
    """Implements `pool.Dialer`."""

    def __init__(self, doors: Doors, clock: Clock, ids: Ids, client_info: Raw) -> None:
        self._doors = doors
        self._clock = clock
        self._ids = ids
        self._client_info = client_info
        self._verdicts = Verdicts(clock)

    def keep_in(self, store: EraStore) -> None:
        """What is found out, so that the next run need not find it out again."""
        self._verdicts.keep_in(store)

    def knows(self, definition: ServerDefinition) -> bool:
        self._verdicts.introduce(definition.name, fingerprint(definition))
        return self._verdicts.get(definition.name) is not None

    def outdated(self, definition: ServerDefinition) -> bool:
        """Only HTTP can change its era under a live link; a child process keeps the one it has."""
        return isinstance(definition.launch, HttpEndpoint) and self._verdicts.expired(definition.name)

    def forget(self, server: ServerName) -> None:
        self._verdicts.forget(server)

    async def dial(
        self,
        definition: ServerDefinition,
        on_lost: OnLost,
        door: AskDoor = CLOSED,
        on_said: OnSaid = lambda line: None,
    ) -> tuple[Link, bool]:
        owner = Owner(on_lost, door, on_said)
        self._verdicts.introduce(definition.name, fingerprint(definition))
        match definition.launch:
            case HttpEndpoint():
                link = await self._dial_http(definition, definition.launch, owner)
            case StdioLaunch() | InProcess():
                link = await self._dial_pipe(definition, owner)
        if isinstance(link, LegacyLink):
            link.marks = definition.mark_calls
            link.turn = asyncio.Lock() if definition.concurrency == "serialize" else None
        # A server without sessions cannot tell scopes apart, so they may share what leads to it.
        return link, isinstance(link, ModernLink) or definition.affinity == "shared"

    # -- HTTP

    async def _dial_http(self, definition: ServerDefinition, endpoint: HttpEndpoint, owner: Owner) -> Link:
        if endpoint.kind != "sse":
            try:
                return await self._dial_streamable(definition, endpoint, owner)
            except HttpRefusal as refusal:
                if endpoint.kind != "auto" or refusal.status not in NOT_THIS_WAY:
                    raise
        doors = self._doors
        old = SseTransport(definition.name, endpoint.url, endpoint.headers, doors.http, self._clock, doors.over_http)
        return await self._legacy(self._converse(definition, old), owner, HANDSHAKE_SECONDS_HTTP)

    async def _dial_streamable(self, definition: ServerDefinition, endpoint: HttpEndpoint, owner: Owner) -> Link:
        known = self._verdicts.get(definition.name)
        if known is None or known.era == "modern":
            link = await self._try_modern(definition, self._http(definition, endpoint), owner)
            if link is not None:
                return link
        conversation = self._converse(definition, self._http(definition, endpoint))
        try:
            return await self._legacy(conversation, owner, HANDSHAKE_SECONDS_HTTP)
        except Refused as refused:
            return await self._second_thought(definition, refused, self._http(definition, endpoint), owner)

    def _http(self, definition: ServerDefinition, endpoint: HttpEndpoint) -> HttpTransport:
        doors = self._doors
        return HttpTransport(definition.name, endpoint.url, endpoint.headers, doors.http, self._clock, doors.over_http)

    # -- pipes: child processes, and servers in this process

    async def _dial_pipe(self, definition: ServerDefinition, owner: Owner) -> Link:
        known = self._verdicts.get(definition.name)
        if known is None or known.era == "modern":
            link = await self._probe_pipe(definition, owner)
            if link is not None:
                return link
        try:
            conversation = self._converse(definition, self._pipe(definition, owner))
            return await self._legacy(conversation, owner, HANDSHAKE_SECONDS_PIPE)
        except Refused as refused:
            return await self._second_thought(definition, refused, self._pipe(definition, owner), owner)

    async def _probe_pipe(self, definition: ServerDefinition, owner: Owner) -> Link | None:
        """Ask a process for its era. One that answers the probe with an error is used as it is; one that was silent,
        or ended, is replaced by a fresh one that never sees the probe (None)."""
        conversation = self._converse(definition, self._pipe(definition, owner))
        try:
            await conversation.start()
            verdict, answered = await self._probe(conversation, PROBE_SECONDS_PIPE, over_pipe=True)
            if verdict.era == "modern":
                return self._modern(definition, conversation, verdict, owner, over_http=False)
            self._refuse_incompatible(definition, verdict)
            self._verdicts.put(definition.name, verdict)
            if answered:
                return await self._legacy(conversation, owner, PROBE_SECONDS_PIPE, started=True)
        except BaseException as error:
            await conversation.close()
            if isinstance(error, BackendFault) and self.knows(definition):
                return None
            raise
        await conversation.close()
        return None

    def _pipe(self, definition: ServerDefinition, owner: Owner) -> Transport:
        if isinstance(definition.launch, StdioLaunch):
            doors, launch = self._doors, definition.launch
            return StdioTransport(
                definition.name, launch, self._clock, doors.family, owner.on_said, limits=doors.over_pipes
            )
        assert isinstance(definition.launch, InProcess)
        host = self._doors.hosted.get(definition.launch.name)
        if host is None:
            raise BackendUnavailable(
                definition.name, f"no server named '{definition.launch.name}' lives in this process"
            )
        return InMemoryTransport(definition.name, host())

    # -- steps

    def _converse(self, definition: ServerDefinition, transport: Transport) -> Conversation:
        return Conversation(definition.name, transport, Nobody(), self._clock)

    async def _probe(self, conversation: Conversation, seconds: float, over_pipe: bool) -> tuple[Verdict, bool]:
        """The verdict, and whether the server answered at all. Raises the fault where it says nothing about eras."""
        headers = [] if over_pipe else modern.headers("server/discover", {}, MODERN, None)
        tried_again = False
        while True:
            try:
                answer = await conversation.ask(
                    "server/discover",
                    modern.write_discover_params(self._client_info),
                    seconds,
                    headers=headers,
                )
            except BackendFault as fault:
                verdict = judge_fault(fault, over_pipe)
                if verdict is None:
                    raise
                return verdict, False
            verdict = judge(answer, tried_again)
            if verdict.era != "again":
                return verdict, True
            tried_again = True

    async def _try_modern(self, definition: ServerDefinition, transport: Transport, owner: Owner) -> Link | None:
        """The link when the server is modern, None when it is not; a verdict is kept either way."""
        conversation = self._converse(definition, transport)
        try:
            await conversation.start()
            verdict, _ = await self._probe(conversation, PROBE_SECONDS_HTTP, over_pipe=False)
            self._refuse_incompatible(definition, verdict)
        except BaseException:
            await conversation.close()
            raise
        if verdict.era == "modern":
            return self._modern(definition, conversation, verdict, owner, over_http=True)
        self._verdicts.put(definition.name, verdict)
        await conversation.close()
        return None

    def _refuse_incompatible(self, definition: ServerDefinition, verdict: Verdict) -> None:
        if verdict.era == "incompatible":
            raise BackendViolation(definition.name, f"no common protocol revision: {verdict.why}")

    def _modern(
        self,
        definition: ServerDefinition,
        conversation: Conversation,
        verdict: Verdict,
        owner: Owner,
        over_http: bool,
    ) -> Link:
        assert verdict.about is not None
        self._verdicts.put(definition.name, verdict)
        # Over modern HTTP closing the stream is the cancellation.
        conversation.cancel_by_notice = not over_http
        link = ModernLink(
            conversation, verdict.about, self._client_info, self._clock, self._ids, owner.on_lost, over_http
        )
        conversation.unasked = link
        return link

    async def _legacy(self, conversation: Conversation, owner: Owner, seconds: float, started: bool = False) -> Link:
        link = LegacyLink(conversation, self._client_info, self._ids, owner.on_lost, owner.door)
        conversation.unasked = link
        try:
            if not started:
                await conversation.start()
            await link.open(seconds)
        except BaseException:
            await conversation.close()
            raise
        self._verdicts.put(conversation.server, LEGACY)
        return link

    async def _second_thought(
        self, definition: ServerDefinition, refused: Refused, transport: Transport, owner: Owner
    ) -> Link:
        """`initialize` refused as "unsupported version" means a modern server that was too slow for the probe."""
        if refused.answer.error.code != UNSUPPORTED_VERSION:
            raise refused
        self._verdicts.forget(definition.name)
        conversation = self._converse(definition, transport)
        over_http = isinstance(transport, HttpTransport)
        try:
            await conversation.start()
            verdict, _ = await self._probe(conversation, HANDSHAKE_SECONDS_PIPE, over_pipe=not over_http)
            if verdict.era != "modern":
                raise refused
        except BaseException:
            await conversation.close()
            raise
        return self._modern(definition, conversation, verdict, owner, over_http)
