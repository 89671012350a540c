"""The tools of tasks, called directly: bad input gets an error that a model can act on."""

from __future__ import annotations

import pytest
from msgspec import Raw

from tests.meta_tools.conftest import Use
from tests.support.fake_backends import make_house


@pytest.mark.parametrize("tool", ["get_task", "get_task_result", "cancel_task"])
async def test_an_unknown_task_and_one_of_somebody_else_are_told_alike(use: Use, tool: str) -> None:
    house = make_house()
    other = house.middle.workspaces.at("other").begin_task(("a", "t", None), None)
    errors = [(await use(house, tool, task_id=name))["error"] for name in ("01JNOTHING", other.id)]
    assert [error["code"] for error in errors] == ["TOOL_ERR_TASK_NOT_FOUND"] * 2
    assert errors[1]["message"] == f"Task '{other.id}' not found"
    assert "list_tasks" in errors[0]["next"]


@pytest.mark.shows("A-TOOL-18", "A-TSK-16")
async def test_they_are_listed_by_server_and_by_status(use: Use) -> None:
    house = make_house()
    workspace = house.middle.workspaces.at("s")
    first, second = [workspace.begin_task((server, "t", None), None) for server in ("a", "b")]
    workspace.tasks.complete(first.id, Raw(b'{"content":[]}'), False, workspace.now())

    async def listed(**arguments: object) -> list[str]:
        return [task["taskId"] for task in (await use(house, "list_tasks", **arguments))["tasks"]]

    assert await listed() == [second.id]
    assert await listed(include_completed=True) == [first.id, second.id]
    assert await listed(status="completed") == [first.id]
    assert await listed(server="a") == []
    await house.middle.forget("s")


@pytest.mark.shows("A-TOOL-19")
async def test_a_task_says_what_to_do_next(use: Use) -> None:
    house = make_house()
    workspace = house.middle.workspaces.at("s")
    task = workspace.begin_task(("a", "t", None), None)
    assert "await_activity" in (await use(house, "get_task", task_id=task.id))["next"]
    workspace.begin_ask("elicitation", "a", Raw(b"{}"), lambda outcome: None)
    said = await use(house, "get_task", task_id=task.id)
    assert "respond_to_elicitation" in said["next"]
    assert len(said["pending_elicitations"]) == 1
    await house.middle.forget("s")
