"""Which workspaces there are: one for each scope, made when the scope first does something, or opened by name.

The one rule: one that ends is taken out first and closed after, once; what is broadcast reaches those that are there at
that moment, each with an event of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from emceepee.errors import LimitReached
from emceepee.runtime.clock import Clock, Timer
from emceepee.runtime.ids import SystemIds, Ulids
from emceepee.runtime.spawn import TaskScope
from emceepee.sessions.expiry import is_idle
from emceepee.sessions.handles import is_handle, make_handle, may_name, not_found, scope_of_name
from emceepee.sessions.inheritance import Inheritance
from emceepee.sessions.kept_handles import HandleStore
from emceepee.sessions.settings import SessionSettings
from emceepee.sessions.workspace import Workspace
from emceepee.state.events import EventType
from emceepee.state.kept_tasks import Owner, place_of
from emceepee.state.settings import StateSettings
from emceepee.state.totals import EventTotals
from emceepee.vocabulary.names import ANON, Scope, ServerName, scope_label

_log = logging.getLogger("emceepee.sessions")

_CLOSING_LIMIT = 6.0
"""Each gives its calls five seconds to hear that they are over."""

Used: TypeAlias = Callable[[Scope], bool]
"""Whether somebody outside still needs a scope: it is a session that lives."""

End: TypeAlias = Callable[[Scope], Awaitable[None]]
"""Ends all that hangs on a scope, its workspace with it."""


class Workspaces:
    def __init__(
        self,
        clock: Clock,
        ulids: Ulids,
        settings: StateSettings | None = None,
        bounds: SessionSettings | None = None,
        secret: Callable[[], str] | None = None,
    ) -> None:
        self.settings = settings or StateSettings()
        self._bounds = bounds or SessionSettings()
        self._clock = clock
        self._ulids = ulids
        self._secret = secret or SystemIds().secret
        self._totals = EventTotals(self.settings.max_total_events)
        self._at: dict[Scope, Workspace] = {}
        self._owners: dict[Scope, str] = {}
        self._sweeping = TaskScope("workspaces")
        self._timer: Timer | None = None
        self.closed = False
        self.process_ends = False
        """Whether what ends from now on ends only because the process does: then its tasks are kept."""
        self.inheritance: Inheritance | None = None
        self._handles: HandleStore | None = None
        self._asleep: dict[str, str] = {}
        self._asleep_since = 0.0
        self.owner_of: Callable[[Scope], Owner] = lambda scope: Owner(scope, place_of(scope))
        self.on_made: Callable[[Workspace], None] = lambda workspace: None
        self.end_all: End = self.end

    def __len__(self) -> int:
        return len(self._at)

    def scopes(self) -> list[Scope]:
        return list(self._at)

    @property
    def total_events(self) -> int:
        return self._totals.total

    def find(self, scope: Scope) -> Workspace | None:
        return self._at.get(scope)

    def has_tools(self, scope: Scope) -> bool:
        """Whether somebody works there who has our tools."""
        workspace = self._at.get(scope)
        return workspace is not None and workspace.by_tools

    def at(self, scope: Scope) -> Workspace:
        """The scope's workspace, a new one if need be, and in use from now on. Raises `LimitReached`, and `ClientFault`
        for a handle that has ended: nothing brings it back."""
        workspace = self._at.get(scope)
        if workspace is None:
            if is_handle(scope):
                raise not_found(scope)
            workspace = self._make(scope)
        workspace.touch()
        return workspace

    def _make(self, scope: Scope) -> Workspace:
        if self.closed or len(self._at) >= self._bounds.max_sessions:
            raise LimitReached("workspaces (max_sessions)", 0 if self.closed else self._bounds.max_sessions)
        made = (scope, self._clock, self._ulids, self.settings, self._totals)
        left = self.inheritance
        if left is None:
            workspace = self._at[scope] = Workspace(*made)
        else:
            owner = self.owner_of(scope)
            workspace = self._at[scope] = Workspace(*made, left.keep_for(owner))
            if owner.place is not None:
                self._inherit(workspace, owner)
        self.on_made(workspace)
        return workspace

    def _inherit(self, workspace: Workspace, owner: Owner) -> None:
        if self.inheritance is not None:
            for task in self.inheritance.take(owner, workspace.scope):
                workspace.inherit(task)

    def adopt(self, workspace: Workspace) -> None:
        """Its client is told what happens: also what became of the tasks of sessions of an earlier run."""
        if self.inherits:
            self._inherit(workspace, Owner(self.owner_of(workspace.scope).principal))

    @property
    def inherits(self) -> bool:
        """Whether something that an earlier run left still waits for somebody."""
        return self.inheritance is not None and self.inheritance.waits

    def holding(self, task_id: str, workspace: Workspace, principal: str) -> Workspace:
        """Where a task is to be looked for by this principal: in the workspace that he named, unless an earlier run of
        the gateway left it."""
        left = self.inheritance
        if left is None or task_id in workspace.tasks:
            return workspace
        task = left.claim(principal, task_id, workspace.scope)
        if task is not None:
            workspace.inherit(task)
            return workspace
        heir = left.heir_of(principal, task_id)
        return workspace if heir is None else self._at.get(heir, workspace)

    # -- by name

    def named_idle_limit(self, principal: str) -> float:
        return self._bounds.anon_workspace_idle if principal == ANON else self._bounds.workspace_idle

    def open(self, principal: str) -> Workspace:
        """A new one, which its handle finds again. Raises `LimitReached`."""
        handle = make_handle(self._secret())
        workspace = self._make_for(principal, handle)
        if self._handles is not None:
            self._handles.put(place_of(handle), principal)
        return workspace

    def know_again(self, handles: HandleStore) -> None:
        """Those of earlier runs lead to a workspace again, those of this run will in later ones."""
        self._handles, self._asleep, self._asleep_since = handles, handles.all(), self._clock.now()

    def _make_for(self, principal: str, scope: Scope) -> Workspace:
        # Whose it is has to be known while it is made.
        self._owners[scope] = principal
        try:
            return self._make(scope)
        except LimitReached:
            del self._owners[scope]
            raise

    def scope_of(self, handle: str, principal: str) -> Scope:
        """The scope behind a handle of this principal's, in use from now on. Raises `ClientFault`."""
        if self._owners.get(handle) != principal:
            self._wake_up(handle, principal)
        self.at(handle)
        return handle

    def _wake_up(self, handle: Scope, principal: str) -> None:
        place = place_of(handle)
        if not is_handle(handle) or handle in self._owners or self._asleep.get(place) != principal:
            raise not_found(handle)
        self._make_for(principal, handle)
        del self._asleep[place]

    def _forget_the_sleeping(self) -> None:
        """Nobody has come with these for as long as a workspace lives that nobody uses."""
        over, self._asleep = self._asleep, {}
        for place in over:
            self._forget_handle(place)

    def _forget_handle(self, place: str) -> None:
        if self._handles is not None and not self.process_ends:
            self._handles.remove(place)

    def scope_of_path(self, name: str, principal: str) -> Scope:
        """The same for what a path ends in: a handle, or a name, which has a workspace from its first use on. Of
        strangers nobody has a name to himself."""
        if is_handle(name) or not may_name(name) or principal == ANON:
            return self.scope_of(name, principal)
        scope = scope_of_name(name, principal)
        if scope not in self._at:
            self._make_for(principal, scope)
        self.at(scope)
        return scope

    def named_of(self, principal: str) -> list[Workspace]:
        """Those that he has by handle or name."""
        return [self._at[scope] for scope, owner in self._owners.items() if owner == principal and scope in self._at]

    def principal_of(self, scope: Scope) -> str | None:
        """Whose a named scope is."""
        return self._owners.get(scope)

    def broadcast(self, kind: EventType, server: ServerName, data: dict[str, Any], but: Scope | None = None) -> None:
        for workspace in list(self._at.values()):
            if workspace.scope != but:
                workspace.record(kind, server, data)

    def server_added(self, name: ServerName, url: str, by: Scope | None) -> None:
        """To all but the one who added it: he has his answer, and `server_connected` (X-CON-11). To all where it was no
        client."""
        label = "configuration" if by is None else scope_label(by)
        self.broadcast("server_added", name, {"name": name, "url": url, "addedBy": label}, but=by)

    def server_removed(self, name: ServerName, by: str | None) -> None:
        """To all (X-CON-10). `by` is a label. What was open there ends first, so that its events come before."""
        for workspace in list(self._at.values()):
            workspace.removed(name)
        self.broadcast("server_removed", name, {"name": name} | ({"removedBy": by} if by else {}))

    async def end(self, scope: Scope) -> None:
        workspace = self._take_out(scope)
        if workspace is not None:
            await self._close(workspace)

    async def _close(self, workspace: Workspace) -> None:
        unseen = workspace.tasks.untold()
        await workspace.close(forget=not self.process_ends)
        if self.inheritance is not None and not self.process_ends:
            self.inheritance.give_back(workspace.scope, unseen)

    def _take_out(self, scope: Scope) -> Workspace | None:
        if self._owners.pop(scope, None) is not None and is_handle(scope):
            self._forget_handle(place_of(scope))
        return self._at.pop(scope, None)

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
        """End every workspace that is idle; how many. The connections of a named one end with it. Those of a
        principal's own stay: he has no session that could end, and the next use finds them."""
        now = self._clock.now()
        idle = [
            one
            for one in self._at.values()
            if is_idle(one.last_used, one.busy or used(one.scope), now, self._limit(one.scope))
        ]
        for workspace in idle:
            named = workspace.scope in self._owners
            _log.info("workspace_timeout_cleanup", extra={"data": {"workspace": scope_label(workspace.scope)}})
            self._take_out(workspace.scope)
            self._sweeping.spawn(self._ended(workspace, named), "close idle")
        if self.inheritance is not None:
            self.inheritance.expire(self._clock.wall())
        if now - self._asleep_since >= self._bounds.workspace_idle:
            self._forget_the_sleeping()
        return len(idle)

    def _limit(self, scope: Scope) -> float:
        owner = self._owners.get(scope)
        return self._bounds.idle_limit if owner is None else self.named_idle_limit(owner)

    async def _ended(self, workspace: Workspace, named: bool) -> None:
        await self._close(workspace)
        if named:
            await self.end_all(workspace.scope)

    async def close(self) -> None:
        self.closed = self.process_ends = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # Together: what hangs in one of them must not hold up the others.
        for scope in self.scopes():
            self._sweeping.spawn(self.end(scope), "close")
        await self._sweeping.settle(_CLOSING_LIMIT)
        await self._sweeping.close()
