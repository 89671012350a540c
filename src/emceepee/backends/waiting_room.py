"""Who waits for one server to be there again, and when it is tried next.

All scopes of a server wait together, because they lost the same thing: one of them tries, in turn, and when it gets
through the others follow, a few at a time. A thousand sessions knock on a dead server as rarely as one.

The one rule: at most one timer; a use that tries earlier neither shortens nor lengthens what is planned.
"""

from __future__ import annotations

import logging
from typing import Protocol

from emceepee.backends.recovery import RecoverySettings
from emceepee.runtime.backoff import Backoff, Chance, chance
from emceepee.runtime.clock import Clock, Timer
from emceepee.vocabulary.names import ServerName

_log = logging.getLogger("emceepee.backends")


class Patient(Protocol):
    """Somebody who waits."""

    def try_again(self) -> None:
        """Begin an attempt; its end is told by `enter`, `reached` or `leave`."""
        ...

    def give_up(self) -> None: ...


class WaitingRoom:
    def __init__(
        self,
        server: ServerName,
        clock: Clock,
        settings: RecoverySettings,
        chance: Chance = chance,
    ) -> None:
        self._server = server
        self._clock = clock
        self._settings = settings
        self._backoff = Backoff(settings.first_delay, settings.longest_delay, chance)
        self._waiting: dict[Patient, None] = {}
        self._rushing: set[Patient] = set()
        self._timer: Timer | None = None
        self.next_try: float | None = None
        self.attempts = 0
        """Planned since the last success."""

    def __len__(self) -> int:
        return len(self._waiting)

    def enter(self, who: Patient) -> None:
        """Its attempt failed, or its connection was lost."""
        self._rushing.discard(who)
        limit = self._settings.max_attempts
        if limit is not None and self.attempts >= limit and not self._planned():
            for patient in (who, *self._waiting):
                patient.give_up()
            self.close()
            return
        self._waiting[who] = None
        self._arm()

    def leave(self, who: Patient) -> None:
        """It tries by itself, or wants nothing any more."""
        self._waiting.pop(who, None)
        self._rushing.discard(who)
        if not self._waiting:
            self._disarm()

    def reached(self, who: Patient) -> None:
        """The server is there: the others may try as well."""
        self.leave(who)
        self.attempts = 0
        self.next_try = None
        self._disarm()
        self._rush()

    def proved(self) -> None:
        """A connection held: the next delay is the shortest again."""
        self._backoff.reset()

    def renew(self) -> None:
        """Somebody asked for a new beginning."""
        self._backoff.reset()
        self.attempts = 0

    def close(self) -> None:
        self._waiting.clear()
        self._rushing.clear()
        self._disarm()

    # -- when

    def _planned(self) -> bool:
        return self.next_try is not None and self.next_try > self._clock.now()

    def _arm(self) -> None:
        if self._timer is not None:
            return
        if not self._planned():
            delay = self._backoff.next()
            self.attempts += 1
            self.next_try = self._clock.now() + delay
            data = {"server": self._server, "attempt": self.attempts, "delayMs": round(delay * 1000)}
            _log.info("server_reconnecting", extra={"data": data})
        assert self.next_try is not None
        self._timer = self._clock.after(self.next_try - self._clock.now(), self._fire)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._timer = self.next_try = None
        who = next(iter(self._waiting))
        del self._waiting[who]
        who.try_again()
        limit = self._settings.max_attempts
        if self._waiting and (limit is None or self.attempts < limit):
            self._arm()

    def _rush(self) -> None:
        while self._waiting and len(self._rushing) < self._settings.rush:
            who = next(iter(self._waiting))
            del self._waiting[who]
            self._rushing.add(who)
            who.try_again()
