"""How a connection to one server stands, as a table.

    stopped     nothing there, and nothing planned
    starting    an attempt runs
    ready       usable
    unwell      usable, as far as anybody knows; it does not answer our probes
    waiting     not there; the next attempt is planned

The one rule: what may follow what is listed here and nowhere else; the illegal is what is not listed. Users also see
the seeds' five words for it (`shown`), which do not say what is planned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Life: TypeAlias = Literal["stopped", "starting", "ready", "unwell", "waiting"]
Step: TypeAlias = Literal["begin", "ready", "wait", "stop", "degrade", "restore"]

State: TypeAlias = Literal["not_connected", "connecting", "connected", "disconnected", "error"]
Absence: TypeAlias = Literal["not_connected", "disconnected", "error"]
"""Why there is no connection: there was none yet or it was closed on purpose, it was lost, or something failed."""

NEXT: dict[tuple[Life, Step], Life] = {
    ("stopped", "begin"): "starting",
    ("waiting", "begin"): "starting",
    # A session that the server forgot, or an era that may have changed, is made anew without having been lost.
    ("ready", "begin"): "starting",
    ("unwell", "begin"): "starting",
    ("starting", "ready"): "ready",
    ("starting", "wait"): "waiting",
    ("ready", "wait"): "waiting",
    ("unwell", "wait"): "waiting",
    ("ready", "degrade"): "unwell",
    ("unwell", "restore"): "ready",
    ("starting", "stop"): "stopped",
    ("ready", "stop"): "stopped",
    ("unwell", "stop"): "stopped",
    ("waiting", "stop"): "stopped",
    ("stopped", "stop"): "stopped",
}


def after(life: Life, step: Step) -> Life:
    """What follows. A step that is not listed is a mistake of ours."""
    try:
        return NEXT[life, step]
    except KeyError:
        raise AssertionError(f"a connection that is {life} cannot {step}") from None


def shown(life: Life, absence: Absence) -> State:
    if life == "starting":
        return "connecting"
    return "connected" if life in ("ready", "unwell") else absence


@dataclass(slots=True, frozen=True)
class Status:
    """What can be said of one scope's connection to one server. `next_try` is in seconds from now."""

    state: State = "not_connected"
    connected_at: str | None = None
    last_error: str | None = None
    revision: str | None = None
    connects: int = 0
    life: Life = "stopped"
    since: str | None = None
    next_try: float | None = None
    attempts: int = 0
    crash_loop: bool = False
    round_trip: float | None = None
    """Seconds that the last probe took."""
    waiters: int = 0
    """Calls that wait for the connection."""
    pending: int = 0
    """Questions that the server has not answered yet."""
    children: tuple[int, ...] = ()
    rubbish: int = 0
    """Messages, or lines on stdout, that were none."""

    for_everyone: bool = False
    """Whether all scopes use the same one."""

    @property
    def restarts(self) -> int:
        return max(0, self.connects - 1)
