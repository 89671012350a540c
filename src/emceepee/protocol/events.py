"""What a peer reports when it was given a message.

The one rule: an event is a fact, to be acted on or not; ignoring any of them leaves the peer in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from msgspec import Raw

from emceepee.protocol.inbound import Debt
from emceepee.protocol.messages import Failure, Request, Result
from emceepee.protocol.outbound import Asked, Lost, RemoteCancelled, TimedOut

Answer: TypeAlias = Result | Failure | RemoteCancelled | Lost | TimedOut


@dataclass(slots=True, frozen=True)
class Ended:
    """An ask of ours is over, and how. Said once for each."""

    asked: Asked
    answer: Answer


@dataclass(slots=True, frozen=True)
class ProgressFor:
    """An ask of ours that still waits has moved on."""

    asked: Asked
    params: Raw


@dataclass(slots=True, frozen=True)
class Owed:
    """They asked; answer or refuse it through the peer, from another task than the reading one."""

    owed: Debt


@dataclass(slots=True, frozen=True)
class Refused:
    """They asked what cannot be taken on; `reply` is all there is to do about it."""

    request: Request
    origin: object
    reply: bytes
    detail: str


@dataclass(slots=True, frozen=True)
class Told:
    """A notification that is about no request."""

    method: str
    params: Raw | None
    origin: object


@dataclass(slots=True, frozen=True)
class CancelledByPeer:
    """Stop working on this; it cannot be answered any more."""

    owed: Debt
    reason: str


@dataclass(slots=True, frozen=True)
class Stray:
    """Something that belongs to nothing; dropped. The detail names ids and methods, never content."""

    detail: str


Event: TypeAlias = Ended | ProgressFor | Owed | Refused | Told | CancelledByPeer | Stray
