"""What a client wants, whichever era it spoke.

The one rule: everything that is valid on one connection only (ids, progress tokens, versions, cursors of a backend) has
been taken out before a `Call` exists, and is put in anew on the other side.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
from msgspec import Raw

from emceepee.vocabulary.names import LOCAL, LogLevel, Scope
from emceepee.vocabulary.raw_json import Fields
from emceepee.vocabulary.tasks import TaskTerms

Askable: TypeAlias = Literal["form", "url", "sampling"]
"""What a server may be told that it can ask; `form` and `url` are the two modes of an elicitation."""

AskProfile: TypeAlias = frozenset[Askable]
NO_ASKS: AskProfile = frozenset()


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
