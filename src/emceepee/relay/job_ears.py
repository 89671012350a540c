"""The ears of a call that belongs to its workspace: its client's own, or none but the task that it becomes.

Neither decides who is asked; the ladder did. The one rule: the time that a question is open is not the call's own, so
whoever waits for the call is told when the first is asked and when the last is answered.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from emceepee.relay.open_asks import OpenAsks
from emceepee.runtime.clock import Clock, Timer
from emceepee.vocabulary.asks import AskProfile, Ear, RaisedAsk, Withdraw
from emceepee.vocabulary.notices import MadeTask
from emceepee.vocabulary.outcomes import Failed, Outcome
from emceepee.vocabulary.raw_json import Fields

OnAsking: TypeAlias = Callable[[bool], None]
"""Whether something is being asked now."""


class CountedEar:
    """Implements `vocabulary.asks.Ear`: the client's own, and says whether it is being asked something."""

    def __init__(self, ear: Ear, on_asking: OnAsking) -> None:
        self._ear = ear
        self._on_asking = on_asking
        self._open = 0

    @property
    def hears(self) -> AskProfile:
        return self._ear.hears

    def ask(self, ask: RaisedAsk) -> Withdraw | Failed:
        ended = False

        def end() -> None:
            nonlocal ended
            if not ended:
                ended = True
                self._open -= 1
                if not self._open:
                    self._on_asking(False)

        def settled(outcome: Outcome) -> None:
            end()
            ask.settle(outcome)

        def withdrawn(reason: str) -> None:
            end()
            withdraw(reason)

        self._open += 1
        if self._open == 1:
            self._on_asking(True)
        taken = self._ear.ask(replace(ask, settle=settled))
        if isinstance(taken, Failed):
            end()
            return taken
        withdraw = taken
        return withdrawn

    def completed(self, elicitation_id: str) -> None:
        self._ear.completed(elicitation_id)


class TaskEar:
    """Implements `vocabulary.asks.Ear` for a client that takes tasks: what is asked is told with the task, and answered
    by its key."""

    def __init__(
        self, profile: AskProfile, clock: Clock, coalesce: float, on_change: Callable[[MadeTask], None]
    ) -> None:
        self.hears = profile
        self._clock = clock
        self._coalesce = coalesce
        self._on_change = on_change
        self._asks = OpenAsks()
        self._round = 1
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._asks)

    def ask(self, ask: RaisedAsk) -> Withdraw | Failed:
        key = self._asks.add(ask, self._round)
        if self._timer is None:
            self._timer = self._clock.after(self._coalesce, self._told)
        return functools.partial(self._withdrawn, key)

    def completed(self, elicitation_id: str) -> None:
        """Tasks have no word for it: the client sees that its task goes on."""

    def _withdrawn(self, key: str, why: str) -> None:
        if self._asks.withdrawn(key) is not None:
            self._tell()

    def _told(self) -> None:
        self._timer = None
        self._round += 1
        self._tell()

    def _tell(self) -> None:
        """While a question waits for others that may come with it, nobody is told of it."""
        if self._timer is None:
            asks = self._asks.requests()
            self._on_change(MadeTask(asks=asks, answer=self._answered if asks else None))

    async def _answered(self, answers: Fields) -> None:
        """Raises `ClientFault` for an answer that cannot be one; then all stay open."""
        for key, outcome in self._asks.read(answers).items():
            self._asks.settle(key, outcome)
        self._tell()

    def close(self) -> None:
        """The call has ended: what it left open gets an end."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._asks.move()
        self._asks.give_up()
