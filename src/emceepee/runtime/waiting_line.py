"""Many who wait equally long, with one timer between them.

It is for waits that nearly always end before their time: joining and leaving cost an entry in a table.

The one rule: whoever has not left when his time is over is told so, once.
"""

from __future__ import annotations

from typing import Protocol

from emceepee.runtime.clock import Clock, Timer


class Waits(Protocol):
    def overdue(self) -> None: ...


class WaitingLine:
    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._waiting: dict[Waits, float] = {}
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def join(self, who: Waits) -> None:
        self._waiting[who] = self._clock.now() + self._seconds
        if self._timer is None:
            self._timer = self._clock.after(self._seconds, self._ring)

    def leave(self, who: Waits) -> None:
        """Harmless for one who is not there any more."""
        self._waiting.pop(who, None)

    def _ring(self) -> None:
        self._timer = None
        now = self._clock.now()
        # Who joined first is due first.
        while self._waiting:
            who, due = next(iter(self._waiting.items()))
            if due > now:
                self._timer = self._clock.after(due - now, self._ring)
                return
            del self._waiting[who]
            who.overdue()

    def close(self) -> None:
        """Nobody is told any more."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
