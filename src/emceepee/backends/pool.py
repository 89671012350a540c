"""Which connections there are: one handle per server and scope, links behind them, attempts shared by all who wait.

The one rule: for one server and one scope there is never more than one attempt and one link. Who waits for an attempt
has a limit of its own; the attempt goes on for the others, and for whoever comes next.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Protocol

from emceepee.backends.connection import Connection, Link
from emceepee.backends.definition import ServerDefinition
from emceepee.backends.lifecycle import State, Status, Step, after
from emceepee.errors import BackendFault, BackendTimeout, BackendUnavailable, LimitReached, OutcomeUnknown
from emceepee.runtime.clock import Clock, iso
from emceepee.runtime.spawn import TaskScope, bounded
from emceepee.vocabulary.names import Scope, ServerName

_log = logging.getLogger("emceepee.backends")

EVERYONE: Scope = "*"
"""The scope of a link that all scopes may use."""


@dataclass(slots=True, frozen=True)
class Settings:
    max_links: int = 2000
    close_seconds: float = 5.0
    """One hanging server must not hold up the closing of the others."""


OnLost = Callable[[Link, BackendFault], None]


OnAttached = Callable[[Connection], None]
"""A scope has a live link to a server: its first, or a new one."""

OnScopeLost = Callable[[ServerName, Scope], None]
"""A scope's link is gone, and nobody here closed it."""


class Dialer(Protocol):
    """Opens links; `backends.dial` is the real one."""

    async def dial(self, definition: ServerDefinition, on_lost: OnLost) -> tuple[Link, bool]:
        """A live link, and whether every scope may use it. Raises `BackendFault`. Bounded by itself."""
        ...

    def knows(self, definition: ServerDefinition) -> bool:
        """Whether its era was found out before."""
        ...

    def outdated(self, definition: ServerDefinition) -> bool:
        """Whether what was found out about this server is too old to be believed."""
        ...

    def forget(self, server: ServerName) -> None: ...


class _Slot:
    """One link or the attempt at one: state by the table, and what is shown of it."""

    __slots__ = ("attempt", "connected_at", "connects", "definition", "last_error", "link", "state")

    def __init__(self, definition: ServerDefinition) -> None:
        self.definition = definition
        self.state: State = "not_connected"
        self.attempt: asyncio.Task[Link | BackendFault] | None = None
        self.link: Link | None = None
        self.connected_at: str | None = None
        self.last_error: str | None = None
        self.connects = 0

    def step(self, step: Step) -> None:
        self.state = after(self.state, step)


class _Arrival:
    """Somebody who waits for a connection. A scope that ends meanwhile must not be given one: nobody would end it."""

    __slots__ = ("over",)

    def __init__(self) -> None:
        self.over = False

    def check(self, server: ServerName) -> None:
        if self.over:
            raise BackendUnavailable(server, "the session that wanted it is over")


