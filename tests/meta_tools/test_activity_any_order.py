"""Whoever waits for news, in any order of what happens, what is answered, what is lost, and who gives up.

The real workspace, its real waiters, and the very steps of `await_activity`; the machine is the clients, who may wait
for everything or for some kinds only, ask from a cursor, time out, be killed while they wait, or never read an answer.
`make soak-state` runs this for 200,000 steps.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from emceepee.meta_tools.activity import _first, _next, _wanted
from emceepee.meta_tools.news_blocks import Handover
from emceepee.runtime.ids import Ulids
from emceepee.sessions.workspace import Workspace
from emceepee.state.events import EventType, Lease
from emceepee.state.settings import EventSettings, StateSettings
from emceepee.state.totals import EventTotals
from tests.state.soak import SETTINGS
from tests.support.fake_clock import FakeClock, settle

KINDS: list[EventType] = ["notification", "task_created", "task_completed", "server_connected"]
SERVERS = ("a", "b")


@dataclass(eq=False)
class Waiter:
    """A client in `await_activity`."""

    kinds: list[str] | None
    task: asyncio.Task[Lease]


@dataclass(eq=False)
class Response:
    """On its way to a client."""

    lease: Lease
    handover: Handover


class WaitingInAnyOrder(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = FakeClock()
        settings = StateSettings(events=EventSettings(max_events=20))
        ulids, totals = Ulids(self.clock, "0n0de001"), EventTotals(30)
        self.workspace = Workspace("s", self.clock, ulids, settings, totals)
        self.neighbour = Workspace("t", self.clock, ulids, settings, totals)
        self.waiters: list[Waiter] = []
        self.responses: list[Response] = []
        self.written: list[str] = []
        self.read: list[str] = []
        self.dropped = 0

    def teardown(self) -> None:
        left, self.waiters = self.waiters, []
        for waiter in left:
            waiter.task.cancel()
        self.run()
        assert not len(self.workspace.waiters)
        for workspace in (self.workspace, self.neighbour):
            self.loop.run_until_complete(workspace.close())
        assert not self.clock.waiting
        self.loop.close()

    def run(self) -> None:
        """Let everybody go as far as he can; who has something is about to be answered."""
        self.loop.run_until_complete(settle(10))
        for waiter in [waiter for waiter in self.waiters if waiter.task.done()]:
            self.waiters.remove(waiter)
            self.answer(waiter.task.result())

    def answer(self, lease: Lease) -> None:
        held = {event.id for other in self.responses for event in other.lease.taken}
        assert not held & {event.id for event in lease.taken}, "two responses carry one event"
        self.responses.append(Response(lease, Handover(self.workspace, lease, None)))

    # -- what happens

    @rule(kind=st.sampled_from(KINDS), server=st.sampled_from(SERVERS), times=st.integers(1, 6))
    def happen(self, kind: EventType, server: str, times: int) -> None:
        for _ in range(times):
            self.written.append(self.workspace.record(kind, server, {}))
        self.run()

    @rule(times=st.integers(1, 25))
    def happen_elsewhere(self, times: int) -> None:
        for _ in range(times):
            self.neighbour.record("notification", "a", {})

    @rule(seconds=st.floats(0, 60))
    def pass_time(self, seconds: float) -> None:
        self.loop.run_until_complete(self.clock.advance(seconds))
        self.run()

    # -- what clients do

    @rule(kinds=st.none() | st.lists(st.sampled_from(KINDS), min_size=1, max_size=2), seconds=st.floats(0.1, 50))
    def wait(self, kinds: list[str] | None, seconds: float) -> None:
        wanted = _wanted(None, kinds)
        lease, _ = _first(self.workspace, wanted, None)
        if lease:
            self.answer(lease)
            return
        self.waiters.append(Waiter(kinds, self.loop.create_task(_next(self.workspace, wanted, seconds))))
        self.run()

    @precondition(lambda self: self.written)
    @rule(data=st.data())
    def ask_from_a_cursor(self, data: st.DataObject) -> None:
        cursor = data.draw(st.sampled_from(self.written))
        kept = [event.id for event in self.workspace.events.all()]
        lease, known = _first(self.workspace, None, cursor)
        assert [event.id for event in lease.events] == [one for one in kept if one > cursor or not known]
        self.answer(lease)

    @precondition(lambda self: self.waiters)
    @rule(data=st.data())
    def be_killed_while_waiting(self, data: st.DataObject) -> None:
        waiter = data.draw(st.sampled_from(self.waiters))
        self.waiters.remove(waiter)
        waiter.task.cancel()
        self.run()

    @precondition(lambda self: self.waiters)
    @rule(data=st.data(), kind=st.sampled_from(KINDS))
    def be_killed_in_the_moment_of_waking(self, data: st.DataObject, kind: EventType) -> None:
        waiter = data.draw(st.sampled_from(self.waiters))
        self.waiters.remove(waiter)
        self.written.append(self.workspace.record(kind, "a", {}))
        waiter.task.cancel()
        self.run()

    @precondition(lambda self: self.responses)
    @rule(data=st.data())
    def read_an_answer(self, data: st.DataObject) -> None:
        response = data.draw(st.sampled_from(self.responses))
        self.responses.remove(response)
        response.handover.committed()
        self.read += [event.id for event in response.lease.taken]
        if response.lease.gap is not None:
            self.dropped += response.lease.gap.count

    @precondition(lambda self: self.responses)
    @rule(data=st.data())
    def never_read_an_answer(self, data: st.DataObject) -> None:
        response = data.draw(st.sampled_from(self.responses))
        self.responses.remove(response)
        response.handover.lost()
        self.run()

    # -- what always holds

    @invariant()
    def nothing_is_read_twice(self) -> None:
        assert len(self.read) == len(set(self.read))

    @invariant()
    def nothing_is_lost_without_a_gap(self) -> None:
        log = self.workspace.events
        held = [event.id for response in self.responses for event in response.lease.taken]
        gaps = [response.lease.gap.count for response in self.responses if response.lease.gap is not None]
        if log._gap is not None:
            gaps.append(log._gap.count)
        pending = log.pending()
        assert len(self.read) + len(held) + len(pending) + sum(gaps) + self.dropped == len(self.written)

    @invariant()
    def nobody_sleeps_beside_something_that_he_waits_for(self) -> None:
        log = self.workspace.events
        for waiter in self.waiters:
            # What a filter passes over may go unheard; it is told with the next that is heard.
            assert log._gap is None or waiter.kinds is not None
            assert not [event for event in log.pending() if waiter.kinds is None or event.type in waiter.kinds]

    @invariant()
    def who_waits_is_counted_and_who_left_is_not(self) -> None:
        assert len(self.workspace.waiters) == len(self.waiters)


TestWaitingInAnyOrder = WaitingInAnyOrder.TestCase
TestWaitingInAnyOrder.settings = SETTINGS
