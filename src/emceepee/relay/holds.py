"""The calls that wait for a client who was sent away: how many there may be, whose they are, and what is remembered of
those that are over.

It carries no call and reads no state. The one rule: there are never more of them than the limits say: of one caller the
one that waits longest gives way, and where that does not help the server is told at once that nobody answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Raw

from emceepee.relay.hold import Hold
from emceepee.relay.settings import RelaySettings
from emceepee.runtime.clock import Clock, Timer
from emceepee.runtime.deadline import Deadline
from emceepee.runtime.spawn import TaskScope
from emceepee.sessions.workspaces import Workspaces
from emceepee.state.events import EventType
from emceepee.vocabulary.asks import AskKind, RaisedAsk
from emceepee.vocabulary.names import ANON, Scope, scope_label

_log = logging.getLogger("emceepee.relay")

WriteState: TypeAlias = Callable[[Hold], Raw]

_EXPIRED: dict[AskKind, EventType] = {"elicitation": "elicitation_expired", "sampling": "sampling_expired"}


def _unwritten(hold: Hold) -> Raw:
    raise AssertionError("nobody reads states")


class Holds:
    """Implements `hold.Keeper`."""

    def __init__(
        self,
        workspaces: Workspaces,
        clock: Clock,
        tasks: TaskScope,
        settings: RelaySettings,
        secret: Callable[[], str],
    ) -> None:
        self.clock = clock
        self.tasks = tasks
        self.settings = settings
        self.state: WriteState = _unwritten
        """Writes what a client is given to come back with; set by whoever reads it."""
        self.visited: Callable[[str], None] = lambda elicitation_id: None
        self._workspaces = workspaces
        self._secret = secret
        self._held: dict[str, Hold] = {}
        self._of: dict[str, OrderedDict[str, Hold]] = {}
        self._over: OrderedDict[str, tuple[Hold, Timer]] = OrderedDict()
        self._over_bytes = 0
        self._emptied: asyncio.Future[None] | None = None
        self.closed = False

    def __len__(self) -> int:
        """Calls that are held now."""
        return len(self._held)

    @property
    def remembered(self) -> int:
        """Of those that are over, how they ended."""
        return len(self._over)

    def of(self, principal: str) -> int:
        return len(self._of.get(principal, ()))

    @property
    def waiting_for_clients(self) -> int:
        return sum(hold.life == "parked" for hold in self._held.values())

    def find(self, hold_id: str) -> Hold | None:
        hold = self._held.get(hold_id)
        if hold is None and hold_id in self._over:
            hold = self._over[hold_id][0]
        return hold

    # -- coming and going

    def admit(self, hold: Hold) -> str | None:
        """None where it has a place, and an id from then on; else why it has none."""
        principal = hold.call.caller.principal
        refused = "the gateway is shutting down" if self.closed else self._make_room(principal)
        if refused is not None:
            _log.warning("hold_refused", extra={"data": {"caller": scope_label(principal), "why": refused}})
            return refused
        hold.id = self._secret()
        self._held[hold.id] = hold
        self._of.setdefault(principal, OrderedDict())[hold.id] = hold
        return None

    def _make_room(self, principal: str) -> str | None:
        # Strangers are no one caller: none of them gives way to another.
        own, limits = None if principal == ANON else self._of.get(principal), self.settings
        if own is not None and len(own) >= limits.max_holds_each:
            oldest = next((hold for hold in own.values() if hold.parked), None)
            if oldest is None:
                return f"max_holds_each is {limits.max_holds_each}"
            oldest.expire("a newer question took its place")
        if len(self._held) >= limits.max_holds:
            return f"max_holds is {limits.max_holds}"
        return None

    def over(self, hold: Hold) -> None:
        if self._held.pop(hold.id, None) is None:
            return
        own = self._of[hold.call.caller.principal]
        del own[hold.id]
        if not own:
            del self._of[hold.call.caller.principal]
        if not self._held and self._emptied is not None and not self._emptied.done():
            self._emptied.set_result(None)
        if self.closed:
            return
        timer = self.clock.after(self.settings.tombstone, lambda: self._forget(hold.id))
        self._over[hold.id] = (hold, timer)
        self._over_bytes += hold.kept_bytes
        while len(self._over) > self.settings.max_holds or self._over_bytes > self.settings.max_remembered_bytes:
            self._forget(next(iter(self._over)))

    def _forget(self, hold_id: str) -> None:
        hold, timer = self._over.pop(hold_id)
        timer.cancel()
        self._over_bytes -= hold.kept_bytes

    # -- what is told of it

    def asked(self, hold: Hold, ask: RaisedAsk) -> None:
        self._tell("ask_sent", hold, ask.kind, {"server": ask.server, "round": hold.round + 1})

    def answered(self, hold: Hold, ask: RaisedAsk) -> None:
        self._tell("ask_answered", hold, ask.kind, {"server": ask.server, "round": hold.round})

    def gave_up(self, hold: Hold, key: str, ask: RaisedAsk, why: str) -> None:
        self._tell("ask_given_up", hold, ask.kind, {"server": ask.server, "why": why})
        event = _EXPIRED.get(ask.kind)
        workspace = self._workspaces.find(hold.call.caller.scope)
        if event is not None and workspace is not None:
            # Its key alone: the id of a held call lets whoever has it come back in it.
            workspace.record(event, ask.server, {"requestId": key, "reason": why})

    def _tell(self, event: str, hold: Hold, kind: AskKind, data: dict[str, Any]) -> None:
        _log.info(event, extra={"data": {"kind": kind, "by": "native", "surface": hold.surface.name, **data}})

    # -- the end

    async def returned(self, seconds: float) -> None:
        """Until nothing is held any more, at most that long; what is left is told of by `close`."""
        if not self._held:
            return
        _log.info("waiting_for_held_calls", extra={"data": {"held": len(self._held), "atMost": seconds}})
        self._emptied = asyncio.get_running_loop().create_future()
        try:
            async with Deadline(self.clock, seconds):
                await self._emptied
        except TimeoutError:
            return
        finally:
            self._emptied = None

    def forget(self, scope: Scope) -> None:
        """Nothing that was called there is waited for any more."""
        for hold in [hold for hold in self._held.values() if hold.call.caller.scope == scope]:
            hold.expire("its workspace is over", at_once=True)

    def close(self) -> None:
        """Every server that waits is told, now: nobody can come back to us. Idempotent."""
        self.closed = True
        for hold in list(self._held.values()):
            hold.expire("the gateway is shutting down", at_once=True)
        for hold_id in list(self._over):
            self._forget(hold_id)
