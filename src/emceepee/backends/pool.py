"""Which connections there are: one handle per server and scope, a supervisor behind them, shared by all who wait.

The one rule: for one server and one scope there is never more than one attempt and one link. Who waits for an attempt
has a limit of its own; the attempt goes on for the others, and for whoever comes next.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from emceepee.backends.connection import Connection, Link
from emceepee.backends.definition import ServerDefinition
from emceepee.backends.lifecycle import Status
from emceepee.backends.recovery import Reconnection, RecoverySettings, kind_of
from emceepee.backends.supervisor import CLOSE_SECONDS, Supervisor
from emceepee.backends.waiting_room import WaitingRoom
from emceepee.errors import BackendFault, BackendTimeout, BackendUnavailable, EmceepeeError, LimitReached
from emceepee.runtime.backoff import Chance, chance
from emceepee.runtime.clock import Clock, Timer
from emceepee.runtime.spawn import TaskScope, bounded
from emceepee.vocabulary.asks import CLOSED, AskDoor
from emceepee.vocabulary.names import Scope, ServerName

EVERYONE: Scope = "*"
"""The scope of a link that all scopes may use."""


@dataclass(slots=True, frozen=True)
class Settings:
    max_links: int = 2000
    recovery: RecoverySettings = field(default_factory=RecoverySettings)


OnLost = Callable[[Link, BackendFault], None]


OnAttached = Callable[[Connection, Reconnection | None], None]
"""A scope has a live link to a server: its first (None), or one after a gap."""

DoorOf = Callable[[ServerName, Collection[Scope]], AskDoor]
"""What a server may ask of the scopes that use a link, now and later, and where it goes. Said once for each link,
because servers are told so once."""

OnScopeLost = Callable[[ServerName, Scope], None]
"""A scope's link is gone, and nobody here closed it."""

OnHealth = Callable[[ServerName, Scope, str | None], None]
"""A server that is connected does not answer our probes (why), or does again (None)."""


class Dialer(Protocol):
    """Opens links; `backends.dial` is the real one."""

    async def dial(self, definition: ServerDefinition, on_lost: OnLost, door: AskDoor = CLOSED) -> tuple[Link, bool]:
        """A live link, and whether every scope may use it; its server may ask what the door says. Raises
        `BackendFault`. Bounded by itself."""
        ...

    def knows(self, definition: ServerDefinition) -> bool:
        """Whether its era was found out before."""
        ...

    def outdated(self, definition: ServerDefinition) -> bool:
        """Whether what was found out about this server is too old to be believed."""
        ...

    def forget(self, server: ServerName) -> None: ...


class _Arrival:
    """Somebody who waits for a connection. A scope that ends meanwhile must not be given one: nobody would end it."""

    __slots__ = ("over",)

    def __init__(self) -> None:
        self.over = False

    def check(self, server: ServerName) -> None:
        if self.over:
            raise BackendUnavailable(server, "the session that wanted it is over")


