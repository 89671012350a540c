"""What we asked the other side: ids, the pending table, deadlines.

Not the writing (a driver does it), and not what an answer means. An entry is in the table from before the first byte is
written until exactly one thing ends it: an answer, giving up, a failed write, its deadline, or the end of everything.

The one rule: whoever takes an ask out of the table has ended it; nobody else may.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import msgspec

from emceepee.protocol.faults import LocalMisuse, PeerClosed
from emceepee.protocol.messages import RequestId

_SPARE = 64
"""How many ended asks the deadline heap may hold beyond twice the pending ones before it is rebuilt: enough that a
quiet peer never rebuilds, few enough to cost nothing."""


class Asked(msgspec.Struct, eq=False):
    """One request of ours. From `waiter` on its slots are the driver's own, which so needs no record of its own for
    each ask; everything else is read only for others."""

    id: str
    method: str
    deadline: float | None
    sent: bool = False
    ended: bool = False
    waiter: Any = None
    hearing: Any = None
    sending: Any = None
    left: Any = None
    timeout: float | None = None

    def __repr__(self) -> str:
        state = "ended" if self.ended else "sent" if self.sent else "open"
        return f"Asked({self.id!r}, {self.method!r}, {state})"


@dataclass(slots=True, frozen=True)
class RemoteCancelled:
    """They cancelled what we had asked of them."""

    reason: str


@dataclass(slots=True, frozen=True)
class Lost:
    """The conversation ended first."""

    reason: str


@dataclass(slots=True, frozen=True)
class TimedOut:
    """Its deadline passed first."""


class Outbound:
    """The pending table. An ask leaves it once, by `take`, `expire` or `close`."""

    def __init__(self, prefix: str) -> None:
        if not prefix:
            raise LocalMisuse("A peer needs a prefix for its ids: without one they meet the other side's")
        self._prefix = prefix
        self.count = 0
        self._pending: dict[RequestId, Asked] = {}
        # Ids, not asks: an ended one may wait here for its deadline, and must not keep its caller's result alive.
        self._deadlines: list[tuple[float, int, str]] = []
        self.closed: str | None = None

    def __len__(self) -> int:
        return len(self._pending)

    def open(self, method: str, deadline: float | None) -> Asked:
        """A new entry under an id never used before in this conversation. Raises `PeerClosed`."""
        if self.closed is not None:
            raise PeerClosed(self.closed)
        self.count += 1
        asked = Asked(f"{self._prefix}{self.count}", method, deadline)
        if asked.id in self._pending:
            raise LocalMisuse(f"The id {asked.id!r} is already waiting for its answer")
        self._pending[asked.id] = asked
        if deadline is not None:
            self._watch(deadline, asked.id)
        return asked

    def waiting(self) -> list[Asked]:
        """All that have not ended, in the order in which they were asked."""
        return list(self._pending.values())

    def find(self, request_id: RequestId | None) -> Asked | None:
        """The ask still waiting under this very id."""
        return self._pending.get(request_id) if type(request_id) is str else None

    def take(self, request_id: RequestId | None) -> Asked | None:
        """End the ask waiting under this very id."""
        asked = self._pending.pop(request_id, None) if type(request_id) is str else None
        if asked is not None:
            asked.ended = True
        return asked

    def end(self, asked: Asked) -> bool:
        """End this one; False when something else had."""
        if asked.ended:
            return False
        if self._pending.get(asked.id) is not asked:
            raise LocalMisuse(f"{asked!r} was not asked here")
        self.take(asked.id)
        return True

    def next_deadline(self) -> float | None:
        """The earliest deadline of a waiting ask."""
        deadlines = self._deadlines
        while deadlines and not self._counts(deadlines[0]):
            heapq.heappop(deadlines)
        return deadlines[0][0] if deadlines else None

    def _counts(self, entry: tuple[float, int, str]) -> bool:
        """Whether this is still the deadline of something."""
        asked = self._pending.get(entry[2])
        return asked is not None and asked.deadline == entry[0]

    def postpone(self, asked: Asked, deadline: float | None) -> None:
        """It has another deadline now, or none."""
        if asked.ended or asked.deadline == deadline:
            return
        asked.deadline = deadline
        if deadline is not None:
            self._watch(deadline, asked.id)

    def expire(self, now: float) -> list[Asked]:
        """End every ask whose deadline has come, earliest first."""
        due: list[Asked] = []
        while (first := self.next_deadline()) is not None and first <= now:
            asked = self.take(heapq.heappop(self._deadlines)[2])
            if asked is not None:
                due.append(asked)
        return due

    def close(self, reason: str) -> list[Asked]:
        """End them all, in the order in which they were asked; nothing can be asked after. The second time: none."""
        if self.closed is not None:
            return []
        self.closed = reason
        left = list(self._pending.values())
        self._pending.clear()
        self._deadlines.clear()
        for asked in left:
            asked.ended = True
        return left

    def _watch(self, deadline: float, request_id: str) -> None:
        """Ended asks stay in the heap until they surface; rebuild it before they outnumber the living."""
        if len(self._deadlines) > 2 * len(self._pending) + _SPARE:
            self._deadlines = [entry for entry in self._deadlines if self._counts(entry)]
            heapq.heapify(self._deadlines)
        heapq.heappush(self._deadlines, (deadline, self.count, request_id))
