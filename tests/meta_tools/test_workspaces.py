"""`open_workspace`, `close_workspace`, and the argument that every tool takes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.meta_tools.conftest import Use
from tests.support.fake_backends import FakeServer, make_house


@pytest.mark.shows("X-GAP-14")
async def test_a_call_that_names_a_workspace_is_made_there(use: Use) -> None:
    house = make_house(a=FakeServer())
    opened = await use(house, "open_workspace")
    handle = opened["workspace"]
    assert handle.startswith("ws_")
    assert opened["idleMs"] == 86_400_000
    await use(house, "get_server_status", server="a", workspace=handle)
    await use(house, "add_server", name="a", url="http://a.example/mcp", workspace=handle)
    assert list(house.pool.connections) == [("a", handle)]


@pytest.mark.shows("A-EXE-13", "A-ACT-15")
@pytest.mark.parametrize("tool", ["execute_tool", "await_activity", "list_tasks", "close_workspace"])
async def test_one_that_never_was_is_named_with_the_next_step(use: Use, tool: str) -> None:
    more: dict[str, Any] = {"server": "a", "tool": "t"} if tool == "execute_tool" else {}
    error = (await use(make_house(a=FakeServer()), tool, workspace="ws_nope", **more))["error"]
    assert error["code"] == "TOOL_ERR_SESSION_NOT_FOUND"
    assert error["message"] == "Session 'ws_nope' not found"
    assert error["details"] == {"sessionId": "ws_nope"}
    assert "open_workspace" in error["next"]


async def test_closing_one_ends_what_hangs_on_it_and_its_handle(use: Use) -> None:
    house = make_house(a=FakeServer())
    handle = (await use(house, "open_workspace"))["workspace"]
    house.middle.workspaces.at(handle).begin_task(("a", "t", None), None)
    closed = await use(house, "close_workspace", workspace=handle)
    assert closed == {"success": True, "workspace": handle, "cancelled_tasks": 1}
    assert house.pool.released == [handle]
    assert (await use(house, "list_tasks", workspace=handle))["error"]["code"] == "TOOL_ERR_SESSION_NOT_FOUND"
    assert house.middle.workspaces.find(handle) is None


async def test_the_argument_must_be_a_text(use: Use) -> None:
    error = (await use(make_house(), "list_tasks", workspace=7))["error"]
    assert error["code"] == "TOOL_ERR_INVALID_ARGUMENTS"
    assert error["details"] == {"field": "workspace"}
    assert "open_workspace" in error["next"]
