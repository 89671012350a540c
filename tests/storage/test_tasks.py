"""Tasks in the state file: the contract of task stores, and the bounds of this one."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from msgspec import Raw

from emceepee.state.kept_tasks import KeptTask
from emceepee.storage import tasks as module
from emceepee.storage.database import Database
from emceepee.storage.tasks import SqliteTasks
from tests.support.store_contracts import COMPLETED, LATER, OWNER, WORKING, TaskStoreContract


@pytest.fixture
def tasks(database: Database) -> SqliteTasks:
    return SqliteTasks(database)


class TestItIsATaskStore(TaskStoreContract):
    pass


def ids(tasks: SqliteTasks) -> list[str]:
    return [task.view.id for task in tasks.all()]


def put(tasks: SqliteTasks, name: str, working: bool = False, size: int = 10) -> None:
    view = WORKING if working else replace(COMPLETED, result=Raw(b'"' + b"x" * size + b'"'))
    tasks.put(KeptTask(OWNER, replace(view, id=name), LATER))


def test_a_result_that_is_too_large_leaves_a_task_that_says_so(
    tasks: SqliteTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_RESULT", 20)
    put(tasks, "T1", size=100)
    (kept,) = tasks.all()
    assert (kept.view.status, kept.view.result) == ("completed", None)
    assert kept.view.error == "Its result of 102 bytes was too large to outlive the gateway (at most 20)"


def test_there_are_at_most_so_many_and_the_oldest_ended_ones_go(database: Database, caplog) -> None:
    caplog.set_level(logging.WARNING, "emceepee.storage")
    tasks = SqliteTasks(database, limit=10)
    put(tasks, "A", working=True)
    for number in range(10):
        put(tasks, f"T{number}")
    assert ids(tasks) == ["A", *(f"T{number}" for number in range(1, 10))]
    assert [record.message for record in caplog.records] == ["state_tasks_evicted"]


def test_they_hold_at_most_so_many_bytes(database: Database) -> None:
    tasks = SqliteTasks(database, max_bytes=10_000)
    for number in range(9):
        put(tasks, f"T{number}", size=2_000)
    ((held,),) = database.rows("SELECT sum(length(body)) FROM task")
    assert held <= 10_000
    assert ids(tasks)[-1] == "T8"


def test_what_was_there_at_the_start_counts(database: Database) -> None:
    first = SqliteTasks(database, limit=10)
    for number in range(10):
        put(first, f"T{number}")
    put(SqliteTasks(database, limit=10), "U1")
    assert "T0" not in ids(first)


def test_the_same_task_written_twice_counts_once(database: Database) -> None:
    tasks = SqliteTasks(database, limit=2)
    for _ in range(10):
        put(tasks, "T1")
        put(tasks, "T2")
    assert ids(tasks) == ["T1", "T2"]


def test_a_row_that_cannot_be_read_costs_that_task_only(tasks: SqliteTasks, database: Database, caplog) -> None:
    put(tasks, "T1")
    put(tasks, "T2")
    database.write("UPDATE task SET body = '{\"secret\": 1}' WHERE id = 'T1'")
    assert ids(tasks) == ["T2"]
    assert "secret" not in str(caplog.records[0].data)
