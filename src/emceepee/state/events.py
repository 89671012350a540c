"""The ordered log of one workspace: leased to a response, delivered once that was handed over.

It waits for nobody (`waiting.py` does) and makes no ids. Delivery is a mark on each event, so eviction cannot move it.

The one rule: an undelivered event is in exactly one place: pending, in one lease, or counted in the gap. None vanishes
without a trace, and two leases never hold the same one.
"""

from __future__ import annotations

import heapq
import logging
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Raw

from emceepee.runtime.clock import iso
from emceepee.state.settings import EventSettings
from emceepee.state.totals import EventTotals
from emceepee.vocabulary.names import ServerName

_log = logging.getLogger("emceepee.state")

EventType: TypeAlias = Literal[
    "notification",
    "elicitation_request",
    "elicitation_expired",
    "sampling_request",
    "sampling_expired",
    "task_created",
    "task_completed",
    "task_failed",
    "task_cancelled",
    "task_expired",
    "server_added",
    "server_removed",
    "server_connected",
    "server_disconnected",
    "server_reconnected",
]
EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)


class Event:
    """One stored event. `data` is JSON; `about` is the task it tells of, if any; `sent_at` is set at first delivery."""

    __slots__ = ("about", "created_at", "data", "delivered", "id", "sent_at", "seq", "server", "stored", "type")

    def __init__(
        self, event_id: str, kind: EventType, server: ServerName, data: Raw, created_at: datetime, about: str | None
    ) -> None:
        self.id = event_id
        self.type: EventType = kind
        self.server = server
        self.data = data
        self.created_at = created_at
        self.about = about
        self.seq = 0
        self.sent_at: datetime | None = None
        self.delivered = False
        self.stored = True

    def shown(self) -> dict[str, Any]:
        """As responses show it."""
        return {"id": self.id, "type": self.type, "server": self.server, "data": self.data}

    def described(self) -> dict[str, Any]:
        """All that is known of it."""
        said = self.shown() | {"createdAt": iso(self.created_at)}
        return said if self.sent_at is None else said | {"sentAt": iso(self.sent_at)}


@dataclass(slots=True, frozen=True)
class Gap:
    """Undelivered events that had to go: how many, and between which ids (X-BUG-02)."""

    count: int
    oldest_id: str
    newest_id: str

    def __add__(self, other: Gap) -> Gap:
        oldest, newest = min(self.oldest_id, other.oldest_id), max(self.newest_id, other.newest_id)
        return Gap(self.count + other.count, oldest, newest)

    def shown(self) -> dict[str, Any]:
        return {"count": self.count, "oldestId": self.oldest_id, "newestId": self.newest_id}


class Lease:
    """What one response carries, until it is known whether it arrived. `events` may hold some that were delivered
    before, when a cursor asked for them again."""

    __slots__ = ("events", "gap", "open", "taken")

    def __init__(self, events: list[Event], taken: list[Event], gap: Gap | None) -> None:
        self.events = events
        self.taken = taken
        self.gap = gap
        self.open = True

    def __bool__(self) -> bool:
        return bool(self.events) or self.gap is not None


Wanted: TypeAlias = Callable[[Event], bool]


