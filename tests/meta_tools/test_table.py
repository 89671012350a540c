"""The list of our own tools: which, with what, in how many words."""

from __future__ import annotations

import importlib
import re
from pkgutil import iter_modules

import pytest

from emceepee import meta_tools
from emceepee.meta_tools.table import OFFERS, TABLE
from emceepee.relay.settings import Profile
from emceepee.vocabulary.raw_json import read_value
from tests.support.tokens import tokens

ENTRIES = {entry["name"]: entry for entry in read_value(OFFERS["full"].payload)["tools"]}


@pytest.mark.shows("X-GAP-14")
def test_these_are_the_tools() -> None:
    assert list(ENTRIES) == [
        "add_server",
        "remove_server",
        "list_servers",
        "get_server_status",
        "reconnect_server",
        "list_tools",
        "execute_tool",
        "list_resources",
        "list_resource_templates",
        "read_resource",
        "subscribe_resource",
        "unsubscribe_resource",
        "list_prompts",
        "get_prompt",
        "complete",
        "get_notifications",
        "get_logs",
        "get_sampling_requests",
        "respond_to_sampling",
        "sample_llm",
        "get_elicitations",
        "respond_to_elicitation",
        "set_roots",
        "list_tasks",
        "get_task",
        "get_task_result",
        "cancel_task",
        "await_activity",
        "open_workspace",
        "close_workspace",
    ]


@pytest.mark.shows("X-GAP-01", "A-TOOL-02", "A-TOOL-03", "A-TOOL-06")
@pytest.mark.parametrize(
    ("tool", "names", "required"),
    [
        ("add_server", {"name", "url", "headers", "command", "args", "env", "cwd"}, ["name"]),
        ("remove_server", {"name"}, ["name"]),
        ("execute_tool", {"server", "tool", "args", "timeout_ms", "task_ttl_ms"}, ["server", "tool"]),
        ("read_resource", {"server", "uri"}, ["server", "uri"]),
        ("get_server_status", {"server"}, ["server"]),
        ("close_workspace", {"workspace"}, ["workspace"]),
        ("subscribe_resource", {"server", "uri"}, ["server", "uri"]),
        ("unsubscribe_resource", {"server", "uri"}, ["server", "uri"]),
        ("set_roots", {"roots"}, ["roots"]),
        ("get_task_result", {"task_id", "timeout_ms"}, ["task_id"]),
        ("await_activity", {"timeout_ms", "since_event_id", "server", "event_types"}, []),
        ("respond_to_elicitation", {"request_id", "action", "content"}, ["request_id", "action"]),
        (
            "respond_to_sampling",
            {"request_id", "role", "content", "model", "stop_reason"},
            ["request_id", "content", "model"],
        ),
    ],
)
def test_inputs_have_the_names_that_were_promised(tool: str, names: set[str], required: list[str]) -> None:
    schema = ENTRIES[tool]["inputSchema"]
    assert set(schema["properties"]) == names
    assert schema.get("required", []) == required


@pytest.mark.parametrize(("profile", "limit"), [("full", 3500), ("core", 1200)])
def test_the_whole_list_costs_a_model_little(profile: Profile, limit: int) -> None:
    assert tokens(OFFERS[profile].payload.decode()) <= limit


def test_the_short_list_has_what_calling_a_tool_to_its_end_needs() -> None:
    core = OFFERS["core"].tools
    assert {"list_servers", "list_tools", "execute_tool", "await_activity", "get_task_result", "cancel_task"} <= set(
        core
    )
    assert [name for name in TABLE if name in core] == list(core)
    assert set(OFFERS["core"].schemas) == set(core)


@pytest.mark.parametrize("name", TABLE)
def test_each_tool_tells_a_model_what_to_call_next(name: str) -> None:
    told = re.findall(r"\w+_\w+", TABLE[name].says)
    assert "the answer names the next call" in TABLE[name].says or [
        other for other in told if other in TABLE and other != name
    ]


def test_what_a_tool_of_the_short_list_sends_a_model_to_is_on_it() -> None:
    core = OFFERS["core"].tools
    sent = {other for tool in core.values() for other in re.findall(r"\w+_\w+", tool.says) if other in TABLE}
    assert sent <= set(core)


def test_each_tool_says_what_it_does_and_whether_it_changes_anything() -> None:
    for entry in ENTRIES.values():
        assert entry["description"]
        assert len(entry["description"]) < 160
        assert "readOnlyHint" in entry["annotations"]
    writers = [name for name, entry in ENTRIES.items() if not entry["annotations"]["readOnlyHint"]]
    assert writers == [
        "add_server",
        "remove_server",
        "reconnect_server",
        "execute_tool",
        "subscribe_resource",
        "unsubscribe_resource",
        "get_notifications",
        "get_logs",
        "respond_to_sampling",
        "sample_llm",
        "respond_to_elicitation",
        "set_roots",
        "cancel_task",
        "open_workspace",
        "close_workspace",
    ]


@pytest.mark.shows("X-CON-28")
def test_camel_case_is_taken_and_snake_case_is_shown() -> None:
    assert TABLE["execute_tool"].names["timeoutMs"] == "timeout_ms"
    assert TABLE["complete"].names["uriTemplate"] == "uri_template"
    assert set(OFFERS["full"].schemas) == set(TABLE)


GROUPS = {
    "servers": {"add_server", "remove_server", "list_servers", "get_server_status"},
    "execution": {"execute_tool"},
    "resources": {"list_resources", "read_resource"},
    "prompts": {"list_prompts", "get_prompt"},
    "buffers": {"get_notifications", "get_logs"},
    "sampling": {"get_sampling_requests", "respond_to_sampling"},
    "elicitation": {"get_elicitations", "respond_to_elicitation"},
    "tasks": {"list_tasks", "get_task", "get_task_result", "cancel_task"},
    "activity": {"await_activity"},
}
"""The seeds' nine groups; `list_tools` has a module of its own too."""


def modules() -> dict[str, set[str]]:
    """Each module with tools in it, and their names."""
    found = {
        info.name: importlib.import_module(f"emceepee.meta_tools.{info.name}")
        for info in iter_modules(meta_tools.__path__)
    }
    return {name: {tool.name for tool in one.TOOLS} for name, one in found.items() if hasattr(one, "TOOLS")}


@pytest.mark.shows("A-TOOL-24", "X-CON-42")
def test_tools_lie_in_groups_of_one_to_four_each_in_a_module_of_its_own() -> None:
    assert all(1 <= len(tools) <= 4 for tools in modules().values())
    assert all(tools <= modules()[name] for name, tools in GROUPS.items())
    assert set().union(*modules().values()) == set(TABLE)


@pytest.mark.shows("X-CON-35")
def test_all_names_of_the_seeds_are_there() -> None:
    seeds = set().union({"list_tools"}, *GROUPS.values())
    assert len(seeds) == 21
    assert seeds | {"sample_llm"} <= set(ENTRIES)
