"""Which workspaces there are: one for each scope, made when the scope first does something.

The one rule: one that ends is taken out first and closed after, once; what is broadcast reaches those that are there at
that moment, each with an event of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeAlias

from emceepee.errors import LimitReached
from emceepee.runtime.clock import Clock, Timer
from emceepee.runtime.ids import Ulids
from emceepee.runtime.spawn import TaskScope
from emceepee.sessions.expiry import is_idle
from emceepee.sessions.settings import SessionSettings
from emceepee.sessions.workspace import Workspace
from emceepee.state.events import EventType
from emceepee.state.settings import StateSettings
from emceepee.state.totals import EventTotals
from emceepee.vocabulary.names import Scope, ServerName, scope_label

_log = logging.getLogger("emceepee.sessions")

_CLOSING_LIMIT = 6.0
"""Each gives its calls five seconds to hear that they are over."""

Used: TypeAlias = Callable[[Scope], bool]
"""Whether somebody outside still needs a scope: it is a session that lives."""


class Workspaces:
    def __init__(
        self,
        clock: Clock,
        ulids: Ulids,
        settings: StateSettings | None = None,
        bounds: SessionSettings | None = None,
    ) -> None:
        self.settings = settings or StateSettings()
        self._bounds = bounds or SessionSettings()
        self._clock = clock
        self._ulids = ulids
        self._totals = EventTotals(self.settings.max_total_events)
        self._at: dict[Scope, Workspace] = {}
        self._sweeping = TaskScope("workspaces")
        self._timer: Timer | None = None
        self.closed = False

    def __len__(self) -> int:
        return len(self._at)

    def scopes(self) -> list[Scope]:
        return list(self._at)

    @property
    def total_events(self) -> int:
        return self._totals.total

    def find(self, scope: Scope) -> Workspace | None:
        return self._at.get(scope)

    def at(self, scope: Scope) -> Workspace:
        """The scope's workspace, a new one if need be, and in use from now on. Raises `LimitReached`."""
        workspace = self._at.get(scope)
        if workspace is None:
            if self.closed or len(self._at) >= self._bounds.max_sessions:
                raise LimitReached("workspaces (max_sessions)", 0 if self.closed else self._bounds.max_sessions)
            workspace = Workspace(scope, self._clock, self._ulids, self.settings, self._totals)
            self._at[scope] = workspace
        workspace.touch()
        return workspace

    def broadcast(self, kind: EventType, server: ServerName, data: dict[str, Any], but: Scope | None = None) -> None:
        for workspace in list(self._at.values()):
            if workspace.scope != but:
                workspace.record(kind, server, data)

    def server_added(self, name: ServerName, url: str, by: Scope) -> None:
        """To all but the one who added it: he has his answer, and `server_connected` (X-CON-11)."""
        self.broadcast("server_added", name, {"name": name, "url": url, "addedBy": scope_label(by)}, but=by)

    def server_removed(self, name: ServerName, by: str | None) -> None:
        """To all (X-CON-10). `by` is a label. What was open there ends first, so that its events come before."""
        for workspace in list(self._at.values()):
            workspace.removed(name)
        self.broadcast("server_removed", name, {"name": name} | ({"removedBy": by} if by else {}))

    async def end(self, scope: Scope) -> None:
        workspace = self._at.pop(scope, None)
        if workspace is not None:
            await workspace.close()

    # -- idleness

    def watch_idle(self, used: Used = lambda scope: False) -> None:
        """Sweep from now on, until `close`. Idempotent."""
        if self.closed or self._timer is not None:
            return
        self._timer = self._clock.after(self._bounds.sweep_every, lambda: self._swept(used))

    def _swept(self, used: Used) -> None:
        self._timer = None
        self.sweep(used)
        self.watch_idle(used)

    def sweep(self, used: Used = lambda scope: False) -> int:
        """End every workspace that is idle; how many. Connections stay: whoever has no session has nothing else here
        that could end, and the next use finds them."""
        now, limit = self._clock.now(), self._bounds.idle_limit
        idle = [one for one in self._at.values() if is_idle(one.last_used, one.busy or used(one.scope), now, limit)]
        for workspace in idle:
            del self._at[workspace.scope]
            _log.info("workspace_timeout_cleanup", extra={"data": {"workspace": scope_label(workspace.scope)}})
            self._sweeping.spawn(workspace.close(), "close idle")
        return len(idle)

    async def close(self) -> None:
        self.closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # Together: what hangs in one of them must not hold up the others.
        for scope in self.scopes():
            self._sweeping.spawn(self.end(scope), "close")
        await self._sweeping.settle(_CLOSING_LIMIT)
        await self._sweeping.close()
