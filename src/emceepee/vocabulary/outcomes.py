"""How a call ends, as the backend meant it; the eras decide how that is written.

The one rule: an outcome says what happened, not what to send. Faults that are nobody's answer are exceptions
(`errors`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import msgspec
from msgspec import Raw

from emceepee.vocabulary.profiles import Askable, AskKind
from emceepee.vocabulary.raw_json import Fields, Payload


@dataclass(slots=True, frozen=True)
class CacheHints:
    """For how long, and for whom, a result may be reused; absent where the backend gave none."""

    ttl_ms: int
    scope: Literal["public", "private"]


class Delivery(Protocol):
    """What depends on whether an answer reaches whoever asked. Exactly one of the two is called, once; neither
    raises."""

    def committed(self) -> None:
        """It was handed to a live connection."""
        ...

    def lost(self) -> None:
        """It was not, or nobody knows."""
        ...


class Done(msgspec.Struct):
    """A result. `payload` has none of the keys that an era adds to results; a tool's own `isError` is a result too.

    `wrapped` is set by the relay for a tool whose declared output is not an object: a client of an older revision must
    see such output under `result`, and the result alone does not tell. `delivery` is for the front to call.
    """

    payload: Payload
    hints: CacheHints | None = None
    wrapped: bool = False
    delivery: Delivery | None = None


@dataclass(slots=True)
class Failed:
    """An error the backend answered, with its own code. `resource_not_found` has a different code in each era."""

    code: int
    message: str
    data: Raw | None = None
    kind: Literal["other", "resource_not_found"] = "other"


@dataclass(slots=True, frozen=True)
class Wanted:
    """One thing that a server needs before it goes on; `what` is what the profile calls it."""

    kind: AskKind
    what: Askable
    params: Raw


@dataclass(slots=True)
class InputNeeded:
    """The call has ended for now: it goes on when it is made again with what its server needs, and with its state.
    `requests` is as the server wrote it, `wants` the same read."""

    requests: Fields
    wants: dict[str, Wanted]
    state: Raw | None = None


Outcome: TypeAlias = Done | Failed

Answered: TypeAlias = Outcome | InputNeeded
"""What a server says to a call: how it ended, or what it needs first."""


def settled(answered: Answered) -> Outcome:
    """How it ended, where nobody is who could give what is needed."""
    return answered if isinstance(answered, Done) else failed(answered)


def failed(answered: Failed | InputNeeded) -> Failed:
    if isinstance(answered, Failed):
        return answered
    return Failed(-32603, "The server needs something first that cannot be given here")


class Begun(Protocol):
    """A call on its way, for whoever began it without waiting for its end."""

    def abandon(self) -> None:
        """Its end is not wanted any more, and not told; the server hears of it. Harmless after the end."""
        ...
