"""The log under any order of everything: no event twice, none lost without a gap record, nobody asleep beside news.

`make soak-state` runs this for 200,000 steps and more; the plain suite for a few thousand. The model knows only what a
client knows: what was written, which responses arrived, which were lost.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from emceepee.state.events import EVENT_TYPES, EventType, Lease
from emceepee.state.settings import EventSettings
from emceepee.state.totals import EventTotals
from tests.state.logs import TestedLog
from tests.state.soak import SETTINGS

KINDS: list[EventType] = [*EVENT_TYPES, "notification", "notification", "notification"]


class AnyOrder(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        totals = EventTotals(40)
        self.log = TestedLog(EventSettings(max_events=20), totals)
        self.other = TestedLog(EventSettings(max_events=35), totals)
        self.written: list[str] = []
        self.arrived: list[str] = []
        self.dropped = 0
        self.leases: list[Lease] = []
        self.asleep: set[int] = set()
        """Waiters, each by the sequence it had seen when it found nothing."""

    # -- what happens

    @rule(kind=st.sampled_from(KINDS), times=st.integers(1, 6))
    def happen(self, kind: EventType, times: int) -> None:
        for _ in range(times):
            self.written.append(self.log.add(kind))
        self._wake()

    @rule(times=st.integers(1, 30))
    def happen_elsewhere(self, times: int) -> None:
        for _ in range(times):
            self.other.add()

    @rule(kind=st.none() | st.sampled_from(KINDS))
    def respond(self, kind: EventType | None) -> None:
        lease = self.log.lease(None if kind is None else lambda event: event.type == kind)
        held = {event.id for other in self.leases for event in other.taken}
        assert not held & {event.id for event in lease.taken}, "two responses carry one event"
        assert [event.id for event in lease.events] == sorted(event.id for event in lease.events)
        self.leases.append(lease)

    @precondition(lambda self: self.written)
    @rule(data=st.data())
    def respond_from_cursor(self, data: st.DataObject) -> None:
        cursor = data.draw(st.sampled_from(self.written))
        kept = [event.id for event in self.log.all()]
        lease, known = self.log.lease_since(cursor)
        expected = [event_id for event_id in kept if event_id > cursor] if known else kept
        assert [event.id for event in lease.events] == expected
        assert known == (cursor in kept or cursor == self.written[-1])
        self.leases.append(lease)

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), twice=st.booleans())
    def arrive(self, data: st.DataObject, twice: bool) -> None:
        lease = data.draw(st.sampled_from(self.leases))
        self.leases.remove(lease)
        fresh = self.log.commit(lease, self.log.clock.wall())
        assert fresh == lease.taken
        self.arrived += [event.id for event in fresh]
        if lease.gap is not None:
            self.dropped += lease.gap.count
        if twice:
            assert self.log.commit(lease, self.log.clock.wall()) == []
            assert not self.log.give_back(lease)

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.leases))
        self.leases.remove(lease)
        self.log.give_back(lease)
        self._wake()
        assert self.log.commit(lease, self.log.clock.wall()) == []

    @rule()
    def fall_asleep(self) -> None:
        """Look, find nothing, remember what was seen."""
        if not self.log.has_new:
            self.asleep.add(self.log.sequence)

    def _wake(self) -> None:
        self.asleep = {seen for seen in self.asleep if seen >= self.log.sequence}

    # -- what always holds

    @invariant()
    def nothing_twice(self) -> None:
        assert len(self.arrived) == len(set(self.arrived))

    @invariant()
    def nothing_lost_without_a_trace(self) -> None:
        held = [event.id for lease in self.leases for event in lease.taken]
        pending = [event.id for event in self.log.pending()]
        gaps = [lease.gap.count for lease in self.leases if lease.gap is not None]
        if self.log._gap is not None:
            gaps.append(self.log._gap.count)
        accounted = len(self.arrived) + len(held) + len(pending) + sum(gaps) + self.dropped
        assert accounted == len(self.written)
        assert not set(held) & set(pending)
        assert not set(self.arrived) & {*held, *pending}

    @invariant()
    def nobody_sleeps_beside_something_new(self) -> None:
        assert not (self.asleep and self.log.has_new)

    @invariant()
    def bounds_hold(self) -> None:
        assert len(self.log) <= 20
        assert len(self.log) + len(self.other) <= 40
        assert [event.id for event in self.log.pending()] == sorted(event.id for event in self.log.pending())


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = SETTINGS
