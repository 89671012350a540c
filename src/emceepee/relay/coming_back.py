"""Calls of clients that go away with a question and come back with the answer and our state.

What the state stands for decides where they come back to: a call that is held here or in another process, a modern
server that is given its own state back, or a server that wanted an address visited first. Calls of clients that can be
asked nothing pass through.

The one rule: a state is read before anything else is done with the call, and serves its own caller and call only.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeAlias

from msgspec import Raw

from emceepee.errors import ClientFault, EmceepeeError
from emceepee.relay.hold import Hold, Parked, Told
from emceepee.relay.holds import Holds
from emceepee.relay.request_state import Claims, RequestStates, refused, slot_named
from emceepee.relay.seal import ANYWHERE
from emceepee.relay.surface import OnNotice, Surface
from emceepee.relay.url_asks import ToVisit, addresses_of, declined, needed, refused_by_person
from emceepee.relay.url_visits import UrlVisits
from emceepee.runtime.clock import Timer
from emceepee.vocabulary.calls import MAY_ASK, Call
from emceepee.vocabulary.outcomes import Begun, Failed, InputNeeded
from emceepee.vocabulary.profiles import AskProfile
from emceepee.vocabulary.raw_json import to_raw

ROOTS: AskProfile = frozenset(("roots", "roots_news"))

_INTERNAL_ERROR, _INVALID_PARAMS = -32603, -32602
HELD_CALL_LOST = "held_call_lost"

OnTold: TypeAlias = Callable[[Told | EmceepeeError], None]

Allowed: TypeAlias = Callable[[Surface, Call], bool]
"""Whether this caller may still make this call; rights may have changed while a person thought."""


class Others(Protocol):
    """The other processes that serve the same clients."""

    def know(self, slot: str) -> bool: ...

    def forward(self, slot: str, surface: str, call: Call, on_notice: OnNotice | None) -> Awaitable[Told]:
        """To where it is held, and back what is told there. Raises as `ComingBack.held`."""
        ...


class Alone:
    """There are none."""

    def know(self, slot: str) -> bool:
        return False

    async def forward(self, slot: str, surface: str, call: Call, on_notice: OnNotice | None) -> Told:
        raise lost()


class ComingBack:
    def __init__(self, holds: Holds, states: RequestStates, visits: UrlVisits, secret: Callable[[], str]) -> None:
        self.holds = holds
        holds.state = self.state_of
        holds.visited = visits.done
        self.others: Others = Alone()
        self.allowed: Allowed = lambda surface, call: True
        self._states = states
        self._visits = visits
        self._secret = secret
        self._settings = holds.settings
        self._kept: OrderedDict[str, tuple[Raw, Timer]] = OrderedDict()

    @property
    def kept(self) -> int:
        """States of servers that were too large to be carried by a client."""
        return len(self._kept)

    @property
    def slot(self) -> str:
        """By which other processes know this one."""
        return self._states.slot

    def carry(self, surface: Surface, call: Call, on_notice: OnNotice | None) -> Coroutine[Any, Any, Told]:
        """As `Surface.carry`."""
        if call.asks and not self._settings.roots_bridge:
            call.untold = ROOTS
        if call.state is not None:
            return self._came_back(surface, call, on_notice)
        if not call.asks or call.method not in MAY_ASK:
            return surface.carry(call, on_notice)
        if self._asked_in_a_task(call):
            return self._before_its_task(surface, call, on_notice)
        return self._first(surface, call, on_notice)

    def begin(self, surface: Surface, call: Call, on_notice: OnNotice | None, ended: OnTold) -> Begun | None:
        """As `Surface.begin`; who comes back has to wait to be told anything."""
        if call.state is not None:
            return None
        if not call.asks or call.method not in MAY_ASK or self._asked_in_a_task(call):
            return surface.begin(call, on_notice, ended)
        if not self._settings.roots_bridge:
            call.untold = ROOTS
        call.relays_asks = True
        hold = Hold(self.holds, surface, call)
        return hold.begin_at_once(on_notice, lambda told: ended(self._closed(surface, call, told)))

    def _asked_in_a_task(self, call: Call) -> bool:
        return call.tasks == "takes" and call.method == "tools/call" and self._settings.ask_in_tasks

    async def _before_its_task(self, surface: Surface, call: Call, on_notice: OnNotice | None) -> Told:
        """What a server of this era needs before there is a task is answered by calling again."""
        call.relays_asks = True
        told = await surface.carry(call, on_notice)
        return self._closed(surface, call, told) if isinstance(told, InputNeeded) else told

    async def _first(self, surface: Surface, call: Call, on_notice: OnNotice | None) -> Told:
        call.relays_asks = True
        hold = Hold(self.holds, surface, call)
        hold.begin()
        return self._closed(surface, call, await hold.attend(on_notice))

    async def _came_back(self, surface: Surface, call: Call, on_notice: OnNotice | None) -> Told:
        slot = slot_named(call)
        if slot not in (ANYWHERE, self._states.slot):
            if self.others.know(slot):
                return await self.others.forward(slot, surface.name, call, on_notice)
            claims = self._states.read(call, surface.name)
            if claims.k == "hold" and not surface.repeatable(call):
                raise lost()
            return await self._anew(surface, call, on_notice)
        claims = self._states.read(call, surface.name)
        match claims.k:
            case "hold":
                return self._closed(surface, call, await self._held(surface, claims, call, on_notice))
            case "url":
                return await self._visited(surface, claims, call, on_notice)
        call.relays_asks = True
        call.state = self._inner(claims, call)
        return self._closed(surface, call, await surface.carry(call, on_notice))

    async def held(self, surface: str, call: Call, on_notice: OnNotice | None) -> Told:
        """For another process, whose client came back there. Raises `ClientFault`."""
        claims = self._states.read(call, surface)
        hold = self.holds.find(claims.h)
        if hold is None or claims.k != "hold":
            raise refused(call, "no such held call")
        return self._closed(hold.surface, call, await self._held(hold.surface, claims, call, on_notice))

    async def _held(self, surface: Surface, claims: Claims, call: Call, on_notice: OnNotice | None) -> Told:
        hold = self.holds.find(claims.h)
        if hold is None:
            raise refused(call, "no such held call")
        if not self.allowed(surface, call):
            hold.expire("its caller may not make this call any more", at_once=True)
            data = {"reason": "not_authorized"}
            raise ClientFault(_INTERNAL_ERROR, "You may not make this call any more", data)
        return await hold.again(claims.r, call, on_notice)

    async def _anew(self, surface: Surface, call: Call, on_notice: OnNotice | None) -> Told:
        """From the beginning, where doing it twice is the same as doing it once."""
        call.state, call.answers = None, None
        return await self.carry(surface, call, on_notice)

    def state_of(self, hold: Hold) -> Raw:
        """What lets its client come back for the round that it is in."""
        settings = self._settings
        seconds = settings.hold_ttl + settings.tombstone
        return self._states.write(
            hold.call, hold.surface.name, "hold", seconds, params=hold.params, n=self._states.slot, h=hold.id,
            r=hold.round,
        )  # fmt: skip

    # -- what a server needs

    def _closed(self, surface: Surface, call: Call, told: Told) -> Told:
        """What a modern server needs, with its state closed; and what one of a former revision wants visited."""
        if isinstance(told, InputNeeded):
            return told if isinstance(told, Parked | ToVisit) else self._relayed(surface, call, told)
        if isinstance(told, Failed) and "url" in call.asks and (addresses := addresses_of(told)):
            body = needed(addresses)
            body.state = self._states.write(call, surface.name, "url", self._settings.hold_ttl, i=body.addresses)
            return body
        return told

    def _relayed(self, surface: Surface, call: Call, needs: InputNeeded) -> Told:
        undeclared = sorted({want.what for want in needs.wants.values()} - call.asks)
        if undeclared:
            text = f"The server wants what this client did not declare: {', '.join(undeclared)}"
            return Failed(_INTERNAL_ERROR, text, to_raw({"reason": "backend_violation"}))
        if needs.state is None:
            return needs
        size, seconds = len(memoryview(needs.state)), self._settings.relayed_state_ttl
        if size <= self._settings.max_carried_state:
            inner = bytes(needs.state).decode(errors="surrogateescape")
            state = self._states.write(call, surface.name, "relay", seconds, s=inner)
        else:
            handle, slot = self._keep(needs.state.copy()), self._states.slot
            state = self._states.write(call, surface.name, "kept", seconds, n=slot, h=handle)
        return InputNeeded(needs.requests, needs.wants, state)

    def _inner(self, claims: Claims, call: Call) -> Raw:
        """A server's own state, byte for byte."""
        if claims.k == "relay":
            return Raw(claims.s.encode(errors="surrogateescape"))
        kept = self._kept.get(claims.h)
        if kept is None:
            raise refused(call, "the state is kept no more")
        return kept[0]

    def _keep(self, state: Raw) -> str:
        settings, handle = self._settings, self._secret()
        timer = self.holds.clock.after(settings.kept_state_ttl, lambda: self._drop(handle))
        self._kept[handle] = (state, timer)
        while len(self._kept) > settings.max_kept_states:
            self._drop(next(iter(self._kept)))
        return handle

    def _drop(self, handle: str) -> None:
        _, timer = self._kept.pop(handle)
        timer.cancel()

    # -- addresses to visit first

    async def _visited(self, surface: Surface, claims: Claims, call: Call, on_notice: OnNotice | None) -> Told:
        said_no = refused_by_person(call.answers or {}, len(claims.i))
        if said_no:
            return declined(call.method)
        call.state, call.answers = None, None
        told = await self._first(surface, call, on_notice)
        if said_no is None or not self._same_again(told, claims):
            return told
        # A person who agreed to go there has not been there yet.
        if await self._visits.wait(claims.i, self._settings.visit_wait):
            return await self._first(surface, call, on_notice)
        return told

    def _same_again(self, told: Told, claims: Claims) -> bool:
        return isinstance(told, ToVisit) and told.addresses == claims.i

    def close(self) -> None:
        self.holds.close()
        for handle in list(self._kept):
            self._drop(handle)


def lost() -> ClientFault:
    """The process that held it is gone. Whether the call had effects nobody knows, so it is not made again."""
    text = "The call waited in a process that is gone; whether it had effects is unknown"
    return ClientFault(_INVALID_PARAMS, text, {"reason": HELD_CALL_LOST})
