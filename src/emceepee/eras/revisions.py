"""The published revisions of MCP, in order, and which era each belongs to.

Not here: what a revision can say (the adapters know). The one rule: a revision is looked up in these tables and never
parsed as a date, because the next one need not be one.
"""

from __future__ import annotations

LEGACY: tuple[str, ...] = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LATEST_LEGACY = "2025-11-25"
MODERN = "2026-07-28"
SUPPORTED: tuple[str, ...] = (MODERN, *reversed(LEGACY))
"""Newest first: what we offer wherever a peer asks which revisions we speak."""

_AGE = {revision: age for age, revision in enumerate((*LEGACY, MODERN))}


def older(revision: str, than: str) -> bool:
    """Whether a revision came before another. One we do not know counts as older than none."""
    return _AGE.get(revision, len(_AGE)) < _AGE[than]


def negotiate(proposed: str) -> str:
    """What `initialize` is answered with: the proposal if a handshake can speak it, else the newest that can."""
    return proposed if proposed in LEGACY else LATEST_LEGACY


def accepts_batches(revision: str) -> bool:
    """Whether a session of this revision may send several messages in one array."""
    return older(revision, "2025-06-18")


def resumes_streams(revision: str) -> bool:
    """Whether a client of this revision may come back for an event stream it lost."""
    return not older(revision, "2025-03-26")


def primes_streams(revision: str) -> bool:
    """Whether it understands an event that has an id and no data, which lets it come back before the first message."""
    return not older(revision, "2025-11-25")