class EventLog:
    def __init__(self, settings: EventSettings | None = None, totals: EventTotals | None = None) -> None:
        self._settings = settings or EventSettings()
        self._totals = totals
        # Two shelves, because notifications go first when room is needed.
        self._notifications: dict[int, Event] = {}
        self._others: dict[int, Event] = {}
        self._seq_of: dict[str, int] = {}
        self._pending: dict[int, Event] = {}
        self._gap: Gap | None = None
        self._last = 0
        self._warned = False
        self.last_id: str | None = None
        self.given_id: str | None = None
        self.sequence = 0
        """Rises with everything that is worth a look: a new event, or one that came back. What waiters compare."""

        if totals is not None:
            totals.join(self)

    def __len__(self) -> int:
        return len(self._seq_of)

    @property
    def has_new(self) -> bool:
        return bool(self._pending) or self._gap is not None

    # -- writing

    def append(
        self,
        kind: EventType,
        server: ServerName,
        data: Raw,
        event_id: str,
        now: datetime,
        about: str | None = None,
    ) -> str:
        """`event_id` sorts after every earlier one. `about` is the id of the task that it tells of."""
        if len(self) >= self._settings.max_events:
            self.evict(math.ceil(self._settings.evict_share * self._settings.max_events), "event_limit")
        if self._totals is not None:
            self._totals.make_room()
        event = Event(event_id, kind, server, data, now, about)
        self._last += 1
        event.seq = self._last
        (self._notifications if kind == "notification" else self._others)[event.seq] = event
        self._seq_of[event_id] = event.seq
        self._pending[event.seq] = event
        self.last_id = event_id
        self.sequence += 1
        if self._totals is not None:
            self._totals.grew(self)
        self._warn_when_full()
        return event_id

    def _warn_when_full(self) -> None:
        """Once per crossing (X-BUG-04)."""
        most = self._settings.max_events
        full = len(self) >= self._settings.warn_at * most
        if full and not self._warned:
            data = {"totalCount": len(self), "maxEvents": most, "percentFull": round(100 * len(self) / most)}
            _log.warning("event_store_approaching_limit", extra={"data": data})
        self._warned = full

    def evict(self, count: int, reason: Literal["event_limit", "total_limit"]) -> int:
        """The oldest notifications, then the oldest of the rest; how many went. What was undelivered is counted."""
        total = len(self)
        chosen = list(islice(self._notifications.values(), count))
        chosen += islice(self._others.values(), count - len(chosen))
        for event in chosen:
            del (self._notifications if event.type == "notification" else self._others)[event.seq]
            del self._seq_of[event.id]
            event.stored = False
            if self._pending.pop(event.seq, None) is not None:
                self._note_gap(event)
        if self._totals is not None:
            self._totals.shrank(self, len(chosen))
        data = {"evictedCount": len(chosen), "reason": reason, "totalCount": total}
        _log.warning("event_store_eviction", extra={"data": data | {"maxEvents": self._settings.max_events}})
        self._warned = self._warned and len(self) >= self._settings.warn_at * self._settings.max_events
        return len(chosen)

    def _note_gap(self, event: Event) -> None:
        one = Gap(1, event.id, event.id)
        self._gap = one if self._gap is None else self._gap + one

    # -- delivering

    def lease(self, wanted: Wanted | None = None) -> Lease:
        """Take what is pending (of that, what is wanted), in order, for one response."""
        if wanted is None:
            taken, self._pending = list(self._pending.values()), {}
        else:
            taken = [event for event in self._pending.values() if wanted(event)]
            for event in taken:
                del self._pending[event.seq]
        gap, self._gap = self._gap, None
        return Lease(taken, taken, gap)

    def lease_since(self, event_id: str, wanted: Wanted | None = None) -> tuple[Lease, bool]:
        """Everything kept after that event, delivered or not, and whether the event is known; all that is kept, when it
        is not. What was pending of it is taken."""
        events, known = self.since(event_id)
        chosen = events if wanted is None else [event for event in events if wanted(event)]
        taken = [event for event in chosen if self._pending.pop(event.seq, None) is not None]
        gap, self._gap = self._gap, None
        return Lease(chosen, taken, gap), known

    def commit(self, lease: Lease, now: datetime) -> list[Event]:
        """The response was handed over. Returns what is thereby delivered for the first time; nothing the second time,
        and nothing after `give_back`."""
        if not lease.open:
            return []
        lease.open = False
        for event in lease.events:
            event.sent_at = event.sent_at or now
        fresh = [event for event in lease.taken if not event.delivered]
        for event in fresh:
            event.delivered = True
        if lease.events and (self.given_id is None or lease.events[-1].id > self.given_id):
            self.given_id = lease.events[-1].id
        return fresh

    def give_back(self, lease: Lease) -> bool:
        """The response is lost, or may be: its events are pending again, at their old places. Whether any came back."""
        if not lease.open:
            return False
        lease.open = False
        back = [event for event in lease.taken if event.stored]
        for event in lease.taken:
            if not event.stored:
                self._note_gap(event)
        if lease.gap is not None:
            self._gap = lease.gap if self._gap is None else self._gap + lease.gap
        if back:
            self._pending = {event.seq: event for event in _in_order(back, self._pending.values())}
        if lease.taken or lease.gap is not None:
            self.sequence += 1
            return True
        return False

    def mark_sent(self, event_id: str, now: datetime) -> None:
        """It went out on some stream. The first time counts; an unknown id is fine."""
        event = self.find(event_id)
        if event is not None and event.sent_at is None:
            event.sent_at = now

    # -- reading

    def since(self, event_id: str | None) -> tuple[list[Event], bool]:
        """What is kept after that event, in order; all of it for None, and for an id that is not known (False)."""
        if event_id is None:
            return list(self.all()), True
        seq = self._seq_of.get(event_id)
        if seq is None and event_id != self.last_id:
            data = {"lastEventId": event_id[:40], "action": "returning_all_events"}
            _log.warning("event_cursor_not_found", extra={"data": data})
            return list(self.all()), False
        after = self._last if seq is None else seq
        newer = [list(_newer(shelf, after)) for shelf in (self._notifications, self._others)]
        return list(_in_order(*newer)), True

    def all(self) -> Iterator[Event]:
        return _in_order(self._notifications.values(), self._others.values())

    def pending(self) -> list[Event]:
        return list(self._pending.values())

    def find(self, event_id: str) -> Event | None:
        seq = self._seq_of.get(event_id)
        if seq is None:
            return None
        return self._notifications.get(seq) or self._others.get(seq)

    def close(self) -> None:
        """The workspace is over: nothing is kept, and the total of the process falls."""
        if self._totals is not None:
            self._totals.leave(self)
            self._totals = None
        self._notifications, self._others, self._seq_of, self._pending, self._gap = {}, {}, {}, {}, None


def _newer(shelf: dict[int, Event], after: int) -> Iterable[Event]:
    """From the newest back, so that a read costs what it returns and not what is kept."""
    found = []
    for event in reversed(shelf.values()):
        if event.seq <= after:
            break
        found.append(event)
    return reversed(found)


def _in_order(*shelves: Iterable[Event]) -> Iterator[Event]:
    return heapq.merge(*shelves, key=lambda event: event.seq)
