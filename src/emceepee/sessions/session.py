"""One legacy client between its `initialize` and its end.

It is not the work the client asked for, nor a backend connection: those hang on its scope, which is its id. The one
rule: a thousand idle ones must cost megabytes, so what only an active session needs is None until then.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from emceepee.sessions.in_flight import InFlight
from emceepee.vocabulary.asks import Ear
from emceepee.vocabulary.calls import Caller
from emceepee.vocabulary.names import LogLevel, Scope, SessionId
from emceepee.vocabulary.profiles import NO_ASKS, AskProfile

SessionState: TypeAlias = Literal["greeted", "ready", "ended"]
Step: TypeAlias = Literal["initialized", "end"]

NEXT: dict[tuple[SessionState, Step], SessionState] = {
    ("greeted", "initialized"): "ready",
    ("greeted", "end"): "ended",
    ("ready", "end"): "ended",
}
"""What is not listed changes nothing: a client may say twice that it is there."""


class Standing(Protocol):
    """What a session receives unasked, as far as this room cares; the front implements it."""

    @property
    def busy(self) -> bool:
        """Whether a stream is open to the client."""
        ...


class Streams(Protocol):
    """What its event streams said, kept for when one is lost; the front implements it."""

    def close(self) -> None: ...


class Asking(Ear, Protocol):
    """What its client is asked; the front implements it."""

    def close(self) -> None: ...


class Session:
    """`standing` and `streams` belong to the front and are None until the client listens, or is answered with a stream;
    `created_at` is for people; `forget` ends what was opened for it behind the front, also when its surface is served
    no more."""

    __slots__ = (
        "asking", "asks", "caller", "created_at", "forget", "id", "in_flight", "last_activity", "log_level",
        "revision", "standing", "state", "streams", "surface",
    )  # fmt: skip

    def __init__(self, surface: str, caller: Caller, revision: str, in_flight: InFlight, now: float) -> None:
        self.id: SessionId = caller.scope
        self.surface = surface
        self.caller = caller
        self.revision = revision
        self.in_flight = in_flight
        self.last_activity = now
        self.created_at: datetime | None = None
        self.forget: Callable[[Scope], Awaitable[None]] | None = None
        self.standing: Standing | None = None
        self.streams: Streams | None = None
        self.asks: AskProfile = NO_ASKS
        """What the client said that it can be asked."""
        self.state: SessionState = "greeted"
        self.asking: Asking | None = None
        self.log_level: LogLevel | None = None

    def step(self, step: Step) -> None:
        self.state = NEXT.get((self.state, step), self.state)

    @property
    def ready(self) -> bool:
        """Whether it has said `notifications/initialized`; before that nothing may be asked of it, or told unasked."""
        return self.state == "ready"

    @property
    def busy(self) -> bool:
        return len(self.in_flight) > 0 or (self.standing is not None and self.standing.busy)


def label(session_id: SessionId) -> str:
    """What of a session id may be logged or shown to others: the slot, and too little of the secret to use it."""
    slot, _, secret = session_id.partition(".")
    return f"{slot}.{secret[:4]}…" if secret else f"{slot[:4]}…"
