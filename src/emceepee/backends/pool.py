"""Which connections there are: one handle per server, scope and profile of asks, a supervisor behind them, shared by
all who wait. What a server may ask is said once, when its session begins; so a scope whose calls can be asked different
things has several, made when they are needed.

The one rule: for one server, scope and profile there is never more than one attempt and one link. Who waits for an
attempt has a limit of its own; the attempt goes on for the others, and for whoever comes next.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from emceepee.backends.connection import Connection, Link
from emceepee.backends.definition import HttpEndpoint, ServerDefinition
from emceepee.backends.idle_stop import IdleStop, Restful
from emceepee.backends.leases import Leases
from emceepee.backends.lifecycle import Status
from emceepee.backends.recovery import Reconnection, RecoverySettings, kind_of
from emceepee.backends.supervisor import CLOSE_SECONDS, Supervisor
from emceepee.backends.waiting_room import WaitingRoom
from emceepee.errors import BackendFault, BackendTimeout, BackendUnavailable, EmceepeeError, LimitReached
from emceepee.runtime.backoff import Chance, chance
from emceepee.runtime.clock import Clock, Timer
from emceepee.runtime.deadline import Deadline
from emceepee.runtime.patience import wait_at_most
from emceepee.runtime.spawn import TaskScope, bounded
from emceepee.vocabulary.asks import CLOSED, NO_ASKS, AskDoor, AskProfile
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.names import ANON, Scope, ServerName

_log = logging.getLogger("emceepee.backends")

Place: TypeAlias = tuple[Scope, AskProfile]
"""Whose link it is, and what its server may ask."""

EVERYONE: Place = ("*", NO_ASKS)
"""The place of a link that all scopes may use: of a server without sessions, where each request says what may be asked,
or of one that can ask nothing, because nobody could say whom it means."""


@dataclass(slots=True, frozen=True)
class Settings:
    max_links: int = 2000
    recovery: RecoverySettings = field(default_factory=RecoverySettings)


OnLost = Callable[[Link, BackendFault], None]
OnSaid = Callable[[str], None]


OnAttached = Callable[[Connection, Reconnection | None], None]
"""A scope has a live link to a server: its first (None), or one after a gap. Not told of further ones beside it."""

DoorOf = Callable[[ServerName, Collection[Scope], AskProfile], AskDoor]
"""Where it goes what a server asks of the scopes that use a link, now and later. Said once for each link, because
servers are told so once."""

OnScopeLost = Callable[[ServerName, Scope], None]
"""A scope's link is gone, and nobody here closed it."""

OnScopeSaid = Callable[[ServerName, Scope, str], None]
"""A program that a scope uses has written a line to its standard error."""

OnHealth = Callable[[ServerName, Scope, str | None], None]
"""A server that is connected does not answer our probes (why), or does again (None)."""


