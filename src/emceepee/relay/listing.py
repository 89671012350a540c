"""What each server lists, as far as each scope knows: asked when needed, kept while fresh, never waited for too long.

It merges nothing and pages nothing. Freshness: a modern server's hint counts down; without a hint a list is asked for
each time, unless its server tells this scope of changes, or the surface said how long it may assume; a change notice or
a new connection makes it stale at once (era-bridging 2.10, D11).

The one rule: whoever asks is answered within the time it gave, with what is known and how old that is; the asking goes
on for the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias
from weakref import WeakValueDictionary

from emceepee.backends.catalogue import Listed, ListName, ToolFacts
from emceepee.errors import BackendTimeout, BackendUnavailable, EmceepeeError, OutcomeUnknown
from emceepee.relay.drain import drain
from emceepee.relay.manifests import Manifests
from emceepee.relay.reach import Reach
from emceepee.relay.settings import RelaySettings
from emceepee.runtime.clock import Clock
from emceepee.runtime.patience import wait_at_most
from emceepee.runtime.spawn import TaskScope
from emceepee.vocabulary.names import Scope, ServerName
from emceepee.vocabulary.notices import ListKind
from emceepee.vocabulary.outcomes import CacheHints, Failed

OnLate: TypeAlias = Callable[[ServerName, Scope, ListKind], None]
"""Hears of a list that has come, or come up to date, after it was shown as missing or old."""

Watched: TypeAlias = Callable[[ServerName, Scope, ListKind], bool]
"""Whether the server tells this scope when such a list changes."""

_TOLD_BY: dict[ListName, ListKind] = {
    "tools": "tools",
    "prompts": "prompts",
    "resources": "resources",
    "templates": "resources",
}
_ALL: tuple[ListName, ...] = ("tools", "prompts", "resources", "templates")


@dataclass(slots=True, frozen=True)
class Shown:
    """One server's list as it is shown now. `fault` or `refused` says why it is not fresh."""

    state: Literal["fresh", "stale", "down"]
    listed: Listed | None = None
    age: float = 0.0
    fault: EmceepeeError | None = None
    refused: Failed | None = None

    @property
    def why(self) -> str | None:
        if self.fault is not None:
            return str(self.fault)
        return self.refused.message if self.refused is not None else None

    def hints(self) -> CacheHints | None:
        """What remains of the server's own; nothing may be reused of what is not fresh."""
        if self.state != "fresh" or self.listed is None:
            return CacheHints(0, "private")
        hints = self.listed.hints
        return hints and CacheHints(max(0, hints.ttl_ms - round(self.age * 1000)), hints.scope)


@dataclass(slots=True)
class _Shelf:
    """What is remembered of one list. `changes` counts the reasons to ask again; `seen` is its value when the kept list
    was asked for, `asking` when the running question was. `slow` is a list whose
    server was waited for in vain and has not answered since, `missed` one that was shown as missing or old, `borrowed`
    one that this scope has never been told by the server itself. `empty_since` is when the server first listed nothing
    where it had listed something before it was away."""

    listed: Listed | None = None
    at: float = 0.0
    changes: int = 0
    seen: int = -1
    connects: int = 0
    task: asyncio.Task[None] | None = None
    asking: int = -1
    slow: bool = False
    missed: bool = False
    borrowed: bool = False
    empty_since: float | None = None
    fault: EmceepeeError | None = None
    refused: Failed | None = None


