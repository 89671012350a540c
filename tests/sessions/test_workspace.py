"""One workspace: its parts tell its own log, wake who waits, end what is due, and end together in order."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import Raw

from emceepee.errors import LimitReached
from emceepee.runtime.ids import Ulids
from emceepee.sessions.workspace import Workspace
from emceepee.state.settings import AskSettings, EventSettings, StateSettings
from emceepee.vocabulary.outcomes import Outcome
from emceepee.vocabulary.raw_json import read_value
from tests.support.fake_clock import FakeClock, settle

WHAT = ("files", "grep", None)


def made(clock: FakeClock, settings: StateSettings | None = None) -> Workspace:
    return Workspace("s1", clock, Ulids(clock, "0n0de001"), settings or StateSettings())


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def kinds(workspace: Workspace) -> list[str]:
    return [event.type for event in workspace.events.all()]


@pytest.mark.shows("A-SES-02")
def test_a_new_one_is_empty_and_its_parts_write_into_its_own_log(clock: FakeClock) -> None:
    here, there = made(clock), made(clock)
    assert (len(here.events), len(here.tasks), len(here.asks), len(here.notifications), len(here.logs)) == (0,) * 5
    here.begin_task(WHAT, None)
    here.begin_ask("sampling", "files", Raw(b"{}"), lambda outcome: None)
    here.heard("files", "notifications/tools/list_changed", None)
    assert kinds(here) == ["task_created", "sampling_request", "notification"]
    assert len(there.events) == 0


@pytest.mark.shows("A-TSK-03", "A-PRQ-02", "X-BUG-05", "X-CON-40")
def test_every_id_is_a_ulid_and_they_sort_as_they_were_made(clock: FakeClock) -> None:
    workspace = made(clock)
    task = workspace.begin_task(WHAT, None)
    ask = workspace.begin_ask("elicitation", "files", Raw(b"{}"), lambda outcome: None)
    ids = [task.id, ask.id, workspace.record("server_connected", "files", {})]
    assert ids == sorted(ids)
    assert all(re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", one) for one in ids)


@pytest.mark.shows("A-BUF-05", "A-EVT-01", "A-EVT-16", "X-CON-30", "A-CON-09", "A-CON-10")
def test_a_notification_is_an_event_and_a_log_line_is_none(clock: FakeClock) -> None:
    workspace = made(clock)
    workspace.logged("files", "error", Raw(b'"full"'), "disk", "protocol")
    assert kinds(workspace) == []
    workspace.heard("files", "notifications/resources/updated", Raw(b'{"uri":"a:b"}'))
    (event,) = workspace.events.all()
    data = read_value(event.data)
    assert data.pop("timestamp").endswith("Z")
    assert data == {"method": "notifications/resources/updated", "params": {"uri": "a:b"}}
    assert [item.method for item in workspace.notifications.take().items] == ["notifications/resources/updated"]


def test_what_is_very_long_is_kept_as_its_beginning(clock: FakeClock) -> None:
    workspace = made(clock)
    workspace.heard("files", "notifications/x", Raw(b'{"a":"' + b"x" * 100_000 + b'"}'))
    (item,) = workspace.notifications.take().items
    assert item.params is not None
    kept = read_value(item.params)
    assert (kept["truncated"], kept["bytes"]) == (True, 100_008)


@pytest.mark.shows("A-TSK-06", "X-BUG-20", "A-TSK-14")
async def test_a_task_expires_on_time_without_anybody_looking(clock: FakeClock) -> None:
    workspace = made(clock)
    workspace.begin_task(WHAT, None, 90_000)
    workspace.begin_task(WHAT, None, 30_000)
    await clock.advance(30)
    assert kinds(workspace) == ["task_created", "task_created", "task_expired"]
    await clock.advance(60)
    assert kinds(workspace)[3:] == ["task_expired"]


@pytest.mark.shows("A-SES-27", "A-PRQ-04")
async def test_an_ask_expires_on_time_by_the_settings_of_the_workspace(clock: FakeClock) -> None:
    workspace = made(clock, StateSettings(asks=AskSettings(default_timeout_ms=7_000)))
    got: list[Outcome] = []
    workspace.begin_ask("sampling", "files", Raw(b"{}"), got.append)
    await clock.advance(7)
    assert kinds(workspace) == ["sampling_request", "sampling_expired"]
    assert len(got) == 1
    assert clock.waiting == 0


@pytest.mark.shows("X-CON-02")
async def test_a_task_outlives_its_ttl_while_its_server_asks_a_person(clock: FakeClock) -> None:
    workspace = made(clock)
    workspace.begin_task(WHAT, None)
    await clock.advance(100)
    workspace.begin_ask("elicitation", "files", Raw(b"{}"), lambda outcome: None)
    await clock.advance(599)
    assert kinds(workspace) == ["task_created", "elicitation_request"]
    await clock.advance(1)
    assert kinds(workspace)[2:] == ["elicitation_expired"]
    # The server was told, and the call goes on with the time that it had left.
    await clock.advance(199)
    assert kinds(workspace)[3:] == []
    await clock.advance(1)
    assert kinds(workspace)[3:] == ["task_expired"]


@pytest.mark.shows("X-CON-02")
async def test_the_time_that_a_person_took_is_counted_once_and_never_beyond_the_longest_life(clock: FakeClock) -> None:
    workspace = made(clock)
    workspace.begin_task(WHAT, None)
    first, second = [workspace.begin_ask("elicitation", "files", Raw(b"{}"), lambda outcome: None) for _ in range(2)]
    other = workspace.begin_ask("elicitation", "other", Raw(b"{}"), lambda outcome: None)
    await clock.advance(100)
    workspace.answer_ask("elicitation", first.id, {"action": "decline"})
    workspace.withdraw_ask(other, "gone")
    workspace.withdraw_ask(other, "gone")
    await clock.advance(100)
    workspace.withdraw_ask(second, "gone")
    assert workspace.tasks.next_deadline() == clock.now() + 300
    workspace.begin_task(WHAT, None, 1_800_000)
    await clock.advance(100)
    workspace.begin_ask("elicitation", "files", Raw(b"{}"), lambda outcome: None)
    await clock.advance(600)
    assert kinds(workspace)[-1] == "elicitation_expired"
    await clock.advance(1100)
    assert kinds(workspace)[-1] == "task_expired"
    assert workspace.tasks.views() == []


@pytest.mark.shows("X-BUG-22", "A-TSK-07")
async def test_the_result_is_kept_from_the_moment_its_event_arrived(clock: FakeClock) -> None:
    workspace = made(clock)
    task = workspace.begin_task(WHAT, None)
    workspace.tasks.complete(task.id, Raw(b"{}"), False, workspace.now())
    await clock.advance(1_000)
    workspace.commit(workspace.lease())
    await clock.advance(299)
    assert workspace.tasks.get(task.id).result == Raw(b"{}")
    await clock.advance(1)
    assert len(workspace.tasks) == 0


@pytest.mark.shows("A-EVT-19", "A-RACE-01", "X-BUG-07")
async def test_an_event_wakes_whoever_waits_and_a_lost_response_wakes_them_again(clock: FakeClock) -> None:
    workspace = made(clock)
    waits = [asyncio.ensure_future(workspace.waiters.past(0, 30)) for _ in range(3)]
    await settle()
    workspace.record("server_connected", "files", {})
    async with asyncio.timeout(5):
        assert await asyncio.gather(*waits) == [True] * 3
    lease = workspace.lease()
    loser = asyncio.ensure_future(workspace.waiters.past(workspace.events.sequence, 30))
    await settle()
    workspace.give_back(lease)
    async with asyncio.timeout(5):
        assert await loser
    assert len(workspace.lease().events) == 1


@pytest.mark.shows("A-CON-16", "A-CON-17", "A-EVT-14", "X-CON-08", "X-CON-14")
def test_a_lost_server_takes_its_tasks_and_questions_with_it_and_leaves_its_logs(clock: FakeClock) -> None:
    workspace = made(clock)
    got: list[Outcome] = []
    task = workspace.begin_task(WHAT, None)
    other = workspace.begin_task(("b", "t", None), None)
    workspace.begin_ask("elicitation", "files", Raw(b"{}"), got.append)
    workspace.logged("files", "error", Raw(b'"why"'), None, "stderr")
    workspace.disconnected("files")
    assert kinds(workspace)[3:] == ["task_failed", "elicitation_expired", "server_disconnected"]
    assert workspace.tasks.get(task.id).error == "Server disconnected"
    assert workspace.tasks.get(other.id).working
    assert len(got) == 1
    assert len(workspace.logs) == 1
    workspace.removed("files")
    assert len(workspace.logs) == 0


@pytest.mark.shows("A-SES-16", "A-SES-17", "A-SES-18", "A-SES-19", "A-SES-20", "X-CON-07", "X-BUG-26", "A-TST-15")
async def test_its_end_rejects_asks_then_cancels_tasks_then_empties_buffers(clock: FakeClock) -> None:
    workspace = made(clock)
    order: list[str] = []
    task = workspace.begin_task(WHAT, lambda: order.append("task stopped"))
    workspace.begin_ask("elicitation", "files", Raw(b"{}"), lambda outcome: order.append("asked told"))
    workspace.begin_ask("sampling", "files", Raw(b"{}"), lambda outcome: order.append("asked told"))
    workspace.logged("files", "info", None, None, "protocol")
    wait = asyncio.ensure_future(workspace.waiters.past(99, 30))
    job = workspace.jobs.spawn(asyncio.Event().wait(), "call")  # type: ignore[arg-type]
    await settle()
    await workspace.close()
    assert order == ["asked told", "asked told", "task stopped"]
    assert workspace.tasks.get(task.id).status == "cancelled"
    assert (len(workspace.logs), len(workspace.events), clock.waiting) == (0, 0, 0)
    assert job.cancelled()
    async with asyncio.timeout(5):
        assert await wait is False
    with pytest.raises(LimitReached):
        workspace.begin_task(WHAT, None)
    assert workspace.record("server_connected", "files", {}) == ""
    await workspace.close()


def test_it_is_busy_while_something_of_it_is_open(clock: FakeClock) -> None:
    workspace = made(clock)
    assert not workspace.busy
    task = workspace.begin_task(WHAT, None)
    assert workspace.busy
    workspace.tasks.cancel(task.id, workspace.now())
    assert not workspace.busy


@pytest.mark.shows("X-CON-31", "X-BUG-15")
async def test_log_lines_are_no_news_and_wake_nobody(clock: FakeClock) -> None:
    workspace = made(clock)
    waiting = asyncio.ensure_future(workspace.waiters.past(workspace.events.sequence, 10))
    await settle()
    for number in range(3):
        workspace.logged("files", "error", Raw(b"%d" % number), None, "stderr")
    await settle()
    assert not waiting.done()
    assert not workspace.notifications.has_new
    assert not workspace.events.has_new
    workspace.heard("files", "notifications/tools/list_changed", None)
    assert await waiting
    assert workspace.notifications.has_new


@pytest.mark.shows("X-CON-39")
async def test_a_question_that_was_answered_leaves_no_timer_and_one_that_rings_late_looks_again(
    clock: FakeClock,
) -> None:
    workspace = made(clock)
    ask = workspace.begin_ask("elicitation", "files", Raw(b"{}"), lambda outcome: None)
    assert pending(clock) == 1
    workspace.answer_ask("elicitation", ask.id, {"action": "decline"})
    assert pending(clock) == 0
    early, late = (
        workspace.begin_ask("sampling", "files", Raw(b"{}"), lambda outcome: None, ms) for ms in (1000, 2000)
    )
    workspace.withdraw_ask(early, "gone")
    await clock.advance(1)
    assert [one.id for one in workspace.asks.open()] == [late.id]
    await clock.advance(1)
    assert workspace.asks.open() == []
    assert kinds(workspace).count("sampling_expired") == 2
    workspace.begin_ask("sampling", "files", Raw(b"{}"), lambda outcome: None)
    await workspace.close()
    assert pending(clock) == 0


def pending(clock: FakeClock) -> int:
    """Timers that would ring."""
    return sum(not timer.cancelled for timer in clock._timers)


@pytest.mark.shows("A-TST-01")
async def test_events_are_waited_for_kept_let_go_of_and_seen_in_their_own_workspace_only(clock: FakeClock) -> None:
    settings = StateSettings(events=EventSettings(max_events=10))
    here, there = made(clock, settings), made(clock, settings)
    assert not await here.waiters.past(here.events.sequence, 0)
    waiting = asyncio.ensure_future(here.waiters.past(here.events.sequence, 5))
    await clock.advance(5)
    assert not await waiting
    waiting = asyncio.ensure_future(here.waiters.past(here.events.sequence, 5))
    await settle()
    first = here.record("server_connected", "files", {})
    assert await waiting
    lease = here.lease()
    here.commit(lease)
    assert [event.id for event in here.events.all()] == [first], "delivered, and kept"
    made_later = [here.record("server_connected", "files", {}) for _ in range(10)]
    assert [event.id for event in here.events.all()] == made_later
    assert [event.id for event in here.lease().events] == made_later
    assert (len(there.events), there.events.has_new) == (0, False)


@pytest.mark.shows("A-TST-02")
async def test_tasks_go_from_state_to_state_live_their_time_and_are_cleaned_up_by_one_timer(clock: FakeClock) -> None:
    workspace = made(clock)
    names = ["complete", "fail", "cancel", "expire"]
    tasks = {name: workspace.begin_task(WHAT, None, ttl_ms=60_000).id for name in names}
    workspace.tasks.complete(tasks["complete"], Raw(b"{}"), False, workspace.now())
    workspace.tasks.fail(tasks["fail"], "x", workspace.now())
    assert workspace.tasks.cancel(tasks["cancel"], workspace.now())
    assert pending(clock) == 1
    await clock.advance(60)
    states = [workspace.tasks.get(tasks[name]).status for name in names]
    assert states == ["completed", "failed", "cancelled", "expired"]
    await clock.advance(1800)
    assert len(workspace.tasks) == 0
    assert pending(clock) == 0
    await workspace.close()


class JumpingClock(FakeClock):
    """One whose time of day is set back and forth, as people and machines do."""

    def __init__(self) -> None:
        super().__init__()
        self.off = timedelta()

    def wall(self) -> datetime:
        return super().wall() + self.off


@pytest.mark.shows("X-PY-10")
@pytest.mark.parametrize("hours", [-1000, 1000])
async def test_a_clock_that_is_set_changes_no_limit_and_what_people_read_is_utc(hours: int) -> None:
    clock = JumpingClock()
    workspace = made(clock)
    task = workspace.begin_task(WHAT, None, ttl_ms=60_000)
    workspace.begin_ask("sampling", "other", Raw(b"{}"), lambda outcome: None, 60_000)
    clock.off = timedelta(hours=hours)
    await clock.advance(59.9)
    assert (len(workspace.tasks.working()), len(workspace.asks)) == (1, 1)
    await clock.advance(0.2)
    assert (len(workspace.tasks.working()), len(workspace.asks)) == (0, 0)
    shown = workspace.tasks.get(task.id).shown()
    assert all(shown[key].endswith("Z") for key in ("createdAt", "lastUpdatedAt"))
    assert all(event.created_at.tzinfo is UTC for event in workspace.events.all())
