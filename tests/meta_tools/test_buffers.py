"""`get_notifications` and `get_logs`, called directly: filters, and what is left."""

from __future__ import annotations

import pytest
from msgspec import Raw

from tests.meta_tools.conftest import Use
from tests.support.fake_backends import make_house


@pytest.mark.shows("A-TOOL-11", "A-BUF-06", "X-CON-33")
async def test_notifications_are_given_once_newest_first_to_go(use: Use) -> None:
    house = make_house()
    workspace = house.middle.workspaces.at("s")
    for number in range(3):
        workspace.heard("a", f"notifications/{number}", None)
    newest = await use(house, "get_notifications", limit=2)
    assert [item["method"] for item in newest["notifications"]] == ["notifications/1", "notifications/2"]
    assert newest["left"] == 1
    rest = await use(house, "get_notifications", server="a")
    assert [item["method"] for item in rest["notifications"]] == ["notifications/0"]
    assert await use(house, "get_notifications") == {"notifications": []}


@pytest.mark.shows("A-TOOL-12", "A-TOOL-13")
async def test_logs_are_filtered_by_source_and_what_was_pushed_out_is_said(use: Use) -> None:
    house = make_house()
    workspace = house.middle.workspaces.at("s")
    for _ in range(501):
        workspace.logged("a", "info", Raw(b'"x"'), None, "protocol")
    workspace.logged("a", "info", Raw(b'"y"'), None, "stderr")
    said = await use(house, "get_logs", source="stderr")
    assert ([line["message"] for line in said["logs"]], said["dropped"]) == (["y"], 2)
    assert len((await use(house, "get_logs"))["logs"]) == 100