class Pool:
    """`find` gives the current definition of a name, or None when there is none (any more)."""

    def __init__(
        self,
        find: Callable[[ServerName], ServerDefinition | None],
        dialer: Dialer,
        clock: Clock,
        settings: Settings | None = None,
    ) -> None:
        self._find = find
        self._dialer = dialer
        self._clock = clock
        self._settings = settings or Settings()
        self._tasks = TaskScope("pool")
        self._slots: dict[ServerName, dict[Scope, _Slot]] = {}
        self._handles: dict[Scope, dict[ServerName, Connection]] = {}
        self._arriving: dict[Scope, set[_Arrival]] = {}
        self.on_attached: OnAttached = lambda connection: None
        self.on_scope_lost: OnScopeLost = lambda server, scope: None

    def __len__(self) -> int:
        """Live links and attempts."""
        return sum(slot.link is not None or slot.attempt is not None for slot in self._each_slot())

    def _each_slot(self) -> Collection[_Slot]:
        return {id(slot): slot for scopes in self._slots.values() for slot in scopes.values()}.values()

    @property
    def pending(self) -> int:
        """Questions on their way, over all links."""
        return sum(slot.link.pending for slot in self._each_slot() if slot.link is not None)

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
        arrival = _Arrival()
        self._arriving.setdefault(scope, set()).add(arrival)
        try:
            return await self._arrive(arrival, definition, scope)
        finally:
            self._arriving[scope].discard(arrival)
            if not self._arriving[scope]:
                del self._arriving[scope]

    async def _arrive(self, arrival: _Arrival, definition: ServerDefinition, scope: Scope) -> Connection:
        server = definition.name
        await self._let_the_first_finish(definition)
        arrival.check(server)
        link = await self._link(self._slot(definition, scope), definition.connect_timeout)
        arrival.check(server)
        handle = self._handles.setdefault(scope, {}).setdefault(server, Connection(server, scope))
        if handle.link is not link:
            await handle.attach(link)
            if arrival.over:
                await bounded(handle.detach(), self._settings.close_seconds)
                arrival.check(server)
            self.on_attached(handle)
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
        await bounded(link.close(), self._settings.close_seconds)

    async def _let_the_first_finish(self, definition: ServerDefinition) -> None:
        """Until one attempt has told the era, nobody knows whether scopes share; a second one would only double it."""
        slots = self._slots.get(definition.name, {})
        attempts = [slot.attempt for slot in slots.values() if slot.attempt is not None]
        if attempts and not self._dialer.knows(definition):
            await asyncio.wait(attempts[:1], timeout=definition.connect_timeout)

    def _slot(self, definition: ServerDefinition, scope: Scope) -> _Slot:
        """The shared slot when one is alive or must be, else this scope's own."""
        slots = self._slots.setdefault(definition.name, {})
        shared = slots.get(EVERYONE)
        if shared is not None and (shared.link is not None or definition.affinity == "shared"):
            return shared
        key = EVERYONE if definition.affinity == "shared" else scope
        slot = slots.get(key)
        if slot is None:
            if len(self._each_slot()) >= self._settings.max_links:
                raise LimitReached("backend connections", self._settings.max_links)
            slot = slots[key] = _Slot(definition)
        return slot

    async def _link(self, slot: _Slot, limit: float) -> Link:
        if slot.link is not None and slot.link.alive and not self._dialer.outdated(slot.definition):
            return slot.link
        if slot.attempt is None:
            slot.step("begin")
            slot.attempt = self._tasks.spawn(self._attempt(slot), f"connect:{slot.definition.name}")
        done, _ = await asyncio.wait([slot.attempt], timeout=limit)
        if not done:
            raise BackendTimeout(
                slot.definition.name,
                f"still connecting after {limit:g} s; the attempt goes on, so try again in a moment",
            )
        attempt = done.pop()
        if attempt.cancelled():
            raise BackendUnavailable(slot.definition.name, "it was removed while connecting")
        link = attempt.result()
        if isinstance(link, BackendFault):
            raise link
        return link

    async def _attempt(self, slot: _Slot) -> Link | BackendFault:
        """One attempt to its end. Returns the fault instead of raising it: there may be nobody left to hear it."""
        old, slot.link = slot.link, None
        try:
            return await self._dialled(slot)
        except OutcomeUnknown as fault:
            # Of the handshake, that is: nothing of what the caller wants has been asked yet.
            missed = BackendUnavailable(fault.server, fault.detail)
            self._failed(slot, missed)
            return missed
        except BackendFault as fault:
            self._failed(slot, fault)
            return fault
        except Exception as error:  # noqa: BLE001 -- the wall: whatever a server made us do, its next attempt may begin
            _log.error("internal_error", exc_info=error, extra={"data": {"server": slot.definition.name}})
            ours = BackendUnavailable(slot.definition.name, "connecting failed by a mistake of ours, which is logged")
            self._failed(slot, ours)
            return ours
        finally:
            try:
                if old is not None:
                    await bounded(old.close(), self._settings.close_seconds)
            finally:
                # Only now may another one begin.
                slot.attempt = None

    async def _dialled(self, slot: _Slot) -> Link | BackendFault:
        definition = slot.definition
        link, for_everyone = await self._dialer.dial(definition, lambda link, fault: self._lost(slot, link, fault))
        if self._find(definition.name) != definition:
            # Removed or changed while we connected: what we reached is not what is configured now.
            await bounded(link.close(), self._settings.close_seconds)
            slot.step("close")
            return BackendUnavailable(definition.name, "it was removed or changed while connecting")
        self._succeeded(slot, link, for_everyone)
        return link

    def _succeeded(self, slot: _Slot, link: Link, for_everyone: bool) -> None:
        slot.step("ready")
        slot.link = link
        slot.connects += 1
        slot.connected_at = iso(self._clock.wall())
        slot.last_error = None
        name = slot.definition.name
        if for_everyone and not self._has_shared(name):
            self._slots[name][EVERYONE] = slot
        _log.info("server_connected", extra={"data": {"server": name, "url": slot.definition.address}})

    def _has_shared(self, server: ServerName) -> bool:
        """Two scopes that were both the first may each bring a link for everyone; others use one of them already."""
        shared = self._slots[server].get(EVERYONE)
        return shared is not None and shared.link is not None and shared.link.alive

    def _failed(self, slot: _Slot, fault: BackendFault) -> None:
        slot.step("fail")
        slot.last_error = fault.detail
        _log.warning("server_connect_failed", extra={"data": {"server": slot.definition.name, "error": fault.detail}})

    # -- losing one

    def _lost(self, slot: _Slot, link: Link, fault: BackendFault) -> None:
        self._tasks.spawn(self._close_lost(link), "close_lost")
        if slot.link is not link:
            return
        slot.link = None
        slot.last_error = fault.detail
        slot.step("lose")
        _log.info("server_disconnected", extra={"data": {"server": slot.definition.name, "reason": fault.detail}})
        name = slot.definition.name
        for scope in [scope for scope, handles in self._handles.items() if name in handles]:
            if self._handles[scope][name].holds(link):
                self.on_scope_lost(name, scope)

    async def _close_lost(self, link: Link) -> None:
        await bounded(link.close(), self._settings.close_seconds)

    # -- showing

    def status(self, server: ServerName, scope: Scope) -> Status:
        slots = self._slots.get(server, {})
        shared = slots.get(EVERYONE)
        slot = shared if shared is not None and shared.link is not None else slots.get(scope) or shared
        if slot is None:
            return Status()
        revision = slot.link.about.revision if slot.link is not None else None
        return Status(slot.state, slot.connected_at, slot.last_error, revision, slot.connects)

    def waits(self, scope: Scope) -> bool:
        """Whether a question is on its way over a link that this scope uses, or an attempt at one."""
        if scope in self._arriving:
            return True
        links = [handle.link for handle in self._handles.get(scope, {}).values()]
        return any(link.pending for link in links if link is not None)

    # -- ending

    async def reconnect(self, server: ServerName, scope: Scope) -> Connection:
        """Close what this scope has to the server, and connect anew. A shared link is renewed for everyone."""
        slots = self._slots.get(server, {})
        ending = [slots[key] for key in (EVERYONE, scope) if key in slots]
        # Whoever connected first has the shared one under his own name as well.
        for key in [key for key, slot in slots.items() if slot in ending]:
            del slots[key]
        await self._close_slots(ending)
        self._dialer.forget(server)
        return await self.connection(server, scope)

    async def release(self, scope: Scope) -> None:
        """The scope is over: its own links are closed, and it leaves those it shared, which stay for the others."""
        for arrival in self._arriving.get(scope, ()):
            arrival.over = True
        handles = self._handles.pop(scope, {})
        ending = [slots.pop(scope) for slots in self._slots.values() if scope in slots and scope != EVERYONE]
        await self._close_slots(ending)
        shared = [handle for handle in handles.values() if handle.link is not None]
        await asyncio.gather(*(bounded(handle.detach(), self._settings.close_seconds) for handle in shared))

    async def drop(self, server: ServerName) -> None:
        """The server is gone or changed: every scope's connection to it is closed, in parallel."""
        for scope, handles in list(self._handles.items()):
            handles.pop(server, None)
            if not handles:
                del self._handles[scope]
        self._dialer.forget(server)
        await self._close_slots(list(self._slots.pop(server, {}).values()))

    async def close(self) -> None:
        self._handles.clear()
        servers, self._slots = self._slots, {}
        await self._close_slots([slot for slots in servers.values() for slot in slots.values()])
        await self._tasks.close(grace=self._settings.close_seconds)

    async def _close_slots(self, slots: list[_Slot]) -> None:
        ending = {id(slot): slot for slot in slots if not self._is_shared(slot)}
        await asyncio.gather(*(self._close_slot(slot) for slot in ending.values()))

    def _is_shared(self, slot: _Slot) -> bool:
        return self._slots.get(slot.definition.name, {}).get(EVERYONE) is slot

    async def _close_slot(self, slot: _Slot) -> None:
        attempt, link, slot.link = slot.attempt, slot.link, None
        if attempt is not None:
            attempt.cancel()
            await asyncio.wait([attempt], timeout=self._settings.close_seconds)
        if link is not None:
            await bounded(link.close(), self._settings.close_seconds)
