"""A server is there again: what it took with it is told once, and what it lists is looked at again.

Calls and questions of the old connection have ended already when this begins, at the moment of the loss (X-BUG-35); the
connection itself says its wishes again. This asks for the lists, because after a gap nobody knows what changed, and
closes the cycle with one `server_reconnected`.

The one rule: one cycle at a time for each scope and server, and each is closed by one event, before anything of the
next loss is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from emceepee.backends.catalogue import LISTS, ListName
from emceepee.backends.connection import Connection
from emceepee.backends.recovery import Reconnection
from emceepee.backends.registry import Registry
from emceepee.relay.listing import Listing
from emceepee.relay.news import News
from emceepee.runtime.spawn import TaskScope
from emceepee.sessions.session import label
from emceepee.sessions.workspaces import Workspaces
from emceepee.state.invalidated import Invalidated
from emceepee.vocabulary.names import Scope, ServerName

_log = logging.getLogger("emceepee.relay")

_LOOKED_AT: tuple[ListName, ...] = ("tools", "resources", "prompts")
_AT_ONCE = 8
"""Connections whose lists are asked for at one time: a server that just came back must not be flooded."""


@dataclass(slots=True, frozen=True)
class Reconciled:
    """How a cycle ended: what was lost with the old connection, and which lists the server has shown anew."""

    invalidated: Invalidated
    refreshed: frozenset[ListName]

    def flags(self) -> dict[str, bool]:
        return {f"refreshed{name.capitalize()}": name in self.refreshed for name in _LOOKED_AT}

    def ids(self) -> dict[str, Any]:
        return self.invalidated.ids() | self.flags()

    def counts(self) -> dict[str, Any]:
        return self.invalidated.counts() | self.flags()


@dataclass(slots=True, eq=False)
class _Cycle:
    connection: Connection
    again: Reconnection
    refreshed: frozenset[ListName] = frozenset()
    task: asyncio.Task[None] | None = None


@dataclass(slots=True, eq=False)
class _Round:
    """One link that is there again, for all the scopes that use it: the first asks, the others take over."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    giver: Scope | None = None


class Reconciliation:
    def __init__(
        self, workspaces: Workspaces, news: News, listing: Listing, registry: Registry, tasks: TaskScope, budget: float
    ) -> None:
        self._workspaces = workspaces
        self._news = news
        self._listing = listing
        self._registry = registry
        self._tasks = tasks
        self._budget = budget
        self.has_live: Callable[[ServerName, Scope], bool] = lambda server, scope: False
        """As `ports.Pool.has_live`."""
        self.why: Callable[[ServerName, Scope], str | None] = lambda server, scope: None
        """What went wrong last, in words."""
        self._cycles: dict[Scope, dict[ServerName, _Cycle]] = {}
        self._rounds: dict[object, _Round] = {}
        self._places = asyncio.Semaphore(_AT_ONCE)

    def __len__(self) -> int:
        return sum(map(len, self._cycles.values()))

    # -- what the pool tells

    def attached(self, connection: Connection, again: Reconnection | None) -> None:
        if again is None:
            self._news.connected(connection)
            return
        server, scope = connection.server, connection.scope
        if not self._registry.has(server):
            return
        self._close_now(server, scope)
        data = {"sessionId": label(scope), "server": server, "type": again.kind}
        _log.info("session_server_reconnect", extra={"data": data})
        cycle = self._cycles.setdefault(scope, {})[server] = _Cycle(connection, again)
        cycle.task = self._tasks.spawn(self._run(cycle), f"reconcile {server}")

    def replaced(self, server: ServerName, scope: Scope) -> None:
        """Its connection is being replaced, and what it carried is void."""
        workspace = self._workspaces.find(scope)
        if workspace is not None:
            workspace.replaced(server)

    def lost(self, server: ServerName, scope: Scope) -> None:
        self._close_now(server, scope)
        self._news.lost(server, scope, self.why(server, scope), self.has_live(server, scope))

    # -- one cycle

    async def _run(self, cycle: _Cycle) -> None:
        cycle.refreshed = await self._refresh(cycle.connection)
        self._close(cycle)

    def _close_now(self, server: ServerName, scope: Scope) -> None:
        """The next loss, or the next return, is already there: what is known by now has to do."""
        cycle = self._cycles.get(scope, {}).get(server)
        if cycle is not None:
            if cycle.task is not None:
                cycle.task.cancel()
            self._close(cycle)

    def _close(self, cycle: _Cycle) -> None:
        server, scope = cycle.connection.server, cycle.connection.scope
        self._take_out(scope, [server])
        workspace = self._workspaces.find(scope)
        taken = Invalidated() if workspace is None else workspace.taken(server)
        result = Reconciled(taken, cycle.refreshed)
        data = {"sessionId": label(scope), "server": server} | result.counts()
        _log.info("session_server_reconciliation_complete", extra={"data": data})
        self._news.reconnected(cycle.connection, cycle.again, result.counts())

    def _take_out(self, scope: Scope, servers: Iterable[ServerName]) -> list[_Cycle]:
        cycles = self._cycles.get(scope, {})
        taken = [cycles.pop(server) for server in servers if server in cycles]
        if not cycles:
            self._cycles.pop(scope, None)
        return taken

    # -- the lists

    def _names(self, connection: Connection) -> list[ListName]:
        """What there is to compare with, and for a workspace what its client may ask for next."""
        server, scope = connection.server, connection.scope
        known = [name for name in LISTS if self._listing.known(server, scope, name) is not None]
        if self._workspaces.find(scope) is None:
            return known
        offered = [name for name in _LOOKED_AT if connection.about.offers(LISTS[name].family)]
        return list(dict.fromkeys([*offered, *known]))

    async def _refresh(self, connection: Connection) -> frozenset[ListName]:
        """The lists that the server has and has shown; each difference is told by the listing itself."""
        names, epoch = self._names(connection), connection.epoch
        if not names:
            return frozenset()
        one = self._rounds.setdefault(epoch, _Round())
        one.users += 1
        try:
            async with one.turn:
                fresh = await self._ask(connection, names, one)
        finally:
            one.users -= 1
            if not one.users:
                del self._rounds[epoch]
        return frozenset(name for name in fresh if connection.about.offers(LISTS[name].family))

    async def _ask(self, connection: Connection, names: list[ListName], one: _Round) -> set[ListName]:
        server, scope, giver = connection.server, connection.scope, one.giver
        fresh = {name for name in names if giver is not None and self._listing.adopt(server, giver, scope, name)}
        wanted = [name for name in names if name not in fresh]
        if wanted:
            async with self._places:
                shown = await asyncio.gather(*(self._listing.get(server, scope, name, self._budget) for name in wanted))
            fresh |= {name for name, one_list in zip(wanted, shown, strict=True) if one_list.state == "fresh"}
            for name in wanted:
                if name not in fresh and await self._listing.wait_out(server, scope, name):
                    again = await self._listing.get(server, scope, name, self._budget)
                    fresh |= {name} if again.state == "fresh" else set()
            one.giver = scope
        return fresh

    # -- endings

    def drop(self, server: ServerName) -> None:
        """The server is gone or is another one now: nothing of it is told any more (A-REC-30)."""
        for scope in list(self._cycles):
            self._give_up(self._take_out(scope, [server]))

    def forget(self, scope: Scope) -> None:
        self._give_up(self._take_out(scope, list(self._cycles.get(scope, {}))))

    def _give_up(self, cycles: list[_Cycle]) -> None:
        for cycle in cycles:
            if cycle.task is not None:
                cycle.task.cancel()
