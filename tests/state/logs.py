"""A log for tests: it makes ids and times itself, so that a test says only what matters to it."""

from __future__ import annotations

from msgspec import Raw

from emceepee.runtime.ids import Ulids
from emceepee.state.events import EventLog, EventType
from emceepee.state.settings import EventSettings
from emceepee.state.totals import EventTotals
from tests.support.fake_clock import FakeClock


class TestedLog(EventLog):
    __test__ = False

    def __init__(
        self, settings: EventSettings | None = None, totals: EventTotals | None = None, clock: FakeClock | None = None
    ) -> None:
        super().__init__(settings, totals)
        self.clock = clock or FakeClock()
        self.ulids = Ulids(self.clock, "0n0de001")

    def add(self, kind: EventType = "server_connected", server: str = "files") -> str:
        return self.append(kind, server, Raw(b"{}"), self.ulids.next(), self.clock.wall())

    def deliver(self) -> list[str]:
        """What a response that arrives would carry."""
        lease = self.lease()
        self.commit(lease, self.clock.wall())
        return [event.id for event in lease.events]
