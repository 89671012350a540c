"""Tasks of backends are read as they were written, and what is none is not taken for one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from emceepee.eras.faults import Violation
from emceepee.eras.modern.far_tasks import (
    FarTask,
    capabilities,
    named,
    read_created,
    read_task,
    unwelcome,
    write_about,
)
from emceepee.protocol.messages import ErrorObject
from emceepee.vocabulary.raw_json import read_value

ASK = {"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": {"type": "object"}}}
EXTENSION = "io.modelcontextprotocol/tasks"


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def test_a_task_in_place_of_a_result_is_read_with_its_times() -> None:
    made = read_created(
        raw({"resultType": "task", "taskId": "t", "status": "working", "ttlMs": 5, "pollIntervalMs": 7})
    )
    assert made == FarTask("t", "working", 5, 7)
    assert not made.ended


def test_times_that_are_not_repeated_hold_on() -> None:
    first = FarTask("t", "working", 5, 7)
    assert first.told_again(FarTask("t", "completed")) == FarTask("t", "completed", 5, 7)
    assert first.told_again(FarTask("t", "working", 6, 8)) == FarTask("t", "working", 6, 8)


@pytest.mark.parametrize(
    "result",
    [
        {"resultType": "complete", "taskId": "t", "status": "working"},
        {"resultType": "task", "status": "working"},
        {"resultType": "task", "taskId": 7, "status": "working"},
        {"resultType": "task", "taskId": "t", "status": "thinking"},
        [],
    ],
)
def test_anything_else_is_no_task(result: Any) -> None:
    assert read_created(raw(result)) is None


@pytest.mark.parametrize("result", [{}, [], {"taskId": "t"}, {"taskId": "t", "status": 1}])
def test_an_answer_about_a_task_that_is_none_is_a_violation(result: Any) -> None:
    with pytest.raises(Violation):
        read_task(raw(result))


@pytest.mark.parametrize("wrong", ["5", 1.5, -1, None, True])
def test_a_time_that_is_none_is_left_out(wrong: Any) -> None:
    assert read_task(raw({"taskId": "t", "status": "working", "ttlMs": wrong})).ttl_ms is None


def test_ends_come_with_what_ended_them() -> None:
    done = read_task(raw({"taskId": "t", "status": "completed", "result": {"content": []}}))
    assert (done.ended, done.result) == (True, raw({"content": []}))
    failed = read_task(raw({"taskId": "t", "status": "failed", "error": {"code": -7, "message": "no"}}))
    assert failed.error == ErrorObject(-7, "no")
    unreadable = read_task(raw({"taskId": "t", "status": "failed", "error": "no"}))
    assert unreadable.error is not None
    assert "cannot be read" in unreadable.error.message


def test_what_it_asks_counts_only_while_it_asks_and_must_have_been_promised() -> None:
    fields = {"taskId": "t", "inputRequests": {"a": ASK}}
    asking = read_task(raw(fields | {"status": "input_required"}))
    assert set(asking.asks) == {"a"}
    assert read_task(raw(fields | {"status": "working"})).asks == {}
    assert unwelcome(asking, frozenset(("form",))) is None
    assert unwelcome(asking, frozenset()) is not None


def test_what_is_said_of_a_task_names_it_and_declares_the_extension() -> None:
    info = raw({"name": "n", "version": "1"})
    said = read_value(Raw(write_about("t", "2026-07-28", info, frozenset(("form",)), {"a": raw({"action": "cancel"})})))
    assert (said["taskId"], said["inputResponses"]) == ("t", {"a": {"action": "cancel"}})
    declared = said["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert (
        declared == capabilities(frozenset(("form",))) == {"elicitation": {"form": {}}, "extensions": {EXTENSION: {}}}
    )
    assert "inputResponses" not in read_value(Raw(write_about("t", "2026-07-28", info, frozenset())))
    assert named("t") == {"taskId": raw("t")}
