"""Tasks of 2025-11-25 servers: who makes them, of which tools, and how one is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from emceepee.eras.legacy.far_tasks import (
    FarTask,
    about,
    as_task,
    read_created,
    run_as_tasks_only,
    runs_tools_as_tasks,
    write_cancel,
)
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.raw_json import Payload


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("capabilities", "runs"),
    [
        ({"tasks": {"requests": {"tools": {"call": {}}}}}, True),
        ({"tasks": {"requests": {"tools": {}}}}, False),
        ({"tasks": {"requests": []}}, False),
        ({"tasks": {}}, False),
        ({"tools": {}}, False),
    ],
)
def test_a_server_says_whether_it_runs_tools_as_tasks(capabilities: Any, runs: bool) -> None:
    assert runs_tools_as_tasks(About({key: raw(value) for key, value in capabilities.items()})) == runs


def test_a_tool_says_that_it_is_run_no_other_way() -> None:
    tools = [
        {"name": "a", "execution": {"taskSupport": "required"}},
        {"name": "b", "execution": {"taskSupport": "optional"}},
        {"name": "c", "execution": []},
        {"name": "d"},
        {"execution": {"taskSupport": "required"}},
    ]
    assert run_as_tasks_only(Payload.of({"tools": tools})) == {"a"}
    assert run_as_tasks_only(Payload.of({"tools": [7]})) == set()
    assert run_as_tasks_only(Payload.of({})) == set()


def test_a_call_keeps_its_arguments_as_a_task_and_nothing_of_them_afterwards() -> None:
    call = Call("tools/call", {"name": raw("a"), "arguments": raw({"q": 1})}, Caller(), {"x/y": raw(1)})
    asked = as_task(call, 5_000)
    assert asked.params == {**call.params, "task": raw_compact({"ttl": 5000})}
    assert "task" not in call.params
    after = about(call, "t")
    assert (after.params, after.meta) == ({"taskId": raw("t")}, {})
    assert json.loads(write_cancel("t")) == {"taskId": "t"}


def raw_compact(value: Any) -> Raw:
    return Raw(json.dumps(value, separators=(",", ":")).encode())


@pytest.mark.parametrize(
    ("result", "task"),
    [
        ({"task": {"taskId": "t", "ttl": 5, "statusMessage": "on it"}}, FarTask("t", "on it", 5)),
        ({"task": {"taskId": "t", "ttl": None}}, FarTask("t")),
        ({"task": {"taskId": 7}}, None),
        ({"task": []}, None),
        ({"content": []}, None),
        ([], None),
    ],
)
def test_a_created_task_is_read(result: Any, task: FarTask | None) -> None:
    assert read_created(raw(result)) == task
