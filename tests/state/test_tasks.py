"""Tasks: how they begin, how they end once, how long they are kept."""

from __future__ import annotations

import logging

import pytest
from msgspec import Raw

from emceepee.errors import ClientFault, LimitReached
from emceepee.state.settings import TaskSettings
from emceepee.state.tasks import NEXT, TERMINAL, Tasks, TaskView
from emceepee.vocabulary.outcomes import Failed
from tests.state.conftest import Recorded, moment
from tests.support.fake_clock import FakeClock


class Stopped:
    """Counts how often the call behind a task was stopped."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


RESULT = Raw(b'{"content":[]}')


def begin(
    tasks: Tasks, clock: FakeClock, name: str = "T1", stop: Stopped | None = None, ttl_ms: int | None = None
) -> TaskView:
    return tasks.create(name, ("files", "grep", Raw(b'{"q":"x"}')), moment(clock), stop, tasks.ttl(ttl_ms))


@pytest.mark.shows("A-TSK-01", "A-TSK-15", "X-BUG-16")
def test_a_task_shows_its_fields_and_no_internals(clock: FakeClock, recorded: Recorded) -> None:
    tasks = Tasks(recorded)
    begin(tasks, clock)
    done = tasks.complete("T1", RESULT, False, moment(clock))
    said = done.shown(result=True)
    assert set(said) == {
        "taskId", "createdAt", "lastUpdatedAt", "server", "toolName", "toolArgs", "status", "result", "ttl",
    }  # fmt: skip
    assert said["ttl"] == 300_000
    said.clear()
    assert tasks.get("T1").shown()["taskId"] == "T1"


@pytest.mark.shows("A-TSK-02")
def test_a_terminal_task_never_changes(clock: FakeClock, recorded: Recorded) -> None:
    assert {status for status, _ in NEXT} == {"working"}
    assert set(NEXT.values()) == set(TERMINAL)


@pytest.mark.shows("A-TSK-04", "A-TSK-05", "A-EXE-11")
def test_the_ttl_has_a_default_and_a_maximum() -> None:
    tasks = Tasks(Recorded())
    assert (tasks.ttl(None), tasks.ttl(1_000), tasks.ttl(9_999_999)) == (300_000, 1_000, 1_800_000)


@pytest.mark.shows("X-BUG-19")
@pytest.mark.parametrize("ttl", [0, -1])
def test_a_ttl_that_is_no_time_is_refused(ttl: int) -> None:
    with pytest.raises(ClientFault) as caught:
        Tasks(Recorded()).ttl(ttl)
    assert caught.value.code == -32602


@pytest.mark.shows("A-TSK-08", "A-EVT-06")
def test_a_task_begins_by_working_and_says_so_once(clock: FakeClock, recorded: Recorded) -> None:
    view = begin(Tasks(recorded), clock)
    assert view.status == "working"
    assert recorded.events == [("task_created", "files", {"taskId": "T1", "toolName": "grep", "ttl": 300_000})]


@pytest.mark.shows("A-TSK-09", "A-EVT-07")
async def test_completing_keeps_the_result_and_says_so_once(clock: FakeClock, recorded: Recorded) -> None:
    tasks = Tasks(recorded)
    view = begin(tasks, clock)
    await clock.advance(3)
    done = tasks.complete("T1", RESULT, False, moment(clock))
    assert (done.status, done.result) == ("completed", RESULT)
    assert done.updated_at > view.updated_at
    assert recorded.events[1:] == [("task_completed", "files", {"taskId": "T1", "toolName": "grep"})]


@pytest.mark.shows("A-TSK-10", "A-EVT-08", "X-CON-15")
async def test_failing_keeps_the_error_and_says_so_once(clock: FakeClock, recorded: Recorded) -> None:
    tasks = Tasks(recorded)
    view = begin(tasks, clock)
    await clock.advance(3)
    failed = tasks.fail("T1", "boom", moment(clock))
    assert (failed.status, failed.error) == ("failed", "boom")
    assert failed.updated_at > view.updated_at
    told = {"taskId": "T1", "toolName": "grep", "error": "boom", "reason": "boom"}
    assert recorded.events[1:] == [("task_failed", "files", told)]


@pytest.mark.shows("X-BUG-23")
def test_a_result_that_is_an_error_makes_a_failed_task_whose_result_is_kept(
    clock: FakeClock, recorded: Recorded
) -> None:
    tasks = Tasks(recorded)
    stop = Stopped()
    begin(tasks, clock, stop=stop)
    failed = tasks.complete("T1", RESULT, True, moment(clock))
    assert (failed.status, failed.result) == ("failed", RESULT)
    assert recorded.kinds == ["task_created", "task_failed"]
    assert stop.times == 0, "it answered; there is nothing to stop"


@pytest.mark.shows("A-TSK-11")
def test_an_unknown_task_is_said_to_be(clock: FakeClock, recorded: Recorded) -> None:
    tasks = Tasks(recorded)
    for end in (
        lambda: tasks.complete("T9", RESULT, False, moment(clock)),
        lambda: tasks.fail("T9", "", moment(clock)),
    ):
        with pytest.raises(ClientFault, match=r"^Task 'T9' not found$"):
            end()
    with pytest.raises(ClientFault, match=r"^Task 'T9' not found$"):
        tasks.get("T9")


@pytest.mark.shows("A-TSK-12")
def test_ending_an_ended_task_is_an_error_that_changes_nothing(clock: FakeClock, recorded: Recorded) -> None:
    tasks = Tasks(recorded)
    begin(tasks, clock)
    done = tasks.complete("T1", RESULT, False, moment(clock))
    before = list(recorded.events)
    text = r"^Task 'T1' is not in working state \(current: completed\)$"
    for end in (lambda: tasks.complete("T1", RESULT, True, moment(clock)), lambda: tasks.fail("T1", "", moment(clock))):
        with pytest.raises(ClientFault, match=text):
            end()
    assert (tasks.get("T1"), recorded.events) == (done, before)


@pytest.mark.shows("A-TSK-13", "A-EVT-09", "A-RACE-03", "A-TST-17", "X-BUG-21")
def test_cancelling_tells_the_server_and_says_whether_there_was_something(clock: FakeClock, recorded: Recorded) -> None:
    tasks = Tasks(recorded)
    stop = Stopped()
    begin(tasks, clock, stop=stop)
    assert tasks.cancel("T1", moment(clock))
    assert not tasks.cancel("T1", moment(clock))
    assert not tasks.cancel("T9", moment(clock))
    with pytest.raises(ClientFault):
        tasks.complete("T1", RESULT, False, moment(clock))
    assert recorded.events[1:] == [("task_cancelled", "files", {"taskId": "T1", "toolName": "grep"})]
    assert stop.times == 1


@pytest.mark.shows("A-TSK-14", "A-EVT-10", "X-BUG-20", "X-BUG-21")
async def test_a_task_past_its_ttl_expires_at_that_moment_and_its_server_is_told(
    clock: FakeClock, recorded: Recorded
) -> None:
    tasks = Tasks(recorded)
    stop = Stopped()
    begin(tasks, clock, stop=stop, ttl_ms=1_000)
    assert tasks.next_deadline() == clock.now() + 1
    await clock.advance(0.999)
    assert tasks.expire(moment(clock)) == []
    await clock.advance(0.001)
    (expired,) = tasks.expire(moment(clock))
    assert (expired.status, expired.error) == ("expired", "Task expired after 1000ms TTL")
    assert recorded.events[1:] == [("task_expired", "files", {"taskId": "T1", "toolName": "grep", "ttl": 1_000})]
    assert stop.times == 1


@pytest.mark.shows("X-CON-02")
async def test_a_task_does_not_expire_while_a_person_is_asked_but_not_for_ever(clock: FakeClock) -> None:
    until: list[float | None] = [clock.now() + 600]
    tasks = Tasks(Recorded(), open_until=lambda server: until[0])
    begin(tasks, clock)
    await clock.advance(400)
    assert tasks.expire(moment(clock)) == []
    until[0] = None
    assert len(tasks.expire(moment(clock))) == 1
    until[0] = clock.now() + 99_999
    begin(tasks, clock, "T2")
    await clock.advance(1_800)
    assert len(tasks.expire(moment(clock))) == 1


@pytest.mark.shows("A-TSK-07", "X-BUG-22")
async def test_a_result_is_kept_five_minutes_from_the_delivery_of_its_event(clock: FakeClock) -> None:
    tasks = Tasks(Recorded())
    begin(tasks, clock)
    tasks.complete("T1", RESULT, False, moment(clock))
    await clock.advance(1_000)
    tasks.expire(moment(clock))
    assert tasks.get("T1").result == RESULT, "an idle client has not heard of it yet"
    tasks.delivered("T1", moment(clock))
    await clock.advance(299)
    tasks.expire(moment(clock))
    assert tasks.get("T1")
    await clock.advance(1)
    tasks.expire(moment(clock))
    with pytest.raises(ClientFault, match="not found"):
        tasks.get("T1")


@pytest.mark.shows("A-TSK-17", "X-BUG-22")
async def test_a_second_delivery_moves_nothing_and_the_hard_cap_holds(clock: FakeClock) -> None:
    tasks = Tasks(Recorded())
    for name in ("T1", "T2"):
        begin(tasks, clock, name)
        tasks.fail(name, "x", moment(clock))
    tasks.delivered("T1", moment(clock))
    await clock.advance(200)
    tasks.delivered("T1", moment(clock))
    await clock.advance(100)
    tasks.expire(moment(clock))
    assert [view.id for view in tasks.views(finished=True)] == ["T2"]
    await clock.advance(1_500)
    tasks.expire(moment(clock))
    assert len(tasks) == 0
    assert tasks.next_deadline() is None


@pytest.mark.shows("A-TSK-16")
def test_tasks_are_listed_per_server_and_finished_ones_only_when_asked_for(clock: FakeClock) -> None:
    tasks = Tasks(Recorded())
    for name, server in (("T1", "a"), ("T2", "b"), ("T3", "a")):
        tasks.create(name, (server, "t", None), moment(clock), None, 1000)
    tasks.fail("T1", "x", moment(clock))
    assert [view.id for view in tasks.views()] == ["T2", "T3"]
    assert [view.id for view in tasks.views("a")] == ["T3"]
    assert [view.id for view in tasks.views("a", finished=True)] == ["T1", "T3"]


@pytest.mark.shows("X-CON-07", "X-BUG-26", "A-TSK-18", "X-PY-06")
def test_closing_cancels_what_works_tells_servers_and_refuses_more(clock: FakeClock, recorded: Recorded) -> None:
    tasks = Tasks(recorded)
    stops = [Stopped(), Stopped()]
    for name, stop in zip(("T1", "T2"), stops, strict=True):
        begin(tasks, clock, name, stop)
    assert [view.status for view in tasks.close(moment(clock))] == ["cancelled", "cancelled"]
    assert [stop.times for stop in stops] == [1, 1]
    assert recorded.kinds == ["task_created", "task_created"]
    with pytest.raises(LimitReached):
        begin(tasks, clock, "T3")
    with pytest.raises(ClientFault, match="not in working state"):
        tasks.complete("T1", RESULT, False, moment(clock))


def test_one_server_lost_fails_its_tasks_only(clock: FakeClock, recorded: Recorded) -> None:
    tasks = Tasks(recorded)
    tasks.create("T1", ("a", "t", None), moment(clock), None, 1000)
    tasks.create("T2", ("b", "t", None), moment(clock), None, 1000)
    (lost,) = tasks.fail_server("a", "Server disconnected", moment(clock))
    assert (lost.id, lost.error) == ("T1", "Server disconnected")
    assert [view.id for view in tasks.views()] == ["T2"]


def test_tasks_are_bounded(clock: FakeClock) -> None:
    tasks = Tasks(Recorded(), TaskSettings(max_working=2, max_finished=2))
    for name in ("T1", "T2"):
        begin(tasks, clock, name)
    with pytest.raises(LimitReached, match="max_working"):
        begin(tasks, clock, "T3")
    for name in ("T1", "T2", "T4", "T5"):
        if name > "T3":
            begin(tasks, clock, name)
        tasks.fail(name, "x", moment(clock))
    assert [view.id for view in tasks.views(finished=True)] == ["T4", "T5"]


@pytest.mark.shows("X-GAP-23", "X-GAP-18", "A-LOG-11", "A-LOG-12")
async def test_each_end_is_logged_without_arguments_and_without_a_servers_own_words(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    tasks = Tasks(Recorded())
    caplog.set_level(logging.INFO, "emceepee.state")
    for name in ("T1", "T2", "T3", "T4", "T5"):
        begin(tasks, clock, name, ttl_ms=1000)
    tasks.complete("T1", RESULT, False, moment(clock))
    tasks.fail("T2", "Server disconnected", moment(clock))
    tasks.fail("T3", "cannot open /srv/ann/secret", moment(clock), Failed(-32603, "cannot open"), theirs=True)
    tasks.cancel("T4", moment(clock))
    await clock.advance(1)
    tasks.expire(moment(clock))

    def about(name: str) -> dict[str, str]:
        return {"taskId": name, "server": "files", "tool": "grep"}

    assert [(one.levelname, one.message, one.data) for one in caplog.records] == [  # type: ignore[attr-defined]
        ("INFO", "task_completed", about("T1")),
        ("WARNING", "task_failed", about("T2") | {"error": "Server disconnected"}),
        ("WARNING", "task_failed", about("T3") | {"error": "the server answered with error -32603"}),
        ("INFO", "task_cancelled", about("T4")),
        ("WARNING", "task_expired", about("T5") | {"error": "Task expired after 1000ms TTL"}),
    ]
