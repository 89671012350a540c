"""What users of the first version typed still works: the tools of the seeds, with the parameters they had.

A tool may gain parameters and other tools may join; none of these may lose its name, rename a parameter, or begin to
require one.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.conversations.house import House
from tests.support.scripted_backend import ScriptedBackend

FIRST_VERSION: dict[str, tuple[set[str], set[str]]] = {
    "add_server": ({"name", "url"}, {"name"}),
    "remove_server": ({"name"}, {"name"}),
    "list_servers": (set(), set()),
    "get_server_status": ({"server"}, {"server"}),
    "list_tools": ({"server"}, set()),
    "execute_tool": ({"server", "tool", "args", "timeout_ms"}, {"server", "tool"}),
    "list_resources": ({"server"}, set()),
    "read_resource": ({"server", "uri"}, {"server", "uri"}),
    "list_prompts": ({"server"}, set()),
    "get_prompt": ({"server", "name", "args"}, {"server", "name"}),
}
"""Tool -> the parameters it takes, and those among them that it may require."""


@pytest.mark.shows("A-MOD-02")
async def test_no_tool_of_the_first_version_lost_a_parameter_or_requires_a_new_one() -> None:
    house = House({})
    listed = (await house.modern_client("/mcp").result("tools/list"))["tools"]
    tools: dict[str, Any] = {tool["name"]: tool["inputSchema"] for tool in listed}
    for name, (taken, required) in FIRST_VERSION.items():
        assert taken <= set(tools[name]["properties"]), name
        assert set(tools[name].get("required", ())) <= required, name
    await house.close()


@pytest.mark.shows("A-MOD-02", "A-EXE-02")
async def test_a_call_that_ends_in_time_gives_what_the_server_gave_and_nothing_else() -> None:
    house = House({"files": ScriptedBackend("legacy", {"tools/call": {"content": [], "structuredContent": {"n": 1}}})})
    client = await house.legacy_client("/mcp")
    arguments = {"server": "files", "tool": "echo", "args": {}}
    result = await client.result("tools/call", {"name": "execute_tool", "arguments": arguments})
    assert result["structuredContent"] == {"n": 1}
    assert "task" not in str(result)
    await house.close()
