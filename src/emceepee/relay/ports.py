"""What the middle needs of the backends, as Protocols: a pool of connections, and one connection.

It is not their documentation, and adds nothing to them; the tests' fakes and `backends.pool` both fit it.

The one rule: what the relay uses of a backend is written here first.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from emceepee.backends.carried import OnOutcome
from emceepee.backends.definition import ServerDefinition
from emceepee.backends.lifecycle import Status
from emceepee.relay.surface import OnNotice
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.asks import AskProfile
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.names import LogLevel, Scope, ServerName
from emceepee.vocabulary.notices import Interest
from emceepee.vocabulary.outcomes import Answered, Begun


class Connection(Protocol):
    """One scope's handle on one server. It outlives the link behind it; after a gap it tells everything wished as
    changed."""

    on_notice: OnNotice | None
    """Takes what comes unasked. None until the relay has seen the handle for the first time."""

    @property
    def about(self) -> About: ...

    @property
    def alive(self) -> bool:
        """Whether there is something behind it now."""
        ...

    async def request(self, call: Call, on_notice: OnNotice | None, timeout: float) -> Answered:
        """Raises `errors.BackendFault` where the server did not answer: `BackendUnavailable` only when nothing can have
        reached it. When cancelled, or past the time-out, the server is told so."""
        ...

    def begin(self, call: Call, on_notice: OnNotice | None, timeout: float, ended: OnOutcome) -> Begun | None:
        """`request` without waiting: `ended` is told once, perhaps before this returns. None where something has to be
        waited for first. Raises `BackendFault` where nothing was asked."""
        ...

    async def want(self, interest: Interest) -> Interest:
        """Replace what is wished; returns what of it the server can deliver."""
        ...

    async def set_log_level(self, level: LogLevel) -> None: ...


class Pool(Protocol):
    async def connection(
        self, server: ServerName, scope: Scope, profile: AskProfile | None = None, call: Call | None = None
    ) -> Connection:
        """The one there is whose server may ask just that, or a new one; without a profile any will do. Callers share
        an attempt. Cancelling one of them does not end it for the others."""
        ...

    def ready(self, server: ServerName, scope: Scope, profile: AskProfile | None = None) -> Connection | None:
        """What `connection` would give without anybody waiting for it."""
        ...

    def opening(self, server: ServerName, scopes: Collection[Scope]) -> list[Call]:
        """The calls that wait for a connection to this server to be there."""
        ...

    async def roots_changed(self, scope: Scope) -> None: ...

    def status(self, server: ServerName, scope: Scope) -> Status: ...

    def has_live(self, server: ServerName, scope: Scope) -> bool:
        """Whether this scope has any live connection to the server: it may have several, whose servers may ask
        different things."""
        ...

    def waits(self, scope: Scope) -> bool:
        """Whether a question of this scope may be on its way."""
        ...

    async def try_out(self, definition: ServerDefinition) -> None:
        """Raises `errors.BackendFault` where a server as it is defined here cannot be reached; touches nothing that
        is."""
        ...

    async def reconnect(self, server: ServerName, scope: Scope) -> Connection:
        """Close what this scope has to the server and connect anew, without waiting out a back-off."""
        ...

    async def release(self, scope: Scope) -> None:
        """Close all of this scope's connections, in parallel and bounded."""
        ...

    async def drop(self, server: ServerName) -> None:
        """Close every scope's connection to the server, in parallel and bounded."""
        ...
