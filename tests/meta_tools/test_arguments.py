"""Arguments of our own tools: what is taken, and how a wrong one is answered."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from emceepee.meta_tools.answers import ToolExecutionError
from emceepee.meta_tools.arguments import INVALID_ARGUMENTS, read_arguments
from emceepee.meta_tools.table import TABLE
from emceepee.vocabulary.raw_json import read_value, to_raw


def read(tool: str, arguments: Any) -> Any:
    return read_arguments(TABLE[tool], to_raw(arguments))


@pytest.mark.shows("X-CON-28")
def test_both_spellings_are_taken() -> None:
    for spelling in ("timeout_ms", "timeoutMs"):
        assert read("execute_tool", {"server": "a", "tool": "t", spelling: 5})["timeout_ms"] == 5


@pytest.mark.parametrize("key", ["args", "arguments"])
@pytest.mark.parametrize("given", [{"a": 1}, '{"a": 1}'])
def test_a_tools_arguments_are_an_object_or_its_json(key: str, given: Any) -> None:
    args = read("execute_tool", {"server": "a", "tool": "t", key: given})["args"]
    assert read_value(args) == {"a": 1}


def test_an_object_stays_the_bytes_it_came_as() -> None:
    raw = Raw(b'{"server":"a","tool":"t","args":{"n": 1.0, "big":12345678901234567890123}}')
    assert bytes(read_arguments(TABLE["execute_tool"], raw)["args"]) == b'{"n": 1.0, "big":12345678901234567890123}'


@pytest.mark.parametrize("given", ["", "  ", None])
def test_no_arguments_may_be_said_in_several_ways(given: Any) -> None:
    assert read("execute_tool", {"server": "a", "tool": "t", "args": given}).get("args") is None


def test_lists_maps_and_numbers_may_come_as_text() -> None:
    read_in = read("add_server", {"name": "a", "args": '["-x"]', "env": '{"K":"v"}'})
    assert (read_in["args"], read_in["env"]) == (["-x"], {"K": "v"})
    assert read("list_tools", {"limit": "5"})["limit"] == 5


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "says"),
    [
        ("execute_tool", {"tool": "t"}, "server", "is missing; it must be a string"),
        ("execute_tool", {"server": 7, "tool": "t"}, "server", "must be a string (got a number)"),
        ("execute_tool", {"server": "a", "tool": "t", "args": [1]}, "args", "must be an object"),
        ("execute_tool", {"server": "a", "tool": "t", "args": "{"}, "args", "must be an object"),
        ("execute_tool", {"server": "a", "tool": "t", "args": "[1]"}, "args", "must be an object"),
        ("execute_tool", {"server": "a", "tool": "t", "timeout_ms": -1}, "timeout_ms", "must be at least 0"),
        ("execute_tool", {"server": "a", "tool": "t", "timeout_ms": 10**9}, "timeout_ms", "must be at most 3600000"),
        ("execute_tool", {"server": "a", "tool": "t", "timeout_ms": True}, "timeout_ms", "must be a whole number"),
        ("execute_tool", {"server": "a", "tool": "t", "timeout_ms": 1.5}, "timeout_ms", "must be a whole number"),
        ("list_tools", {"detail": "all"}, "detail", "must be one of names, summary, full"),
        ("add_server", {"name": "a", "env": {"K": 1}}, "env", "must be an object whose values are strings"),
        ("list_servers", {"x": 1}, "x", "Unknown argument 'x' of list_servers"),
        ("read_resource", {"server": "a", "url": "r"}, "url", "did you mean 'uri'?"),
        ("list_tools", [], "arguments", "must be an object"),
    ],
)
def test_a_wrong_argument_is_named_with_its_cure(tool: str, arguments: Any, field: str, says: str) -> None:
    with pytest.raises(ToolExecutionError) as refused:
        read(tool, arguments)
    assert refused.value.code == INVALID_ARGUMENTS
    assert refused.value.details == {"field": field}
    assert says in refused.value.message
    assert refused.value.next_step


def test_no_arguments_at_all_are_an_empty_object() -> None:
    assert read_arguments(TABLE["list_servers"], None) == {}
    assert read_arguments(TABLE["list_servers"], Raw(b"null")) == {}
