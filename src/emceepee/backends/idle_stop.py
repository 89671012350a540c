"""Programs that nobody uses are ended, where their definition says after how long; the next use starts them again.

It ends nothing itself, the supervisor does. Our own probes are no use; a call under way and a resource that somebody
subscribed to are.

The one rule: what is ended has not been used for as long as its definition says, and a quarter of that longer at most.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from emceepee.backends.connection import Link
from emceepee.backends.definition import ServerDefinition, StdioLaunch
from emceepee.runtime.clock import Clock, Timer

_LOOKS = 4
"""In the time that it may be idle."""


class Restful(Protocol):
    """A supervisor, as seen from here."""

    definition: ServerDefinition
    current_link: Link | None
    probes: int
    """How often it asked by itself whether its server is there."""

    def rest(self) -> None: ...


class IdleStop:
    def __init__(self, clock: Clock, needed: Callable[[Restful], bool]) -> None:
        """`needed` says whether somebody waits for what its server may tell."""
        self._clock = clock
        self._needed = needed
        self._timers: dict[Restful, Timer] = {}

    def watch(self, one: Restful) -> None:
        """It is connected, for the first time or anew."""
        seconds, link = one.definition.idle_stop, one.current_link
        if seconds is not None and link is not None and isinstance(one.definition.launch, StdioLaunch):
            self._arm(one, link, seconds, self._used(one, link), self._clock.now())

    def _used(self, one: Restful, link: Link) -> int:
        return link.asked - one.probes

    def _arm(self, one: Restful, link: Link, seconds: float, used: int, since: float) -> None:
        if (timer := self._timers.pop(one, None)) is not None:
            timer.cancel()
        self._timers[one] = self._clock.after(seconds / _LOOKS, lambda: self._look(one, link, seconds, used, since))

    def _look(self, one: Restful, link: Link, seconds: float, used: int, since: float) -> None:
        del self._timers[one]
        if one.current_link is not link:
            return
        now, used_now = self._clock.now(), self._used(one, link)
        if used_now != used or link.pending or self._needed(one):
            self._arm(one, link, seconds, used_now, now)
        elif now - since >= seconds:
            one.rest()
        else:
            self._arm(one, link, seconds, used, since)

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
