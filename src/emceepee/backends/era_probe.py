"""Which era a server speaks: the judgement, and how long it is believed.

The one rule: only what a server *says* is evidence of its era. A refusal of credentials is an auth problem and an
outage is an outage; neither makes a verdict, because a wrong verdict would outlive its cause (era-bridging 1.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from emceepee.backends.transport import HttpRefusal
from emceepee.eras.modern.towards_backend import read_discover
from emceepee.eras.revisions import MODERN
from emceepee.errors import BackendFault, BackendTimeout, BackendUnavailable, OutcomeUnknown
from emceepee.protocol.messages import Failure, Result
from emceepee.runtime.clock import Clock
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.names import ServerName
from emceepee.vocabulary.raw_json import NotThatShape, read_value

PROBE_SECONDS_HTTP = 10.0
PROBE_SECONDS_PIPE = 5.0
LEGACY_BELIEVED_SECONDS = 3600.0
"""A legacy verdict goes stale silently: a server that was upgraded still answers `initialize`."""

UNSUPPORTED_VERSION = -32022
NOT_THIS_WAY = (400, 404, 405)
"""The statuses with which servers that know no `server/discover` turn it away."""


@dataclass(slots=True, frozen=True)
class Verdict:
    """`again` means: ask once more at `revision`. `about` is there when the answer already described the server."""

    era: Literal["modern", "legacy", "again", "incompatible"]
    revision: str = ""
    about: About | None = None
    why: str = ""


LEGACY = Verdict("legacy")


def judge(answer: Result | Failure, tried_again: bool = False) -> Verdict:
    """What an answer to `server/discover` says of the one who gave it."""
    if isinstance(answer, Result):
        try:
            supported, about = read_discover(answer.result)
        except ValueError:
            return LEGACY
        return Verdict("modern", MODERN, about) if MODERN in supported else LEGACY
    if answer.error.code != UNSUPPORTED_VERSION:
        return LEGACY
    offered = _offered(answer)
    if MODERN in offered and not tried_again:
        return Verdict("again", MODERN)
    if MODERN in offered:
        return Verdict("incompatible", why=f"it lists {MODERN} and refuses it")
    modern_only = [revision for revision in offered if revision > MODERN]
    if modern_only and len(modern_only) == len(offered):
        return Verdict("incompatible", why=f"it speaks only {', '.join(modern_only)}")
    return LEGACY


def _offered(answer: Failure) -> list[str]:
    try:
        data = read_value(answer.error.data) if answer.error.data is not None else None
    except NotThatShape:
        return []
    offered = data.get("supported") if isinstance(data, dict) else None
    return [revision for revision in offered if isinstance(revision, str)] if isinstance(offered, list) else []


def judge_fault(fault: BackendFault, over_pipe: bool) -> Verdict | None:
    """What a failed probe says; None when it says nothing about eras and the fault itself is the answer."""
    if isinstance(fault, HttpRefusal):
        return LEGACY if fault.status in NOT_THIS_WAY else None
    if over_pipe and isinstance(fault, BackendTimeout | BackendUnavailable | OutcomeUnknown):
        # Some servers end on any request before `initialize`, others ignore it.
        return LEGACY
    return None


class EraStore(Protocol):
    """Bytes under names. Nothing raises: what cannot be written is found out again."""

    def get(self, name: str) -> bytes | None: ...

    def put(self, name: str, body: bytes) -> bool: ...

    def remove(self, name: str) -> None: ...


class Verdicts:
    """What was found out, per server, with the time until which it is believed; where there is a place to keep it, also
    in the next run. Only "legacy" is kept: a modern server is asked again anyway, and answers at once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[ServerName, tuple[Verdict, float]] = {}
        self._of: dict[ServerName, str] = {}
        self._store: EraStore | None = None

    def keep_in(self, store: EraStore) -> None:
        self._store = store

    def introduce(self, server: ServerName, of: str) -> None:
        """What its definition is known by. What an earlier run found out of just that is believed."""
        if self._store is None or self._of.get(server) == of:
            return
        self._of[server] = of
        if server not in self._known:
            before, _, until = (self._store.get(server) or b"").decode(errors="replace").rpartition(" ")
            left = _seconds(until) - self._clock.wall().timestamp()
            if before == of and 0 < left <= LEGACY_BELIEVED_SECONDS:
                self._known[server] = (LEGACY, self._clock.now() + left)

    def get(self, server: ServerName) -> Verdict | None:
        known = self._known.get(server)
        if known is None:
            return None
        verdict, until = known
        return verdict if self._clock.now() < until else None

    def expired(self, server: ServerName) -> bool:
        known = self._known.get(server)
        return known is not None and self._clock.now() >= known[1]

    def put(self, server: ServerName, verdict: Verdict) -> None:
        legacy = verdict.era == "legacy"
        until = self._clock.now() + LEGACY_BELIEVED_SECONDS if legacy else float("inf")
        self._known[server] = (verdict, until)
        if self._store is None:
            return
        if legacy and server in self._of:
            believed = self._clock.wall().timestamp() + LEGACY_BELIEVED_SECONDS
            self._store.put(server, f"{self._of[server]} {believed:.0f}".encode())
        else:
            self._store.remove(server)

    def forget(self, server: ServerName) -> None:
        self._known.pop(server, None)
        self._of.pop(server, None)
        if self._store is not None:
            self._store.remove(server)


def _seconds(text: str) -> float:
    return float(text) if text.isdecimal() else 0.0
