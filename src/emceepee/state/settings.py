"""How much a workspace keeps and for how long, each with the name the seeds gave it.

The one rule: a bound in `state/` has its number here; times are in milliseconds where the seeds' names say so.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, frozen=True)
class EventSettings:
    max_events: int = 1000
    """`maxEvents`."""

    warn_at: float = 0.8
    """`evictionWarningThreshold`."""

    evict_share: float = 0.1


@dataclass(slots=True, frozen=True)
class TaskSettings:
    default_ttl_ms: int = 300_000
    max_ttl_ms: int = 1_800_000
    retention_ms: int = 300_000
    """`completedRetentionMs`: from the end, or from the delivery of the event that told it, whichever is later."""

    max_retention_ms: int = 1_800_000
    max_working: int = 256
    """Calls that nobody waits for; each holds a request at a backend."""

    max_finished: int = 1000
    asked_ms: int = 600_000
    """How long a task lives on while its client is asked something with it."""

    poll_ms: int = 1_000
    """How often we ask clients to look at a task; looking costs us next to nothing."""


@dataclass(slots=True, frozen=True)
class AskSettings:
    default_timeout_ms: int = 600_000
    max_pending: int = 256


@dataclass(slots=True, frozen=True)
class BufferSettings:
    max_notifications: int = 100
    """`maxNotificationsPerServer`."""

    max_logs: int = 500
    """`maxLogsPerServer`."""

    max_item_bytes: int = 16_384
    """A longer one keeps its beginning only, and says so."""


@dataclass(slots=True, frozen=True)
class StateSettings:
    events: EventSettings = field(default_factory=EventSettings)
    tasks: TaskSettings = field(default_factory=TaskSettings)
    asks: AskSettings = field(default_factory=AskSettings)
    buffers: BufferSettings = field(default_factory=BufferSettings)
    max_total_events: int = 10_000
    """Over all workspaces; past it the one that holds most gives way (X-CON-20)."""
