"""`await_activity`, called directly: triggers are built of everything in the answer."""

from __future__ import annotations

import pytest

from emceepee.meta_tools.activity import pending_server
from tests.meta_tools.conftest import Use
from tests.support.fake_backends import make_house


@pytest.mark.shows("X-BUG-09", "A-ACT-06")
async def test_a_lost_server_is_a_trigger_also_when_it_is_not_what_came_first(use: Use) -> None:
    house = make_house()
    workspace = house.middle.workspaces.at("s")
    workspace.begin_task(("a", "t", None), None)
    workspace.disconnected("a")
    said = await use(house, "await_activity")
    assert said["triggers"] == [{"type": "immediate"}, {"type": "server_disconnected", "server": "a"}]
    assert said["pending_server"] == []


@pytest.mark.shows("X-BUG-11", "A-ACT-10")
async def test_working_tasks_are_told_by_server_whether_it_is_connected_or_not() -> None:
    house = make_house()
    workspace = house.middle.workspaces.at("s")
    tasks = [workspace.begin_task((server, "t", None), None) for server in ("a", "b", "a")]
    told = pending_server(workspace.tasks.views())
    assert [(one["server"], [task["taskId"] for task in one["working_tasks"]]) for one in told] == [
        ("a", [tasks[0].id, tasks[2].id]),
        ("b", [tasks[1].id]),
    ]
    await house.middle.forget("s")