class Listing:
    def __init__(self, reach: Reach, tasks: TaskScope, clock: Clock, settings: RelaySettings, watched: Watched) -> None:
        self.manifests = Manifests(reach.registry.get, clock, settings.stale_grace)
        self._reach = reach
        self._tasks = tasks
        self._clock = clock
        self._settings = settings
        self._watched = watched
        self.on_late: OnLate = lambda server, scope, kind: None
        self.on_found: OnLate = lambda server, scope, kind: None
        """Hears of a list that is another one since a new connection, which its server had no occasion to tell."""
        self._shelves: dict[Scope, dict[tuple[ServerName, ListName], _Shelf]] = {}
        self._count = 0
        self._same: WeakValueDictionary[tuple[ServerName, ListName, bytes], Listed] = WeakValueDictionary()

    def __len__(self) -> int:
        return self._count

    # -- asking

    async def get(
        self, server: ServerName, scope: Scope, name: ListName, patience: float, assume: float = 0.0
    ) -> Shown:
        """One server's list. Raises nothing that the server did; see `Shown`. One that is away is not waited for longer
        than the listing budget where there is something to show."""
        budget = self._settings.listing_budget
        if patience > budget and self._reach.pool.status(server, scope).state != "connected":
            patience = budget if self._shelf(server, scope, name).listed is not None else patience
        return (await self.get_all((server,), scope, name, patience, assume))[0][1]

    async def get_all(
        self, servers: Sequence[ServerName], scope: Scope, name: ListName, patience: float, assume: float = 0.0
    ) -> list[tuple[ServerName, Shown]]:
        """Several servers' at once, in their order, within `patience` seconds for all together. Among several, one that
        was waited for in vain is given no more than a moment until it has answered."""
        shelves = [(server, self._shelf(server, scope, name)) for server in servers]
        asked = [
            (shelf, self._ask(server, scope, name, shelf))
            for server, shelf in shelves
            if not self._is_fresh(server, scope, name, shelf, assume)
        ]
        brief = [(shelf, task) for shelf, task in asked if shelf.slow and len(servers) > 1]
        await self._wait([one for one in asked if one not in brief], patience)
        await self._wait(brief, min(patience, self._settings.slow_budget))
        late = {id(shelf) for shelf, task in asked if not task.done()}
        shown = [(server, self._show(server, shelf, id(shelf) in late, patience)) for server, shelf in shelves]
        for (_, shelf), (_, one) in zip(shelves, shown, strict=True):
            shelf.missed = shelf.missed or one.state != "fresh"
        return shown

    async def _wait(self, asked: Sequence[tuple[_Shelf, asyncio.Task[None]]], patience: float) -> None:
        if asked and not await wait_at_most(self._clock, [task for _, task in asked], patience):
            for shelf, task in asked:
                shelf.slow = shelf.slow or not task.done()

    def standing(self, server: ServerName, scope: Scope) -> dict[str, Shown]:
        """How each list that was asked for stands, without asking."""
        shelves, there = self._shelves.get(scope, {}), self._reach.pool.status(server, scope).state == "connected"
        kept = {name: shelves[server, name] for name in _ALL if (server, name) in shelves}
        shown = {name: self._show(server, shelf, False, 0.0) for name, shelf in kept.items()}
        return {
            name: one if there or one.state != "fresh" else replace(one, state="stale") for name, one in shown.items()
        }

    def known(self, server: ServerName, scope: Scope, name: ListName) -> Listed | None:
        """What was last seen, however old; for looking things up without waiting."""
        shelves = self._shelves.get(scope)
        shelf = shelves.get((server, name)) if shelves is not None else None
        return shelf.listed if shelf is not None else None

    def unchanged(self, server: ServerName, scope: Scope, name: ListName) -> Listed | None:
        """What was last seen, if nothing has been heard since that would make it wrong; for later pages of it."""
        shelf = self._shelf(server, scope, name)
        return shelf.listed if shelf.seen == shelf.changes and not self._is_new_link(server, scope, shelf) else None

    def facts(self, server: ServerName, scope: Scope, tool: str) -> ToolFacts | None:
        listed = self.known(server, scope, "tools")
        return listed.facts(tool) if listed is not None else None

    # -- being told

    def changed(self, server: ServerName, scope: Scope, kind: ListKind) -> None:
        shelves = self._shelves.get(scope, {})
        for name in _ALL:
            if _TOLD_BY[name] == kind and (shelf := shelves.get((server, name))) is not None:
                shelf.changes += 1

    def drop(self, server: ServerName) -> None:
        """The server is gone or is another one now."""
        self.manifests.forget(server)
        for scope in list(self._shelves):
            for key in [key for key in self._shelves[scope] if key[0] == server]:
                self._discard(scope, key)

    def forget(self, scope: Scope) -> None:
        for key in list(self._shelves.get(scope, {})):
            self._discard(scope, key)

    # -- inside

    def _shelf(self, server: ServerName, scope: Scope, name: ListName) -> _Shelf:
        shelves = self._shelves.setdefault(scope, {})
        shelf = shelves.get((server, name))
        if shelf is None:
            if self._count >= self._settings.max_shelves:
                oldest = next(iter(self._shelves))
                if oldest != scope:
                    self.forget(oldest)
            shelf = shelves[(server, name)] = self._new_shelf(server, name)
            self._count += 1
        return shelf

    def _new_shelf(self, server: ServerName, name: ListName) -> _Shelf:
        """With what is known of the server from others, or from before we were started."""
        known = self.manifests.known(server, name)
        if known is None:
            return _Shelf()
        listed, age = known
        return _Shelf(listed, self._clock.now() - age, connects=-1, borrowed=True)

    def _discard(self, scope: Scope, key: tuple[ServerName, ListName]) -> None:
        shelf = self._shelves[scope].pop(key)
        self._count -= 1
        if shelf.task is not None:
            shelf.task.cancel()
        if not self._shelves[scope]:
            del self._shelves[scope]

    def _is_fresh(self, server: ServerName, scope: Scope, name: ListName, shelf: _Shelf, assume: float) -> bool:
        if shelf.listed is None or shelf.seen != shelf.changes or self._is_new_link(server, scope, shelf):
            return False
        hints = shelf.listed.hints
        lasts = max(assume, hints.ttl_ms / 1000 if hints is not None else 0.0)
        if hints is None and self._watched(server, scope, _TOLD_BY[name]):
            lasts = max(lasts, self._settings.watched_fresh)
        return self._clock.now() < shelf.at + lasts

    def _is_new_link(self, server: ServerName, scope: Scope, shelf: _Shelf) -> bool:
        return self._reach.pool.status(server, scope).connects != shelf.connects

    def _ask(self, server: ServerName, scope: Scope, name: ListName, shelf: _Shelf) -> asyncio.Task[None]:
        """The running question if nothing changed since it was put, else a new one."""
        if shelf.task is None or shelf.task.done() or shelf.asking != shelf.changes:
            shelf.asking = shelf.changes
            work = self._fill(server, scope, name, shelf, shelf.changes)
            shelf.task = self._tasks.spawn(work, f"list {name} of {server}")
        return shelf.task

    async def _fill(self, server: ServerName, scope: Scope, name: ListName, shelf: _Shelf, changes: int) -> None:
        shelf.fault = shelf.refused = None
        try:
            listed, connects = await self._read(server, scope, name)
        except EmceepeeError as fault:
            shelf.fault = fault
            return
        shelf.slow = False
        if isinstance(listed, Failed):
            shelf.refused = listed
        elif changes >= shelf.seen and self._is_too_early(shelf, listed, connects):
            shelf.fault = BackendUnavailable(server, "it has just come back and lists nothing yet")
        elif changes >= shelf.seen:
            shelf.at, shelf.seen = self._clock.now(), changes
            self._put(server, scope, shelf, self._shared(server, listed), connects)
            self.manifests.seen(server, listed, self._for_everyone(server, scope))

    def _is_too_early(self, shelf: _Shelf, listed: Listed, connects: int) -> bool:
        before = shelf.listed
        if listed.items or before is None or not before.items or shelf.borrowed or shelf.connects == connects:
            shelf.empty_since = None
            return False
        if shelf.empty_since is None:
            shelf.empty_since = self._clock.now()
        return self._clock.now() < shelf.empty_since + self._settings.removal_grace

    async def wait_out(self, server: ServerName, scope: Scope, name: ListName) -> bool:
        """Until a list that is empty all of a sudden would be believed. Whether there was something to wait for."""
        shelf = self._shelves.get(scope, {}).get((server, name))
        if shelf is None or shelf.empty_since is None:
            return False
        await self._clock.sleep(max(0.0, shelf.empty_since + self._settings.removal_grace - self._clock.now()))
        return True

    def _put(self, server: ServerName, scope: Scope, shelf: _Shelf, listed: Listed, connects: int) -> None:
        before, after_a_gap = shelf.listed, shelf.connects != connects
        shelf.listed, shelf.connects = listed, connects
        missed, shelf.missed = shelf.missed, False
        borrowed, shelf.borrowed = shelf.borrowed, False
        if before is not None and before.digest == listed.digest:
            return
        if before is not None and after_a_gap and (missed or not borrowed):
            self.on_found(server, scope, _TOLD_BY[listed.name])
        elif missed:
            self.on_late(server, scope, _TOLD_BY[listed.name])

    def _for_everyone(self, server: ServerName, scope: Scope) -> bool:
        """Whether the server cannot tell scopes apart, so that what it lists is nobody's own."""
        return self._reach.pool.status(server, scope).for_everyone

    def adopt(self, server: ServerName, giver: Scope, scope: Scope, name: ListName) -> bool:
        """Take over what another scope was shown over the link that both use. False when that is not fresh."""
        theirs = self._shelves.get(giver, {}).get((server, name))
        if theirs is None or theirs.listed is None or theirs.seen != theirs.changes:
            return False
        if self._is_new_link(server, scope, theirs):
            return False
        shelf = self._shelf(server, scope, name)
        shelf.at, shelf.seen, shelf.slow = theirs.at, shelf.changes, False
        shelf.fault = shelf.refused = None
        self._put(server, scope, shelf, theirs.listed, theirs.connects)
        return True

    async def _read(self, server: ServerName, scope: Scope, name: ListName) -> tuple[Listed | Failed, int]:
        """The list and the number of the link it came over. A link that turns out to be lost is made anew once."""
        connection = await self._reach.connection(server, scope)
        try:
            listed = await drain(server, scope, name, connection, self._settings)
        except (BackendUnavailable, OutcomeUnknown):
            connection = await self._reach.connection(server, scope)
            listed = await drain(server, scope, name, connection, self._settings)
        return listed, self._reach.pool.status(server, scope).connects

    def _shared(self, server: ServerName, listed: Listed) -> Listed:
        """The same list of another scope, if there is one: a thousand sessions see mostly one catalogue."""
        key = (server, listed.name, listed.digest)
        same = self._same.get(key)
        if same is not None and same.hints == listed.hints and same.extras == listed.extras:
            return same
        self._same[key] = listed
        return listed

    def _show(self, server: ServerName, shelf: _Shelf, waiting: bool, patience: float) -> Shown:
        fault = BackendTimeout(server, f"did not answer within {patience:g} s") if waiting else shelf.fault
        age = self._clock.now() - shelf.at
        if shelf.listed is None or (fault is not None and age > self._settings.stale_grace):
            return Shown("down", fault=fault, refused=shelf.refused)
        if waiting or fault is not None or shelf.refused is not None:
            return Shown("stale", shelf.listed, age, fault, shelf.refused)
        return Shown("fresh", shelf.listed, age)
