"""Tasks in any order of completing, failing, cancelling, expiring, losing the server and late results.

The one claim: each task ends once, with one event, and the call behind it is stopped exactly when nobody answered it.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import Raw

from emceepee.errors import ClientFault, LimitReached
from emceepee.state.recording import Moment
from emceepee.state.settings import TaskSettings
from emceepee.state.tasks import TERMINAL, Tasks
from tests.state.conftest import Recorded
from tests.state.soak import SETTINGS
from tests.support.fake_clock import FakeClock

SERVERS = ("a", "b")


class TasksInAnyOrder(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.at = 0.0
        self.recorded = Recorded()
        self.asking: dict[str, float] = {}
        settings = TaskSettings(max_working=8, max_finished=12)
        self.tasks = Tasks(self.recorded, settings, self.asking.get)
        self.made: list[str] = []
        self.stopped: Counter[str] = Counter()
        self.ended: dict[str, str] = {}
        self.answered: set[str] = set()

    def now(self) -> Moment:
        return Moment(self.at, self.clock.wall())

    @rule(server=st.sampled_from(SERVERS), ttl=st.integers(1, 400_000))
    def begin(self, server: str, ttl: int) -> None:
        name = f"T{len(self.made):05}"
        try:
            self.tasks.create(name, (server, "t", None), self.now(), lambda: self.stopped.update([name]), ttl)
        except LimitReached:
            assert self.tasks.closed or len(self.tasks.views()) == 8
            return
        self.made.append(name)

    @precondition(lambda self: self.made)
    @rule(data=st.data(), how=st.sampled_from(("complete", "error", "fail", "cancel")))
    def end(self, data: st.DataObject, how: str) -> None:
        name = data.draw(st.sampled_from(self.made))
        working = name not in self.ended
        try:
            if how == "cancel":
                assert self.tasks.cancel(name, self.now()) == working
            elif how == "fail":
                self.tasks.fail(name, "x", self.now())
            else:
                self.tasks.complete(name, Raw(b"{}"), how == "error", self.now())
        except ClientFault:
            assert not working
        else:
            assert working or how == "cancel"
            if working and how in ("complete", "error"):
                self.answered.add(name)

    def come_to_pass(self, step: str) -> None:
        """One step for the first task, late or not."""
        match step:
            case "expire":
                self.at += 1
                self.tasks.expire(self.now())
            case "lose":
                self.tasks.fail_server("a", "Server disconnected", self.now())
            case "cancel":
                self.tasks.cancel("T00000", self.now())
            case "fail":
                with contextlib.suppress(ClientFault):
                    self.tasks.fail("T00000", "x", self.now())
            case _:
                with contextlib.suppress(ClientFault):
                    self.tasks.complete("T00000", Raw(b"{}"), step == "error", self.now())

    @rule(server=st.sampled_from(SERVERS))
    def lose(self, server: str) -> None:
        self.tasks.fail_server(server, "Server disconnected", self.now())
        assert not self.tasks.views(server)

    @rule(seconds=st.floats(0, 700))
    def pass_time(self, seconds: float) -> None:
        self.at += seconds
        self.tasks.expire(self.now())
        due = self.tasks.next_deadline()
        assert due is None or due > self.at

    @rule(server=st.sampled_from(SERVERS), seconds=st.none() | st.floats(0, 4_000))
    def ask(self, server: str, seconds: float | None) -> None:
        self.asking.pop(server, None)
        if seconds is not None:
            self.asking[server] = self.at + seconds

    @precondition(lambda self: self.made)
    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        self.tasks.delivered(data.draw(st.sampled_from(self.made)), self.now())

    @precondition(lambda self: len(self.made) > 20)
    @rule()
    def close(self) -> None:
        for view in self.tasks.close(self.now()):
            self.ended[view.id] = view.status

    @invariant()
    def each_ends_once_with_one_event(self) -> None:
        for kind, _server, data in self.recorded.events:
            name = data["taskId"]
            if kind == "task_created":
                continue
            status = kind.removeprefix("task_")
            assert self.ended.setdefault(name, status) == status
        ends = Counter(data["taskId"] for kind, _, data in self.recorded.events if kind != "task_created")
        assert set(ends.values()) <= {1}

    @invariant()
    def the_call_is_stopped_exactly_when_nobody_answered_it(self) -> None:
        assert set(self.stopped.values()) <= {1}
        assert set(self.stopped) == set(self.ended) - self.answered

    @invariant()
    def what_is_listed_is_as_it_ended(self) -> None:
        for view in self.tasks.views(finished=True):
            assert view.status == self.ended.get(view.id, "working")
            assert view.working == (view.status not in TERMINAL)


STEPS = ("complete", "error", "fail", "cancel", "expire", "lose")


@pytest.mark.shows("A-RACE-03", "A-EXE-10")
@pytest.mark.parametrize("first", STEPS)
def test_whatever_comes_first_ends_it_and_all_that_comes_later_changes_nothing(first: str) -> None:
    """Each order of all six, and each as a late one."""
    for later in itertools.permutations([step for step in STEPS if step != first]):
        one = TasksInAnyOrder()
        one.begin("a", 1_000)
        for step in (first, *later):
            one.come_to_pass(step)
        (ended,) = one.tasks.views(finished=True)
        assert ended.status == {"complete": "completed", "cancel": "cancelled", "expire": "expired"}.get(
            first, "failed"
        )
        assert [kind for kind, _, _ in one.recorded.events] == ["task_created", f"task_{ended.status}"]
        assert (ended.result is not None) == (first in ("complete", "error"))
        assert one.stopped.total() == (first not in ("complete", "error"))


TestTasksInAnyOrder = TasksInAnyOrder.TestCase
TestTasksInAnyOrder.settings = SETTINGS
