"""From a server's name to a connection that can be used now.

It makes no connection itself, the pool does, and the pool bounds each attempt; this file knows which names exist, and
introduces a connection seen for the first time to whoever listens.

The one rule: after a wait the registry is asked again, because a server may have been removed or changed meanwhile
(X-BUG-44).
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Sequence
from typing import TypeAlias

from emceepee.backends.definition import ServerDefinition
from emceepee.backends.registry import Registry
from emceepee.errors import BackendFault, BackendTimeout, BackendUnavailable, ClientFault, EmceepeeError
from emceepee.relay.ports import Connection, Pool
from emceepee.runtime.clock import Clock
from emceepee.runtime.patience import wait_at_most
from emceepee.runtime.spawn import TaskScope
from emceepee.vocabulary.asks import AskProfile
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.names import Scope, ServerName

SERVER_NOT_FOUND = "server_not_found"
_INVALID_PARAMS = -32602
_SHOWN_NAMES = 20

Greet: TypeAlias = Callable[[ServerName, Scope, Connection], None]
OnFailed: TypeAlias = Callable[[ServerName, Scope, str], None]
"""A scope that needs a server could not be connected to it, and why."""


class Reach:
    def __init__(
        self, pool: Pool, registry: Registry, tasks: TaskScope, clock: Clock, greet: Greet, close_grace: float
    ) -> None:
        self.pool = pool
        self.registry = registry
        self._tasks = tasks
        self._clock = clock
        self._greet = greet
        self._close_grace = close_grace
        self._endings: dict[ServerName, asyncio.Task[None]] = {}
        self.on_failed: OnFailed = lambda server, scope, error: None

    def end(self, server: ServerName) -> None:
        """Close every scope's connection to a server that was removed or changed. At once in effect: whoever asks for a
        connection from now on waits for the old ones to be gone."""
        ending = self._tasks.spawn(self.pool.drop(server), f"drop {server}")
        self._endings[server] = ending
        ending.add_done_callback(lambda task: self._note_ended(server, task))

    def _note_ended(self, server: ServerName, ending: asyncio.Task[None]) -> None:
        if self._endings.get(server) is ending:
            del self._endings[server]

    async def ended(self, server: ServerName) -> bool:
        """Wait for that, within its grace. False when something still hangs."""
        ending = self._endings.get(server)
        return ending is None or await wait_at_most(self._clock, (ending,), self._close_grace)

    async def connection(
        self, server: ServerName, scope: Scope, profile: AskProfile | None = None, call: Call | None = None
    ) -> Connection:
        """Raises `ClientFault` for an unknown name, and what the pool raises. The pool limits the wait."""
        if self._endings:
            await self.ended(server)
        try:
            connection = await self.pool.connection(server, scope, profile, call)
        except BackendFault as fault:
            self.definition(server)
            self.on_failed(server, scope, fault.detail)
            raise
        if connection.on_notice is None:
            self._introduce(server, scope, connection)
        return connection

    def ready(self, server: ServerName, scope: Scope, profile: AskProfile | None = None) -> Connection | None:
        """What `connection` would give without anybody waiting for it, if it has been introduced."""
        connection = None if self._endings else self.pool.ready(server, scope, profile)
        return connection if connection is not None and connection.on_notice is not None else None

    async def connection_within(
        self, server: ServerName, scope: Scope, seconds: float, profile: AskProfile | None = None
    ) -> Connection:
        """The same for a caller with less patience than the pool. The attempt goes on when we stop waiting."""
        if self.pool.status(server, scope).state == "connected":
            return await self.connection(server, scope, profile)
        self.definition(server)
        attempt = self._tasks.spawn(self._attempt(server, scope, profile), f"connect {server}")
        if not await wait_at_most(self._clock, (attempt,), seconds):
            raise BackendTimeout(server, f"still connecting after {seconds:g} s; the attempt goes on")
        outcome: Connection | Exception = attempt.result()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _attempt(self, server: ServerName, scope: Scope, profile: AskProfile | None) -> Connection | Exception:
        """Returns its fault, because nobody may be left to hear it."""
        try:
            return await self.connection(server, scope, profile)
        except EmceepeeError as fault:
            return fault

    def definition(self, server: ServerName) -> ServerDefinition:
        """Raises `ClientFault` for an unknown name and `BackendUnavailable` for a disabled one."""
        definition = self.registry.get(server)
        if definition is None:
            raise unknown_server(server, [known.name for known in self.registry.list()])
        if definition.disabled:
            raise BackendUnavailable(server, "it is disabled in the configuration; enable it there first")
        return definition

    def _introduce(self, server: ServerName, scope: Scope, connection: Connection) -> None:
        if self.registry.get(server) is None:
            self.end(server)
            self.definition(server)
        self._greet(server, scope, connection)


def unknown_server(server: str, known: Sequence[str]) -> ClientFault:
    """Says which names there are, and which one was probably meant."""
    near = nearest(server, known)
    hint = f"; did you mean '{near}'?" if near else ""
    data = {"reason": SERVER_NOT_FOUND, "serverName": server, "known": list(known[:_SHOWN_NAMES])}
    return ClientFault(_INVALID_PARAMS, f"Server '{server}' not found{hint}", data)


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known name that somebody most likely meant."""
    lowered = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower()[:200], list(lowered), n=1, cutoff=0.5)
    return lowered[found[0]] if found else None