class Pool:
    """`find` gives the current definition of a name, or None when there is none (any more). Implements
    `supervisor.Owner`."""

    def __init__(
        self,
        find: Callable[[ServerName], ServerDefinition | None],
        dialer: Dialer,
        clock: Clock,
        settings: Settings | None = None,
        chance: Chance = chance,
    ) -> None:
        self._find = find
        self._dialer = dialer
        self._clock = clock
        self._settings = settings or Settings()
        self._chance = chance
        self._tasks = TaskScope("pool")
        self._supervisors: dict[ServerName, dict[Scope, Supervisor]] = {}
        self._rooms: dict[ServerName, WaitingRoom] = {}
        self._handles: dict[Scope, dict[ServerName, Connection]] = {}
        self._arriving: dict[Scope, set[_Arrival]] = {}
        self._rounds: Timer | None = None
        self.principal_of: Callable[[Scope], Scope] = lambda scope: scope
        self.on_attached: OnAttached = lambda connection, again: None
        self.door_of: DoorOf = lambda server, scopes: CLOSED
        self.on_scope_lost: OnScopeLost = lambda server, scope: None
        self.on_scope_expired: OnScopeLost = lambda server, scope: None
        """Its session is gone and is being made anew; `on_attached` or `on_scope_lost` follows."""
        self.on_scope_replaced: OnScopeLost = lambda server, scope: None
        """What its former link still carried is void: told before anybody can use the next one (X-BUG-35)."""
        self.on_health: OnHealth = lambda server, scope, why: None

    def __len__(self) -> int:
        """Live links and attempts."""
        return sum(one.current_link is not None or one.attempt is not None for one in self._each())

    def _each(self) -> Collection[Supervisor]:
        return {id(one): one for scopes in self._supervisors.values() for one in scopes.values()}.values()

    @property
    def pending(self) -> int:
        """Questions on their way, over all links."""
        return sum(one.current_link.pending for one in self._each() if one.current_link is not None)

    @property
    def handles(self) -> int:
        return sum(len(handles) for handles in self._handles.values())

    # -- getting one

    async def connection(self, server: ServerName, scope: Scope) -> Connection:
        """This scope's handle with a live link behind it. Raises `BackendFault`, `LimitReached`."""
        definition = self._find(server)
        if definition is None:
            raise BackendUnavailable(server, "it is not configured")
        handles = self._handles.get(scope)
        handle = handles.get(server) if handles is not None else None
        if handle is not None and handle.link is not None and not self._dialer.outdated(definition):
            return handle
        if definition.disabled:
            raise BackendUnavailable(server, "it is disabled in the configuration")
        with self._arrival(scope) as arrival:
            return await self._arrive(arrival, definition, scope)

    @contextlib.contextmanager
    def _arrival(self, scope: Scope) -> Iterator[_Arrival]:
        arrival = _Arrival()
        self._arriving.setdefault(scope, set()).add(arrival)
        try:
            yield arrival
        finally:
            self._arriving[scope].discard(arrival)
            if not self._arriving[scope]:
                del self._arriving[scope]

    async def _arrive(self, arrival: _Arrival, definition: ServerDefinition, scope: Scope) -> Connection:
        await self._let_the_first_finish(definition)
        arrival.check(definition.name)
        supervisor = self._supervisor(definition, scope)
        link = await supervisor.link(definition.connect_timeout)
        arrival.check(definition.name)
        if self._supervisor(definition, scope) is not supervisor:
            # It turned out not to be for everyone.
            supervisor = self._supervisor(definition, scope)
            link = await supervisor.link(definition.connect_timeout)
            arrival.check(definition.name)
        return await self._attached(arrival, supervisor, link, scope)

    async def _attached(self, arrival: _Arrival, supervisor: Supervisor, link: Link, scope: Scope) -> Connection:
        server = supervisor.definition.name
        handle = self._handles.setdefault(scope, {}).setdefault(server, Connection(server, scope))
        if handle.epoch is supervisor.epoch:
            return handle
        previous, current = handle.identity, link.identity
        handle.epoch, handle.identity = supervisor.epoch, current
        await handle.attach(link)
        if arrival.over:
            await bounded(handle.detach(), CLOSE_SECONDS)
            arrival.check(server)
        again = None if previous is None else Reconnection(kind_of(previous, current), previous, current)
        self.on_attached(handle, again)
        return handle

    async def try_out(self, definition: ServerDefinition) -> None:
        """Whether a server can be reached as it is defined here, by a link of its own that is closed again. What its
        name stands for until now goes on undisturbed. Raises `BackendFault`."""
        # No server has such a name: what is found out of this one must not be believed of the other.
        trial = replace(definition, name=f"{definition.name}?")
        try:
            async with asyncio.timeout(definition.connect_timeout):
                link, _ = await self._dialer.dial(trial, lambda link, fault: None)
        except TimeoutError:
            limit = definition.connect_timeout
            raise BackendTimeout(definition.name, f"it could not be reached within {limit:g} s") from None
        finally:
            self._dialer.forget(trial.name)
        await bounded(link.close(), CLOSE_SECONDS)

    async def _let_the_first_finish(self, definition: ServerDefinition) -> None:
        """Until one attempt has told the era, nobody knows whether scopes share; a second one would only double it."""
        each = self._supervisors.get(definition.name, {})
        attempts = [one.attempt for one in each.values() if one.attempt is not None]
        if attempts and not self._dialer.knows(definition):
            await asyncio.wait(attempts[:1], timeout=definition.connect_timeout)

    def _supervisor(self, definition: ServerDefinition, scope: Scope) -> Supervisor:
        """The shared one when it is alive or must be, else this scope's own."""
        each = self._supervisors.setdefault(definition.name, {})
        shared = each.get(EVERYONE)
        if shared is not None and (shared.busy or definition.affinity == "shared"):
            shared.scopes.add(scope)
            return shared
        key = self._key(definition, scope)
        found = each.get(key)
        if found is None:
            if len(self._each()) >= self._settings.max_links:
                raise LimitReached("backend connections", self._settings.max_links)
            found = each[key] = self._new_supervisor(definition)
        found.scopes.add(scope)
        return found

    def _new_supervisor(self, definition: ServerDefinition) -> Supervisor:
        recovery = self._settings.recovery
        room = self._rooms.get(definition.name)
        if room is None:
            room = self._rooms[definition.name] = WaitingRoom(definition.name, self._clock, recovery, self._chance)
        return Supervisor(definition, self, room, self._tasks, self._clock, recovery)

    def _key(self, definition: ServerDefinition | None, scope: Scope) -> Scope:
        """Under which a scope finds the supervisor of its own link, when there is none for everyone."""
        if definition is None or definition.affinity == "workspace":
            return scope
        return EVERYONE if definition.affinity == "shared" else self.principal_of(scope)

    # -- for the supervisors

    def current(self, definition: ServerDefinition) -> bool:
        return self._find(definition.name) == definition

    def outdated(self, definition: ServerDefinition) -> bool:
        return self._dialer.outdated(definition)

    async def dial(self, supervisor: Supervisor) -> tuple[Link, bool]:
        definition = supervisor.definition
        # What all scopes share can ask nobody: nobody could say whom it means.
        door = CLOSED if definition.affinity == "shared" else self.door_of(definition.name, supervisor.scopes)
        return await self._dialer.dial(definition, supervisor.lost, door)

    def reached(self, supervisor: Supervisor, for_everyone: bool) -> None:
        self._go_rounds()
        name = supervisor.definition.name
        for scope in self._left_behind(supervisor):
            self.on_scope_replaced(name, scope)
        each = self._supervisors.get(name, {})
        shared = each.get(EVERYONE)
        if for_everyone and (shared is None or shared.current_link is None):
            # Two scopes that were both the first may each bring one; others use one of them already.
            each[EVERYONE] = supervisor
        elif not for_everyone and shared is supervisor and supervisor.definition.affinity != "shared":
            self._keep_for_one(each, supervisor)
        for scope in sorted(supervisor.scopes):
            self._tasks.spawn(self._reattach(supervisor, scope), f"reattach:{name}")

    def _keep_for_one(self, each: dict[Scope, Supervisor], supervisor: Supervisor) -> None:
        """It used to be for everyone, and its server has sessions now: one scope keeps it."""
        del each[EVERYONE]
        owners = [scope for scope, one in each.items() if one is supervisor]
        first = owners[0] if owners else next(iter(sorted(supervisor.scopes)), None)
        if first is not None:
            each[first] = supervisor
        supervisor.scopes.intersection_update({first})

    async def _reattach(self, supervisor: Supervisor, scope: Scope) -> None:
        """A scope has its connection again without having asked. If it did ask, it may have been here first."""
        link = supervisor.current_link
        if link is None or scope not in supervisor.scopes:
            return
        with self._arrival(scope) as arrival, contextlib.suppress(EmceepeeError):
            await self._attached(arrival, supervisor, link, scope)

    def _attached_to(self, supervisor: Supervisor) -> list[Scope]:
        name = supervisor.definition.name
        return [
            scope
            for scope, handles in self._handles.items()
            if name in handles and handles[name].epoch is supervisor.epoch
        ]

    def _left_behind(self, supervisor: Supervisor) -> list[Scope]:
        """Who used another link to this server and is about to get this one. A link that was found alive after all
        still carries what it carried."""
        name, link = supervisor.definition.name, supervisor.current_link
        handles = [(scope, self._handles.get(scope, {}).get(name)) for scope in sorted(supervisor.scopes)]
        return [
            scope
            for scope, one in handles
            if one is not None and one.epoch is not None and (link is None or not one.holds(link))
        ]

    def lost(self, supervisor: Supervisor) -> None:
        for scope in self._attached_to(supervisor):
            self.on_scope_lost(supervisor.definition.name, scope)

    def expired(self, supervisor: Supervisor) -> None:
        for scope in self._attached_to(supervisor):
            self.on_scope_expired(supervisor.definition.name, scope)
        self._replaced(supervisor)

    def _replaced(self, supervisor: Supervisor) -> None:
        for scope in self._attached_to(supervisor):
            self.on_scope_replaced(supervisor.definition.name, scope)

    def health(self, supervisor: Supervisor, why: str | None) -> None:
        for scope in self._attached_to(supervisor):
            self.on_health(supervisor.definition.name, scope, why)

    def _go_rounds(self) -> None:
        """Look at every connection in use, again and again while there is any."""
        every = self._settings.recovery.probe_every
        if every > 0 and self._rounds is None:
            self._rounds = self._clock.after(every, self._round)

    def _round(self) -> None:
        self._rounds = None
        each = self._each()
        for supervisor in each:
            if supervisor.due_for_probe():
                self._tasks.spawn(supervisor.look(), "probe")
        if any(supervisor.current_link is not None for supervisor in each):
            self._go_rounds()

    # -- showing

    def status(self, server: ServerName, scope: Scope) -> Status:
        each = self._supervisors.get(server, {})
        shared, key = each.get(EVERYONE), self._key(self._find(server), scope)
        found = shared if shared is not None and shared.busy else each.get(key) or shared
        return Status() if found is None else found.status()

    def waits(self, scope: Scope) -> bool:
        """Whether a question is on its way over a link that this scope uses, or an attempt at one."""
        if scope in self._arriving:
            return True
        links = [handle.link for handle in self._handles.get(scope, {}).values()]
        return any(link.pending for link in links if link is not None)

    # -- ending

    async def reconnect(self, server: ServerName, scope: Scope) -> Connection:
        """Close what this scope has to the server, and connect anew at once. A shared link is renewed for everyone."""
        each = self._supervisors.get(server, {})
        own = self._key(self._find(server), scope)
        ending = [each[key] for key in {EVERYONE, own} if key in each]
        # Whoever connected first has the shared one under his own name as well.
        for key in [key for key, one in each.items() if one in ending]:
            del each[key]
        for supervisor in ending:
            if supervisor.current_link is not None:
                supervisor.current_link.void_asks()
            self._replaced(supervisor)
        await self._close_all(ending)
        self._dialer.forget(server)
        if server in self._rooms:
            self._rooms[server].renew()
        definition = self._find(server)
        if ending and definition is not None and not definition.disabled:
            anew = self._supervisor(definition, scope)
            anew.connects += sum(one.connects for one in ending)
            anew.scopes.update(*(one.scopes for one in ending))
        return await self.connection(server, scope)

    async def release(self, scope: Scope) -> None:
        """The scope is over: its own links are closed, and it leaves those it shared, which stay for the others."""
        for arrival in self._arriving.get(scope, ()):
            arrival.over = True
        handles = self._handles.pop(scope, {})
        for supervisor in self._each():
            supervisor.forsake(scope)
        ending = [each.pop(scope) for each in self._supervisors.values() if self._is_own(each, scope)]
        await self._close_all(ending)
        shared = [handle for handle in handles.values() if handle.link is not None]
        await asyncio.gather(*(bounded(handle.detach(), CLOSE_SECONDS) for handle in shared))

    def _is_own(self, each: dict[Scope, Supervisor], scope: Scope) -> bool:
        """Whether nobody else uses what stands under this scope: of a principal's, his sessions may."""
        return scope != EVERYONE and scope in each and each[scope].definition.affinity != "principal"

    async def drop(self, server: ServerName) -> None:
        """The server is gone or changed: every scope's connection to it is closed, in parallel."""
        for scope, handles in list(self._handles.items()):
            handles.pop(server, None)
            if not handles:
                del self._handles[scope]
        self._dialer.forget(server)
        room = self._rooms.pop(server, None)
        if room is not None:
            room.close()
        await self._close_all(list(self._supervisors.pop(server, {}).values()))

    async def close(self) -> None:
        if self._rounds is not None:
            self._rounds.cancel()
        self._handles.clear()
        for room in self._rooms.values():
            room.close()
        servers, self._supervisors = self._supervisors, {}
        await self._close_all([one for each in servers.values() for one in each.values()])
        await self._tasks.close(grace=CLOSE_SECONDS)

    async def _close_all(self, supervisors: list[Supervisor]) -> None:
        ending = {id(one): one for one in supervisors if not self._is_shared(one)}
        await asyncio.gather(*(one.close() for one in ending.values()))

    def _is_shared(self, supervisor: Supervisor) -> bool:
        return self._supervisors.get(supervisor.definition.name, {}).get(EVERYONE) is supervisor
