"""Which folders the client of a scope works in: as it said them itself when it was asked last, or by our tool.

It asks nobody. The one rule: what a client told by the tool is promised to servers and stays until it tells something
else; what it answered itself is only remembered for a server that asks when nobody can be asked.
"""

from __future__ import annotations

from msgspec import Raw

from emceepee.errors import LimitReached
from emceepee.vocabulary.names import Scope

MAX_SCOPES = 20_000
MAX_BYTES = 64 * 1024


class Roots:
    def __init__(self) -> None:
        self._given: dict[Scope, Raw] = {}
        self._seen: dict[Scope, Raw] = {}

    def __len__(self) -> int:
        return len(self._given) + len(self._seen)

    def give(self, scope: Scope, result: Raw) -> bool:
        """By our tool: the result that servers get. Whether it is the first. Raises `LimitReached`."""
        if len(memoryview(result)) > MAX_BYTES:
            raise LimitReached("bytes of roots", MAX_BYTES)
        first = scope not in self._given
        if first and len(self._given) >= MAX_SCOPES:
            raise LimitReached("sessions with roots", MAX_SCOPES)
        self._given[scope] = result.copy()
        return first

    def given(self, scope: Scope) -> Raw | None:
        return self._given.get(scope)

    def saw(self, scope: Scope, result: Raw) -> None:
        """The client's own answer."""
        self._seen.pop(scope, None)
        if len(memoryview(result)) <= MAX_BYTES:
            while len(self._seen) >= MAX_SCOPES:
                del self._seen[next(iter(self._seen))]
            self._seen[scope] = result.copy()

    def last_known(self, scope: Scope) -> Raw | None:
        return self._given.get(scope, self._seen.get(scope))

    def outdated(self, scope: Scope) -> None:
        """The client has others now."""
        self._seen.pop(scope, None)

    def forget(self, scope: Scope) -> None:
        self._given.pop(scope, None)
        self._seen.pop(scope, None)
