"""Tasks for modern clients: what is asked read, what is told written."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.eras.modern.tasks import read_task_request, write_created, write_task
from emceepee.errors import ClientFault
from emceepee.vocabulary.outcomes import Done, Failed
from emceepee.vocabulary.raw_json import Payload, read_fields, read_value
from emceepee.vocabulary.tasks import Task
from tests.support.era_requests import SERVER_INFO, modern_request, raw

INFO = raw({"name": "g", "version": "1"})
TAKES = read_fields(raw({"extensions": {"io.modelcontextprotocol/tasks": {}}}))
RESULT = Done(Payload.of({"content": []}))


def task(status: Any, **more: Any) -> Task:
    return Task("t", status, "then", "now", 1000, 500, **more)


def test_answers_are_read_by_their_keys() -> None:
    asked = read_task_request(modern_request("tasks/update", {"taskId": "t", "inputResponses": {"a": 1}}), TAKES)
    assert (asked.task_id, asked.answers) == ("t", {"a": raw(1)})


@pytest.mark.parametrize("params", [{}, {"taskId": 5}, {"taskId": "t"}, {"taskId": "t", "inputResponses": []}])
def test_a_malformed_request_is_the_clients_fault(params: Any) -> None:
    with pytest.raises(ClientFault) as caught:
        read_task_request(modern_request("tasks/update", params), TAKES)
    assert caught.value.code == -32602
    assert "tasks/update" in caught.value.message


def test_what_a_call_became_says_only_what_a_client_needs_to_ask_again() -> None:
    assert read_value(write_created(task("working", message="begun"), INFO)) == {
        "resultType": "task", "taskId": "t", "status": "working", "createdAt": "then", "lastUpdatedAt": "now",
        "ttlMs": 1000, "pollIntervalMs": 500, "statusMessage": "begun", "_meta": {SERVER_INFO: read_value(INFO)},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("one", "status", "key", "value"),
    [
        (task("input_required", asks={"a": raw({"x": 1})}), "input_required", "inputRequests", {"a": {"x": 1}}),
        (task("completed", result=RESULT), "completed", "result", {"content": []}),
        (task("failed", result=RESULT), "completed", "result", {"content": []}),
        (task("failed", fault=Failed(-32603, "no")), "failed", "error", {"code": -32603, "message": "no"}),
        (task("expired", fault=Failed(1, "n", raw([]))), "failed", "error", {"code": 1, "message": "n", "data": []}),
        (task("cancelled", fault=Failed(-32603, "no")), "cancelled", "status", "cancelled"),
    ],
)  # fmt: skip
def test_a_task_is_told_with_what_belongs_to_its_status(one: Task, status: str, key: str, value: Any) -> None:
    written = read_value(write_task(one, INFO))
    assert (written["resultType"], written["status"], written[key]) == ("complete", status, value)
    assert len(written.keys() & {"inputRequests", "result", "error"}) <= 1
