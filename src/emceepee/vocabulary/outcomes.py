"""How a call ends, as the backend meant it; the eras decide how that is written.

The one rule: an outcome says what happened, not what to send. Faults that are nobody's answer are exceptions
(`errors`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import msgspec
from msgspec import Raw

from emceepee.vocabulary.raw_json import Payload


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


Outcome: TypeAlias = Done | Failed
