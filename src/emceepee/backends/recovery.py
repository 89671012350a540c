"""What recovery decides: how patient it is, and whether what came back is what was there before.

The one rule: pure. Who acts on it is `supervisor`; when the next attempt comes is kept by `waiting_room`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["restart", "network_blip"]


@dataclass(slots=True, frozen=True)
class RecoverySettings:
    automatic: bool = True
    """Whether a connection that is gone is made anew without anybody asking. If not, the next use does."""

    first_delay: float = 1.0
    longest_delay: float = 180.0
    max_attempts: int | None = None
    """Attempts in a row after which only a use tries again; None is without end."""

    stable_after: float = 10.0
    """A connection that held for so long has proved itself: the delays begin anew (X-BUG-40)."""

    crash_loop_after: int = 3
    """So many ends in a row, each before it proved itself, are a loop."""

    rush: int = 8
    """When a server is there again, so many scopes connect to it at one time."""

    verify_seconds: float = 5.0
    """For the question whether a server is there at all, put after a request has failed."""

    drain_seconds: float = 30.0
    """A server that takes nothing new may finish what it has: calls on open streams are waited for so long."""

    probe_every: float = 60.0
    """How often a connection in use is asked whether its server still answers; 0 is never."""

    probe_seconds: float = 10.0
    probe_recent: float = 600.0
    """One that nobody has used for so long is left in peace."""


@dataclass(slots=True, frozen=True)
class Identity:
    """Who a server said it is when it was connected. `session` is its session id, or what changes with each process."""

    session: str | None = None
    name: str | None = None
    version: str | None = None
    protocol: str | None = None

    def shown(self) -> dict[str, str]:
        """Without the session id, which is a secret between us and the server."""
        known = {"name": self.name, "version": self.version, "protocolVersion": self.protocol}
        return {key: value for key, value in known.items() if value is not None}


@dataclass(slots=True, frozen=True)
class Reconnection:
    """A connection is there again. `previous` is who was there before."""

    kind: Kind
    previous: Identity
    current: Identity


def kind_of(previous: Identity, current: Identity) -> Kind:
    """Another session or another version is a restart (X-CON-16); that the old session was tried first is up to the
    supervisor (X-CON-17)."""
    if previous.session is not None and current.session is not None and previous.session != current.session:
        return "restart"
    return "network_blip" if previous.version == current.version else "restart"
