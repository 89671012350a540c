"""The parts of the middle, joined: what every surface stands on.

The one rule: parts are joined here and nowhere else; a surface takes a `Middle` and builds none of it.
"""

from __future__ import annotations

from collections.abc import Callable

from emceepee.backends.definition import AskPolicy
from emceepee.backends.registry import Change, Registry
from emceepee.errors import EmceepeeError
from emceepee.relay.asks import EVERYBODY, Asks
from emceepee.relay.call import Calls
from emceepee.relay.listing import Listing
from emceepee.relay.news import News
from emceepee.relay.ports import Pool
from emceepee.relay.reach import Reach
from emceepee.relay.reconciliation import Reconciliation
from emceepee.relay.rounds import Rounds
from emceepee.relay.settings import RelaySettings
from emceepee.relay.subscriptions import Subscriptions
from emceepee.relay.task_room import TaskRoom
from emceepee.relay.watch import Watch
from emceepee.runtime.clock import Clock
from emceepee.runtime.ids import SystemIds, Ulids
from emceepee.runtime.spawn import TaskScope
from emceepee.sessions.workspaces import Workspaces
from emceepee.vocabulary.names import Scope, ServerName
from emceepee.vocabulary.notices import EVERY_LIST


class Middle:
    def __init__(
        self,
        pool: Pool,
        registry: Registry,
        tasks: TaskScope,
        clock: Clock,
        settings: RelaySettings | None = None,
        workspaces: Workspaces | None = None,
    ) -> None:
        self.settings = settings or RelaySettings()
        self.pool = pool
        self.registry = registry
        self.tasks = tasks
        self.clock = clock
        self.watch = Watch(tasks, self.settings)
        self.reach = Reach(pool, registry, tasks, clock, self.watch.greet, self.settings.close_grace)
        self.listing = Listing(self.reach, tasks, clock, self.settings, self.watch.watched)
        self.watch.on_list_changed = self.listing.changed
        self.listing.on_late = self.watch.tell_late
        self.listing.on_found = self.watch.found
        # Not `or`: one that has no workspace yet is empty, and all the same the one.
        self.workspaces = Workspaces(clock, Ulids(clock, SystemIds().slot())) if workspaces is None else workspaces
        self.task_room = TaskRoom(self.workspaces)
        self.news = News(self.workspaces)
        self.reach.on_failed = self.news.failed
        budget = self.settings.reconcile_budget
        self.reconciliation = Reconciliation(self.workspaces, self.news, self.listing, registry, tasks, budget)
        self.reconciliation.has_live = pool.has_live
        self.reconciliation.why = lambda server, scope: pool.status(server, scope).last_error
        promote, interaction = self.settings.promote_on_ask, self.settings.interaction
        self.asks = Asks(self.workspaces, promote, pool.opening, self._ask_policy, interaction)
        self.calls = Calls(self.reach, tasks, clock, self.listing.facts, Rounds(self.asks, clock))
        self.watch.on_told = self.news.told
        self.subscriptions = Subscriptions(self.watch, self.reach)
        self.watch.has_tools = self.workspaces.has_tools
        self.on_forget: Callable[[Scope], None] = lambda scope: None
        """What else hangs on a scope, told first that it is over."""
        self._unwatch = registry.watch(self._registry_changed)

    def _ask_policy(self, server: ServerName) -> AskPolicy:
        definition = self.registry.get(server)
        return EVERYBODY if definition is None else definition.asks

    def close(self) -> None:
        """Stop hearing of servers. Tasks and connections belong to whoever made them."""
        self._unwatch()

    def in_use(self, scope: Scope) -> bool:
        """Whether somebody listens there, or waits for a server."""
        return self.watch.listens(scope) or self.pool.waits(scope)

    async def roots_changed(self, scope: Scope) -> None:
        """What a client said of its roots is old: its servers are told."""
        self.asks.forget_roots(scope)
        await self.pool.roots_changed(scope)

    async def forget(self, scope: Scope) -> None:
        """Never raises: the session is over whatever its servers say. What it asked for ends before its connections, so
        that its servers can still be told."""
        self.on_forget(scope)
        await self.workspaces.end(scope)
        self.reconciliation.forget(scope)
        self.watch.forget(scope)
        self.listing.forget(scope)
        self.asks.forget(scope)
        self.subscriptions.forget(scope)
        await self.pool.release(scope)

    def _registry_changed(self, change: Change) -> None:
        if change.kind != "added":
            self.reach.end(change.name)
        self.reconciliation.drop(change.name)
        self.listing.drop(change.name)
        waiting = self.watch.replaced(change.name)
        self.watch.tell_merged(EVERY_LIST)
        if change.kind == "updated":
            self.news.changed(change.name)
            for scope in waiting:
                self.tasks.spawn(self._again(change.name, scope), f"again {change.name}")

    async def _again(self, server: ServerName, scope: Scope) -> None:
        """Somebody still listens to a server that is another one now: connect, so that there is something to hear."""
        try:
            await self.reach.connection(server, scope)
        except EmceepeeError:
            return
