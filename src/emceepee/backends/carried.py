"""One call over one link, from its question to its outcome, without anybody who waits.

It knows no era; its link reads the answer. The one rule: whoever began it is told how it ended once, and not at all
after he abandoned it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeAlias

from emceepee.backends.conversation import Conversation
from emceepee.errors import BackendFault
from emceepee.protocol.messages import Failure, Result
from emceepee.protocol.outbound import Asked
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.notices import Notice
from emceepee.vocabulary.outcomes import Answered

OnNotice: TypeAlias = Callable[[Notice], None]

OnOutcome: TypeAlias = Callable[[Answered | BackendFault], None]
"""How a call ended, or what kept it from being answered. It must not raise."""


class Carrier(Protocol):
    """The link."""

    def ask(self, carried: Carried) -> Asked:
        """Put the question. Raises `BackendFault`."""
        ...

    def read(self, carried: Carried, answer: Result | Failure) -> Answered | None:
        """None when it has asked once more. Raises `BackendFault`."""
        ...

    def failed(self, carried: Carried, fault: BackendFault) -> BackendFault:
        """Takes notice of it; what the caller is told."""
        ...

    def given_up(self, carried: Carried) -> None: ...


class Carried:
    """Implements `vocabulary.outcomes.Begun`."""

    __slots__ = ("_asked", "_carrier", "_conversation", "_ended", "again", "call", "on_notice", "timeout")

    def __init__(
        self,
        carrier: Carrier,
        conversation: Conversation,
        call: Call,
        on_notice: OnNotice | None,
        timeout: float,
        ended: OnOutcome,
    ) -> None:
        self._carrier = carrier
        self._conversation = conversation
        self.call = call
        self.on_notice = on_notice
        self.timeout = timeout
        self._ended: OnOutcome | None = ended
        self._asked: Asked | None = None
        self.again: asyncio.Task[None] | None = None
        """What its link does before it asks once more."""

    def ask(self) -> None:
        """Raises `BackendFault` where nothing was asked; then nothing else is told."""
        try:
            self._asked = self._carrier.ask(self)
        except BackendFault as fault:
            raise self._carrier.failed(self, fault) from None

    def ask_again(self) -> None:
        try:
            self._asked = self._carrier.ask(self)
        except BackendFault as fault:
            self(fault)

    def __call__(self, answer: Result | Failure | BackendFault) -> None:
        """Implements `conversation.OnEnded`."""
        ended = self._ended
        if ended is None:
            return
        if isinstance(answer, BackendFault):
            outcome: Answered | BackendFault | None = self._carrier.failed(self, answer)
        else:
            try:
                outcome = self._carrier.read(self, answer)
            except BackendFault as fault:
                outcome = self._carrier.failed(self, fault.with_traceback(None))
        if outcome is not None:
            self._ended = None
            ended(outcome)
        # What a fault was raised from knows this frame, which must not know it for longer.
        del outcome

    def abandon(self) -> None:
        if self._ended is None:
            return
        self._ended = None
        if self.again is not None:
            # Harmless when it has asked already.
            self.again.cancel()
        if self._asked is not None:
            self._conversation.abandon(self._asked)
        self._carrier.given_up(self)
