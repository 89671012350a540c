"""What a client wants, whichever era it spoke.

The one rule: everything that is valid on one connection only (ids, progress tokens, versions, cursors of a backend) has
been taken out before a `Call` exists, and is put in anew on the other side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from emceepee.vocabulary.names import LOCAL, LogLevel, Scope
from emceepee.vocabulary.profiles import NO_ASKS, AskProfile
from emceepee.vocabulary.raw_json import Fields
from emceepee.vocabulary.tasks import TaskTerms

if TYPE_CHECKING:
    from emceepee.vocabulary.asks import Ear

MAY_ASK = frozenset(("tools/call", "prompts/get", "resources/read"))
"""The requests in whose course a server may ask (rule R2)."""


class Caller(msgspec.Struct, frozen=True):
    """Who is calling: whose connections it may use, what it declared, and how it introduced itself (display only)."""

    scope: Scope = LOCAL
    principal: str = LOCAL
    capabilities: Fields = msgspec.field(default_factory=dict)
    client_info: Raw | None = None


class Call(msgspec.Struct):
    """One request on its way: `params` without `_meta`, and of `_meta` only what may cross."""

    method: str
    params: Fields
    caller: Caller
    meta: Fields = msgspec.field(default_factory=dict)
    wants_progress: bool = False
    log_level: LogLevel | None = None
    tasks: TaskTerms = "unable"
    task_ttl_ms: int | None = None
    asks: AskProfile = NO_ASKS
    """What its server may ask in its course: what reaches somebody."""
    untold: AskProfile = NO_ASKS
    """What of these is not told to servers that are told once, when a session begins."""
    ear: Ear | None = None
    """The client itself, where it can be asked while it waits."""
    relays_asks: bool = False
    """Whether its client answers `InputNeeded` by calling again; else what is needed is collected for it."""
    answers: Fields | None = None
    """What an earlier attempt of this call needed, by the server's keys."""
    state: Raw | None = None
    """What an earlier attempt wants back, byte for byte."""

    @property
    def session_asks(self) -> AskProfile:
        """What a server is told that is told once."""
        return self.asks - self.untold if self.untold else self.asks
