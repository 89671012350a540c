"""What the server behind one link has asked and not been answered yet.

It answers nothing by itself but what cannot be taken: whoever is behind the door does.

The one rule: each ask leaves the table once, by its answer, by the server's own cancellation, by the end of the call
that it belongs to, or by the end of the link; and both sides hear of it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from emceepee.backends.conversation import Conversation
from emceepee.backends.correlation import Running, belongs
from emceepee.backends.transport import Origin
from emceepee.eras.asks import given_up, read_ask
from emceepee.protocol.inbound import Debt
from emceepee.vocabulary.asks import AskDoor, AskKind, AskProfile, Belonging, RaisedAsk, Withdraw
from emceepee.vocabulary.calls import MAY_ASK, Call
from emceepee.vocabulary.outcomes import Failed, Outcome

CANCELLED_BY_SERVER = "cancelled by server"
CALL_IS_OVER = "the call it belongs to was cancelled"


@dataclass(slots=True, frozen=True)
class _Open:
    kind: AskKind
    belonging: Belonging
    withdraw: Withdraw


class LinkAsks:
    def __init__(self, conversation: Conversation, door: AskDoor) -> None:
        self._conversation = conversation
        self._door = door
        self._open: dict[Debt, _Open] = {}

    def __len__(self) -> int:
        return len(self._open)

    @property
    def profile(self) -> AskProfile:
        return self._door.profile

    def raised(self, owed: Debt) -> Outcome | None:
        """Implements `conversation.Unasked.raised`."""
        read = read_ask(owed.method, owed.params, self._door.profile)
        if isinstance(read, Failed):
            return read
        belonging = self._belonging(owed)
        if belonging.certainty == "over":
            return given_up(read.kind)
        settle = functools.partial(self._settle, owed)
        taken = self._door.take(RaisedAsk(read.kind, read.wanted, read.params, belonging, settle))
        if isinstance(taken, Failed):
            return taken
        if not owed.settled:
            self._open[owed] = _Open(read.kind, belonging, taken)
        return None

    def _belonging(self, owed: Debt) -> Belonging:
        origin = owed.origin
        assert isinstance(origin, Origin)
        asking = {id(call) for one in self._open.values() for call in one.belonging.calls}
        running = [Running(key, call, id(call) in asking) for key, call in self._running()]
        return belongs(origin, running, self._conversation.waits_for(origin.request))

    def _running(self) -> list[tuple[str, Call]]:
        return [(key, call) for key, call in self._conversation.calls() if call.method in MAY_ASK]

    def _settle(self, owed: Debt, outcome: Outcome) -> None:
        self._open.pop(owed, None)
        self._conversation.reply(owed, outcome)

    # -- ended without an answer

    def cancelled(self, owed: Debt) -> None:
        """By the server, which is owed nothing any more (X-BUG-54)."""
        one = self._open.pop(owed, None)
        if one is not None:
            one.withdraw(CANCELLED_BY_SERVER)

    def call_is_over(self, call: Call) -> None:
        """Nobody waits for this call any more: its questions are given up. One that may be another call's lives as long
        as any of those runs (rule R8)."""
        if not self._open:
            return
        running = {id(other) for _, other in self._running()} - {id(call)}
        for owed, one in list(self._open.items()):
            own = {id(candidate) for candidate in one.belonging.calls}
            if id(call) in own and running.isdisjoint(own):
                del self._open[owed]
                one.withdraw(CALL_IS_OVER)
                self._conversation.reply(owed, given_up(one.kind))

    def write_off(self) -> None:
        """Whoever asked is gone, or has forgotten that it did: nothing is written any more."""
        for owed in self._open:
            self._conversation.write_off(owed)

    def void(self, reason: str) -> None:
        self.write_off()
        left, self._open = self._open, {}
        for one in left.values():
            one.withdraw(reason)
