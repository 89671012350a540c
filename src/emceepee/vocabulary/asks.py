"""What a server wants of whoever is behind us while it works: an ask, the calls it may belong to, what can be asked.

The one rule: an ask is a plain value with one way to settle it. Who raises it knows the server's wire, who takes it
knows who can answer; neither sees the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from msgspec import Raw

from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.names import ServerName
from emceepee.vocabulary.notices import Progress
from emceepee.vocabulary.outcomes import Failed, Outcome
from emceepee.vocabulary.profiles import NO_ASKS as NO_ASKS
from emceepee.vocabulary.profiles import Askable as Askable
from emceepee.vocabulary.profiles import AskKind as AskKind
from emceepee.vocabulary.profiles import AskProfile as AskProfile

DISCONNECTED = "Server disconnected"
"""Why what a connection carried ends when the connection is lost."""

RECONNECTED = "Server reconnected - request state unknown"
"""Why a question ends whose server has forgotten it: the connection that it came over was replaced by another."""

Certainty: TypeAlias = Literal["exact", "presumed", "probable", "ambiguous", "orphan", "over"]

Settle: TypeAlias = Callable[[Outcome], None]
"""Gives the server its answer or its error. Returns at once, never raises, and is called at most once."""

Withdraw: TypeAlias = Callable[[str], None]
"""The server waits for no answer any more, and why. Harmless after it was settled."""

OnProgress: TypeAlias = Callable[[Progress], None]
"""Tells the server how far its ask has come."""


@dataclass(slots=True, frozen=True)
class Belonging:
    """How surely an ask belongs to which calls; several only when it is ambiguous, none when it is nobody's. `others`
    are those it would belong to if a guess was wrong."""

    certainty: Certainty
    calls: tuple[Call, ...] = ()
    others: tuple[Call, ...] = ()


@dataclass(slots=True, frozen=True)
class RaisedAsk:
    """`wanted` is what the profile calls it."""

    kind: AskKind
    wanted: Askable
    params: Raw
    belonging: Belonging
    settle: Settle = field(repr=False, compare=False)
    on_progress: OnProgress | None = field(default=None, repr=False, compare=False)
    server: ServerName = ""
    """Who asks, for whoever tells of it."""
    running: Callable[[], Sequence[Call]] | None = field(default=None, repr=False, compare=False)
    """Of what only may belong to a call: the calls that it may belong to and that have no answer yet."""
    move: Callable[[], bool] | None = field(default=None, repr=False, compare=False)
    """Takes it to another of those, and says whether it is there now; then it is that one's alone (rule R8)."""


class Ear(Protocol):
    """A client that can be asked in the course of one call."""

    @property
    def hears(self) -> AskProfile:
        """What it can be asked at this moment."""
        ...

    def ask(self, ask: RaisedAsk) -> Withdraw | Failed:
        """As `TakeAsk`."""
        ...

    def completed(self, elicitation_id: str) -> None:
        """What it was sent to an address for is done, as far as the server can tell."""
        ...


TakeAsk: TypeAlias = Callable[[RaisedAsk], Withdraw | Failed]
"""Takes an ask on, or says what its server is answered instead; then it is not settled."""


def _nobody(ask: RaisedAsk) -> Failed:
    return Failed(-32601, "Nobody here can be asked")


@dataclass(slots=True, frozen=True)
class AskDoor:
    """What the servers of one scope are told that they can ask, and where it goes."""

    profile: AskProfile = NO_ASKS
    take: TakeAsk = field(default=_nobody, compare=False)


CLOSED = AskDoor()
