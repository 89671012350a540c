"""Tasks beyond one run: the contract for the twin in memory, what a workspace writes, and what broke off."""

from __future__ import annotations

import pytest
from msgspec import Raw

from emceepee.state.kept_tasks import GATEWAY_ENDED, InMemoryTasks, KeepFor, KeptTask, Owner, broken_off, place_of
from emceepee.state.settings import TaskSettings
from emceepee.state.tasks import Tasks
from emceepee.vocabulary.raw_json import read_value
from tests.state.conftest import Recorded, moment
from tests.support.fake_clock import FakeClock
from tests.support.store_contracts import LATER, WORKING, TaskStoreContract

OWNER = Owner("local")
RESULT = Raw(b'{"content":[]}')


@pytest.fixture
def tasks() -> InMemoryTasks:
    return InMemoryTasks()


class TestItIsATaskStore(TaskStoreContract):
    pass


def test_a_handle_is_known_again_and_not_written_down() -> None:
    assert place_of("ws_secret") == place_of("ws_secret") != place_of("ws_other")
    assert "secret" not in place_of("ws_secret")


def test_what_broke_off_has_failed_with_an_unknown_outcome() -> None:
    view = broken_off(WORKING, LATER)
    assert (view.status, view.error, view.reason, view.updated_at) == (
        "failed",
        GATEWAY_ENDED,
        "outcome_unknown",
        LATER,
    )
    assert view.cause is not None
    assert read_value(view.cause.data or b"")["reason"] == "outcome_unknown"


class Table:
    """Tasks of a workspace, and what is kept of them."""

    def __init__(self, clock: FakeClock, **settings: int) -> None:
        self.clock = clock
        self.store = InMemoryTasks()
        self.recorded = Recorded()
        keep = KeepFor(self.store, OWNER)
        self.tasks = Tasks(self.recorded, TaskSettings(**settings), keep=keep)

    def begin(self, name: str) -> None:
        self.tasks.create(name, ("files", "grep", None), moment(self.clock), None, 60_000)

    @property
    def kept(self) -> dict[str, tuple[str, bool]]:
        return {task.view.id: (task.view.status, task.told) for task in self.store.all()}


def test_a_task_is_kept_from_its_beginning_and_as_it_ended(clock: FakeClock) -> None:
    table = Table(clock)
    for name in "abcd":
        table.begin(name)
    assert table.kept == dict.fromkeys("abcd", ("working", False))
    table.tasks.complete("a", RESULT, False, moment(clock))
    table.tasks.fail("b", "no", moment(clock))
    table.tasks.cancel("c", moment(clock))
    assert table.kept == {
        "a": ("completed", False),
        "b": ("failed", False),
        "c": ("cancelled", False),
        "d": ("working", False),
    }
    assert all(task.owner == OWNER for task in table.store.all())


async def test_it_is_kept_as_long_as_the_table_keeps_it(clock: FakeClock) -> None:
    table = Table(clock, max_retention_ms=600_000, retention_ms=120_000)
    for name in "ab":
        table.begin(name)
        table.tasks.complete(name, RESULT, False, moment(clock))
    table.tasks.delivered("a", moment(clock))
    assert table.kept == {"a": ("completed", True), "b": ("completed", False)}
    seconds = [(task.keep_until - clock.wall()).total_seconds() for task in table.store.all()]
    assert seconds == [120, 600]
    await clock.advance(121)
    table.tasks.expire(moment(clock))
    assert list(table.kept) == ["b"]
    assert table.tasks.untold() == ["b"]


def test_what_there_is_no_room_for_is_forgotten_in_both_places(clock: FakeClock) -> None:
    table = Table(clock, max_finished=2)
    for name in "abc":
        table.begin(name)
        table.tasks.cancel(name, moment(clock))
    assert list(table.kept) == ["b", "c"]


def test_a_workspace_that_is_over_leaves_nothing_and_one_that_ends_with_the_process_leaves_all(clock) -> None:
    for forget in (True, False):
        table = Table(clock)
        for name in "ab":
            table.begin(name)
        table.tasks.complete("a", RESULT, False, moment(clock))
        table.tasks.close(moment(clock), forget)
        assert table.kept == ({} if forget else {"a": ("completed", False), "b": ("cancelled", False)})


async def test_a_task_of_an_earlier_run_is_told_if_it_was_not_and_kept_to_its_date(clock: FakeClock) -> None:
    table = Table(clock)
    lost, done = broken_off(WORKING, clock.wall()), WORKING
    table.tasks.restore(lost, False, moment(clock).after(clock.now() + 60), moment(clock))
    assert table.recorded.events == [
        (
            "task_failed",
            "files",
            {"taskId": "T1", "toolName": "grep", "error": GATEWAY_ENDED, "reason": "outcome_unknown"},
        )
    ]
    assert table.tasks.untold() == ["T1"]
    await clock.advance(61)
    table.tasks.expire(moment(clock))
    assert "T1" not in table.tasks
    finished = KeptTask(OWNER, broken_off(done, clock.wall()), moment(clock).after(clock.now() + 60), told=True)
    table.tasks.restore(finished.view, finished.told, finished.keep_until, moment(clock))
    assert len(table.recorded.events) == 1
    assert table.tasks.untold() == []