class Dialer(Protocol):
    """Opens links; `backends.dial` is the real one."""

    async def dial(
        self,
        definition: ServerDefinition,
        on_lost: OnLost,
        door: AskDoor = CLOSED,
        on_said: OnSaid = lambda line: None,
    ) -> tuple[Link, bool]:
        """A live link, and whether every scope may use it; its server may ask what the door says, and what it writes to
        its standard error is heard. Raises `BackendFault`. Bounded by itself."""
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

    __slots__ = ("call", "over", "server")

    def __init__(self, server: ServerName, call: Call | None) -> None:
        self.server = server
        self.call = call
        self.over = False

    def check(self) -> None:
        if self.over:
            raise BackendUnavailable(self.server, "the session that wanted it is over")


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
        self._supervisors: dict[ServerName, dict[Place, Supervisor]] = {}
        self._rooms: dict[ServerName, WaitingRoom] = {}
        self._handles: dict[Scope, dict[ServerName, dict[AskProfile, Connection]]] = {}
        self._arriving: dict[Scope, set[_Arrival]] = {}
        self._ask_beside: set[ServerName] = set()
        """Servers that ask elsewhere than on the stream of the call, as was seen."""
        self._rounds: Timer | None = None
        self._idle = IdleStop(clock, self._needed)
        self.principal_of: Callable[[Scope], Scope] = lambda scope: scope
        self.on_attached: OnAttached = lambda connection, again: None
        self.door_of: DoorOf = lambda server, scopes, profile: CLOSED
        self.profile_of: Callable[[ServerName, Scope], AskProfile] = lambda server, scope: NO_ASKS
        """What can usually be asked in a scope, for a link that is made for no call."""
        self.on_scope_lost: OnScopeLost = lambda server, scope: None
        self.on_scope_expired: OnScopeLost = lambda server, scope: None
        """Its session is gone and is being made anew; `on_attached` or `on_scope_lost` follows."""
        self.on_scope_replaced: OnScopeLost = lambda server, scope: None
        """What its former link still carried is void: told before anybody can use the next one (X-BUG-35)."""
        self.on_scope_said: OnScopeSaid = lambda server, scope, line: None
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
        return sum(len(each) for handles in self._handles.values() for each in handles.values())

    # -- getting one

    async def connection(
        self, server: ServerName, scope: Scope, profile: AskProfile | None = None, call: Call | None = None
    ) -> Connection:
        """This scope's handle with a live link behind it, whose server may ask what the profile says, or whichever
        there is (None). The call, if it is for one, is whose it is what is asked meanwhile. Raises `BackendFault`,
        `LimitReached`."""
        definition = self._find(server)
        if definition is None:
            raise BackendUnavailable(server, "it is not configured")
        handle = self.ready(server, scope, profile)
        if handle is not None:
            return handle
        if definition.disabled:
            raise BackendUnavailable(server, "it is disabled in the configuration")
        if definition.affinity == "shared":
            profile = NO_ASKS
        elif profile is None:
            profile = next(iter(self._handles.get(scope, {}).get(server, ())), None)
            profile = self.profile_of(server, scope) if profile is None else profile
        with self._arrival(scope, server, call) as arrival:
            return await self._arrive(arrival, definition, (scope, profile))

    def ready(self, server: ServerName, scope: Scope, profile: AskProfile | None = None) -> Connection | None:
        """What `connection` would give at once."""
        definition = self._find(server)
        handle = None if definition is None else self._handle(definition, scope, profile)
        if definition is None or handle is None or handle.link is None or self._dialer.outdated(definition):
            return None
        return handle

    def _handle(self, definition: ServerDefinition, scope: Scope, profile: AskProfile | None) -> Connection | None:
        handles = self._handles.get(scope)
        each = handles.get(definition.name) if handles is not None else None
        if each is None:
            return None
        if profile is not None:
            return each.get(NO_ASKS if definition.affinity == "shared" else profile)
        return next((handle for handle in each.values() if handle.link is not None), None)

    def opening(self, server: ServerName, scopes: Collection[Scope]) -> list[Call]:
        """The calls that wait for a link to this server to be there."""
        waiting = [arrival for scope in scopes for arrival in self._arriving.get(scope, ())]
        return [arrival.call for arrival in waiting if arrival.server == server and arrival.call is not None]

    @contextlib.contextmanager
    def _arrival(self, scope: Scope, server: ServerName, call: Call | None = None) -> Iterator[_Arrival]:
        arrival = _Arrival(server, call)
        self._arriving.setdefault(scope, set()).add(arrival)
        try:
            yield arrival
        finally:
            self._arriving[scope].discard(arrival)
            if not self._arriving[scope]:
                del self._arriving[scope]

    async def _arrive(self, arrival: _Arrival, definition: ServerDefinition, place: Place) -> Connection:
        await self._let_the_first_finish(definition)
        arrival.check()
        supervisor = self._supervisor(definition, place)
        link = await supervisor.link(definition.connect_timeout)
        arrival.check()
        if self._supervisor(definition, place) is not supervisor:
            # It turned out not to be for everyone.
            supervisor = self._supervisor(definition, place)
            link = await supervisor.link(definition.connect_timeout)
            arrival.check()
        return await self._attached(arrival, supervisor, link, place)

    async def _attached(self, arrival: _Arrival, supervisor: Supervisor, link: Link, place: Place) -> Connection:
        server, (scope, profile) = supervisor.definition.name, place
        each = self._handles.setdefault(scope, {}).setdefault(server, {})
        handle = each.setdefault(profile, Connection(server, scope))
        if handle.epoch is supervisor.epoch:
            return handle
        previous, current = handle.identity, link.identity
        handle.epoch, handle.identity = supervisor.epoch, current
        handle.leases = self._leases(supervisor)
        await handle.attach(link)
        if arrival.over:
            await bounded(handle.detach(), CLOSE_SECONDS)
            arrival.check()
        if handle is next(iter(each.values())):
            again = None if previous is None else Reconnection(kind_of(previous, current), previous, current)
            self.on_attached(handle, again)
        return handle

    # -- sessions for one call each

    def _leases(self, supervisor: Supervisor) -> Leases | None:
        definition = supervisor.definition
        learned = definition.affinity == "principal" and definition.name in self._ask_beside
        # Strangers share what has no session behind it, and that is a session for each call.
        alone = definition.affinity == "call" or ANON in supervisor.scopes
        wanted = alone or (learned and bool(supervisor.profile))
        if not wanted or self._is_shared(supervisor):
            return None
        if supervisor.leases is None:

            async def make(lost: OnLost) -> Link:
                try:
                    async with Deadline(self._clock, definition.connect_timeout):
                        return await self._one_more(supervisor, lost)
                except TimeoutError:
                    detail = f"a further session was not there within {definition.connect_timeout:g} s"
                    raise BackendTimeout(name, detail) from None

            name = definition.name
            supervisor.leases = Leases(name, lambda: supervisor.current_link, make, self._tasks, self._clock)
        return supervisor.leases

    async def _one_more(self, supervisor: Supervisor, lost: OnLost) -> Link:
        link, _ = await self._dialer.dial(
            supervisor.definition, lost, self._door(supervisor), functools.partial(self._said, supervisor)
        )
        return link

    def _asks_beside(self, supervisor: Supervisor) -> None:
        """From now on it is worth a session to know to which call a question belongs."""
        name = supervisor.definition.name
        if name in self._ask_beside or not isinstance(supervisor.definition.launch, HttpEndpoint):
            return
        self._ask_beside.add(name)
        _log.info("server_asks_beside", extra={"data": {"server": name}})
        for handles in self._handles.values():
            for handle in handles.get(name, {}).values():
                if handle.epoch is supervisor.epoch:
                    handle.leases = self._leases(supervisor)

    async def try_out(self, definition: ServerDefinition) -> None:
        """Whether a server can be reached as it is defined here, by a link of its own that is closed again. What its
        name stands for until now goes on undisturbed. Raises `BackendFault`."""
        # No server has such a name: what is found out of this one must not be believed of the other.
        trial = replace(definition, name=f"{definition.name}?")
        try:
            async with Deadline(self._clock, definition.connect_timeout):
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
            await wait_at_most(self._clock, attempts[:1], definition.connect_timeout)

    def _supervisor(self, definition: ServerDefinition, place: Place) -> Supervisor:
        """The shared one when it is alive or must be, else this scope's own."""
        each = self._supervisors.setdefault(definition.name, {})
        shared = each.get(EVERYONE)
        if shared is not None and (shared.busy or definition.affinity == "shared"):
            shared.users.add(place)
            return shared
        key = self._key(definition, place)
        found = each.get(key)
        if found is None:
            if len(self._each()) >= self._settings.max_links:
                raise LimitReached("backend connections", self._settings.max_links)
            found = each[key] = self._new_supervisor(definition, place[1])
        found.users.add(place)
        return found

    def _new_supervisor(self, definition: ServerDefinition, profile: AskProfile) -> Supervisor:
        recovery = self._settings.recovery
        room = self._rooms.get(definition.name)
        if room is None:
            room = self._rooms[definition.name] = WaitingRoom(definition.name, self._clock, recovery, self._chance)
        return Supervisor(definition, self, room, self._tasks, self._clock, recovery, profile)

    def _key(self, definition: ServerDefinition | None, place: Place) -> Place:
        """Under which a place finds the supervisor of its own link, when there is none for everyone."""
        scope, profile = place
        if definition is None or definition.affinity == "workspace":
            return place
        return EVERYONE if definition.affinity == "shared" else (self.principal_of(scope), profile)

    # -- for the supervisors

    def current(self, definition: ServerDefinition) -> bool:
        return self._find(definition.name) == definition

    def outdated(self, definition: ServerDefinition) -> bool:
        return self._dialer.outdated(definition)

    async def dial(self, supervisor: Supervisor) -> tuple[Link, bool]:
        definition, said = supervisor.definition, functools.partial(self._said, supervisor)
        return await self._dialer.dial(definition, supervisor.lost, self._door(supervisor), said)

    def _door(self, supervisor: Supervisor) -> AskDoor:
        """What all scopes share can ask nobody: nobody could say whom it means."""
        profile = supervisor.profile
        return self.door_of(supervisor.definition.name, supervisor.scopes, profile) if profile else CLOSED

    def _said(self, supervisor: Supervisor, line: str) -> None:
        """What several callers share may write down what is one's alone: then it is for the log, and for none of
        them."""
        scopes = sorted(supervisor.scopes)
        if len({self.principal_of(scope) for scope in scopes}) == 1:
            for scope in scopes:
                self.on_scope_said(supervisor.definition.name, scope, line)

    def _needed(self, one: Restful) -> bool:
        """Whether somebody has subscribed to a resource of it."""
        name = one.definition.name
        own = [handle for handles in self._handles.values() for handle in handles.get(name, {}).values()]
        return any(handle.interest.uris for handle in own if one.current_link and handle.holds(one.current_link))

    def reached(self, supervisor: Supervisor, for_everyone: bool) -> None:
        self._go_rounds()
        self._idle.watch(supervisor)
        name = supervisor.definition.name
        if supervisor.current_link is not None:
            supervisor.current_link.on_asks_beside = lambda: self._asks_beside(supervisor)
        for scope in self._left_behind(supervisor):
            self.on_scope_replaced(name, scope)
        each = self._supervisors.get(name, {})
        shared = each.get(EVERYONE)
        if for_everyone and (shared is None or shared.current_link is None):
            # Two scopes that were both the first may each bring one; others use one of them already.
            each[EVERYONE] = supervisor
        elif not for_everyone and shared is supervisor and supervisor.definition.affinity != "shared":
            self._keep_for_one(each, supervisor)
        for place in sorted(supervisor.users, key=lambda place: place[0]):
            self._tasks.spawn(self._reattach(supervisor, place), f"reattach:{name}")

    def _keep_for_one(self, each: dict[Place, Supervisor], supervisor: Supervisor) -> None:
        """It used to be for everyone, and its server has sessions now: one place keeps it, of those whose server was
        promised just that."""
        del each[EVERYONE]
        fitting = sorted((one for one in supervisor.users if one[1] == supervisor.profile), key=lambda one: one[0])
        owners = [place for place, one in each.items() if one is supervisor and place[1] == supervisor.profile]
        first = owners[0] if owners else next(iter(fitting), None)
        if first is not None:
            each[first] = supervisor
        supervisor.users.intersection_update({first} if first is not None else ())

    async def _reattach(self, supervisor: Supervisor, place: Place) -> None:
        """A scope has its connection again without having asked. If it did ask, it may have been here first."""
        link = supervisor.current_link
        if link is None or place not in supervisor.users:
            return
        server = supervisor.definition.name
        with self._arrival(place[0], server) as arrival, contextlib.suppress(EmceepeeError):
            await self._attached(arrival, supervisor, link, place)

    def _attached_to(self, supervisor: Supervisor) -> list[Scope]:
        """The scopes whose first connection to its server it is."""
        each = [(scope, handles.get(supervisor.definition.name)) for scope, handles in self._handles.items()]
        return [scope for scope, own in each if own and next(iter(own.values())).epoch is supervisor.epoch]

    def _left_behind(self, supervisor: Supervisor) -> list[Scope]:
        """Who used another link to this server and is about to get this one. A link that was found alive after all
        still carries what it carried. What a further connection of a scope carried ends with that by itself."""
        name, link = supervisor.definition.name, supervisor.current_link
        found = []
        for scope, profile in sorted(supervisor.users, key=lambda place: place[0]):
            each = self._handles.get(scope, {}).get(name)
            first = next(iter(each.items())) if each else None
            if first is None or first[0] != profile or first[1].epoch is None:
                continue
            if link is None or not first[1].holds(link):
                found.append(scope)
        return found

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
        shared = each.get(EVERYONE)
        if shared is not None and shared.busy:
            return shared.status()
        own = self._own(server, scope)
        found = next((one for one in own if one.current_link is not None), own[0] if own else shared)
        return Status() if found is None else found.status()

    def profiles(self, server: ServerName, scope: Scope) -> list[AskProfile]:
        """What this scope's live connections to a server let it ask."""
        each = self._handles.get(scope, {}).get(server, {})
        return [profile for profile, handle in each.items() if handle.link is not None]

    def has_live(self, server: ServerName, scope: Scope) -> bool:
        return bool(self.profiles(server, scope))

    def _own(self, server: ServerName, scope: Scope) -> list[Supervisor]:
        """Those that are a scope's own, or its principal's."""
        definition = self._find(server)
        each = self._supervisors.get(server, {})
        return [one for place, one in each.items() if place == self._key(definition, (scope, place[1]))]

    def waits(self, scope: Scope) -> bool:
        """Whether a question is on its way over a link that this scope uses, or an attempt at one."""
        if scope in self._arriving:
            return True
        links = [handle.link for each in self._handles.get(scope, {}).values() for handle in each.values()]
        return any(link.pending for link in links if link is not None)

    async def roots_changed(self, scope: Scope) -> None:
        """Whoever was promised to be told, is."""
        handles = [handle for each in self._handles.get(scope, {}).values() for handle in each.values()]
        for handle in handles:
            with contextlib.suppress(BackendFault):
                await handle.roots_changed()

    # -- ending

    async def reconnect(self, server: ServerName, scope: Scope) -> Connection:
        """Close what this scope has to the server, and connect anew at once. A shared link is renewed for everyone."""
        each = self._supervisors.get(server, {})
        own = self._own(server, scope)
        ending = [*own, *([each[EVERYONE]] if EVERYONE in each and each[EVERYONE] not in own else ())]
        # Whoever connected first has the shared one under his own name as well.
        for key in [key for key, one in each.items() if one in ending]:
            del each[key]
        for supervisor in ending:
            supervisor.forgo()
            self._replaced(supervisor)
        await self._close_all(ending)
        self._dialer.forget(server)
        if server in self._rooms:
            self._rooms[server].renew()
        definition = self._find(server)
        profile = next((one.profile for one in own), None)
        if ending and definition is not None and not definition.disabled:
            # Beside the first, what else there was is made when it is needed.
            profile = self.profile_of(server, scope) if profile is None else profile
            anew = self._supervisor(definition, (scope, profile))
            anew.connects += sum(one.connects for one in ending)
            anew.users.update(*(one.users for one in ending if one.profile == profile))
        return await self.connection(server, scope, profile)

    async def release(self, scope: Scope) -> None:
        """The scope is over: its own links are closed, and it leaves those it shared, which stay for the others."""
        for arrival in self._arriving.get(scope, ()):
            arrival.over = True
        handles = self._handles.pop(scope, {})
        for supervisor in self._each():
            supervisor.forsake(scope)
        ending = [
            each.pop(place)
            for each in self._supervisors.values()
            for place in [place for place in each if place[0] == scope and self._is_own(each, place)]
        ]
        await self._close_all(ending)
        shared = [one for each in handles.values() for one in each.values() if one.link is not None]
        await asyncio.gather(*(bounded(handle.detach(), CLOSE_SECONDS) for handle in shared))

    def _is_own(self, each: dict[Place, Supervisor], place: Place) -> bool:
        """Whether nobody else uses what stands there: of a principal's, his sessions may."""
        return place != EVERYONE and each[place].definition.affinity != "principal"

    async def drop(self, server: ServerName) -> None:
        """The server is gone or changed: every scope's connection to it is closed, in parallel."""
        for scope, handles in list(self._handles.items()):
            handles.pop(server, None)
            if not handles:
                del self._handles[scope]
        self._dialer.forget(server)
        self._ask_beside.discard(server)
        room = self._rooms.pop(server, None)
        if room is not None:
            room.close()
        await self._close_all(list(self._supervisors.pop(server, {}).values()))

    async def close(self) -> None:
        if self._rounds is not None:
            self._rounds.cancel()
        self._idle.close()
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
