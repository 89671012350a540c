"""Tasks for clients of 2025-11-25: what is asked read, what is told written; checked by the reference SDK's types."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types import CreateTaskResult, GetTaskResult, TaskStatusNotification

from emceepee.eras.legacy.tasks import (
    already_ended,
    check_list,
    check_revision,
    read_task_id,
    read_wish,
    write_created,
    write_result_of,
    write_status,
    write_task,
    write_tasks,
)
from emceepee.errors import ClientFault
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import Payload, read_value
from emceepee.vocabulary.tasks import Task
from tests.support.era_requests import legacy_request, raw

REVISION = "2025-11-25"
TASK = Task("t", "working", "2026-11-01T00:00:00.000Z", "2026-11-01T00:00:01.000Z", 1000, 500, message="half")
TOLD = {
    "taskId": "t", "status": "working", "createdAt": TASK.created_at, "lastUpdatedAt": TASK.updated_at, "ttl": 1000,
    "pollInterval": 500, "statusMessage": "half",
}  # fmt: skip


def with_result(result: dict[str, Any], **more: Any) -> Task:
    return Task("t", "completed", "then", "now", 1000, 500, result=Done(Payload.of(result), **more))


@pytest.mark.parametrize(
    ("wish", "ttl"), [({}, None), ({"ttl": None}, None), ({"ttl": 5}, 5), ({"ttl": 10**30}, 10**30)]
)
def test_a_wish_may_say_how_long(wish: Any, ttl: int | None) -> None:
    assert read_wish(raw(wish)) == ttl


@pytest.mark.parametrize("wish", [[], "x", {"ttl": 0}, {"ttl": "5"}, {"ttl": 0.5}])
def test_a_wish_that_is_no_time_is_the_clients_fault(wish: Any) -> None:
    with pytest.raises(ClientFault) as caught:
        read_wish(raw(wish))
    assert caught.value.code == -32602


@pytest.mark.parametrize("params", [None, {}, [], {"taskId": 1}])
def test_an_id_must_be_there(params: Any) -> None:
    with pytest.raises(ClientFault) as caught:
        read_task_id(legacy_request("tasks/get", params))
    assert caught.value.code == -32602


def test_other_revisions_have_no_such_methods_and_the_list_has_one_page() -> None:
    check_revision("tasks/get", REVISION)
    with pytest.raises(ClientFault) as caught:
        check_revision("tasks/get", "2025-06-18")
    assert caught.value.code == -32601
    check_list(legacy_request("tasks/list", {"cursor": None}))
    with pytest.raises(ClientFault):
        check_list(legacy_request("tasks/list", {"cursor": ""}))


def test_a_task_is_told_in_the_words_of_the_revision() -> None:
    created = read_value(write_created(TASK))
    assert created == {"task": TOLD}
    assert read_value(write_task(TASK)) == TOLD
    assert read_value(write_tasks([TASK])) == {"tasks": [TOLD]}
    status = read_value(write_status(TASK))
    assert status["params"] == TOLD
    CreateTaskResult.model_validate(created)
    GetTaskResult.model_validate(TOLD)
    TaskStatusNotification.model_validate(status)


def test_one_that_ran_out_of_time_has_failed() -> None:
    expired = Task("t", "expired", "then", "now", 1000, 500)
    assert read_value(write_task(expired))["status"] == "failed"
    assert "(status: failed)" in already_ended(expired).message


def test_a_result_names_its_task_and_keeps_what_it_said_itself() -> None:
    related = {"io.modelcontextprotocol/related-task": {"taskId": "t"}}
    written = write_result_of(with_result({"content": [], "_meta": {"a": 1}}), REVISION)
    assert read_value(written or b"") == {"content": [], "_meta": {"a": 1} | related}
    wrapped = write_result_of(with_result({"content": [], "structuredContent": {"x": 1}}, wrapped=True), REVISION)
    assert read_value(wrapped or b"")["structuredContent"] == {"result": {"x": 1}}
    assert write_result_of(TASK, REVISION) is None
