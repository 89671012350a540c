"""The bounds of sessions, frozen; the configuration fills it, this room reads it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class SessionSettings:
    """Times in seconds. The idle limit and the sweep are the seeds' `sessionTimeoutMs` and `cleanupIntervalMs`."""

    max_sessions: int = 10_000
    idle_limit: float = 1_800.0
    workspace_idle: float = 86_400.0
    """For workspaces with a name of their own: it is there to come back to."""
    anon_workspace_idle: float = 3_600.0
    """The same where nobody is known, and nobody can say any more that it was his."""
    sweep_every: float = 300.0
    max_in_flight: int = 256
    """Calls of one session at once: far above what a person's client does, far below what a loop gone wild does."""
    max_subscriptions: int = 1_000
