"""One file: three shapes of servers, our settings, and keys of other programs."""

from __future__ import annotations

import pytest

from emceepee.config.file_content import FileContent, read_file_content


def content(text: str, environment: dict[str, str] | None = None) -> FileContent:
    return read_file_content(text.encode(), "mcp.json", environment or {}, lambda _: None)


def names(found: FileContent) -> list[str]:
    return [placed.definition.name for placed in found.servers]


@pytest.mark.shows("X-GAP-09")
@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {"a": {"command": "x"}, "b": {"url": "http://x/"}}}',
        '{"servers": {"a": {"type": "stdio", "command": "x"}, "b": {"type": "http", "url": "http://x/"}}}',
        '{"servers": [{"name": "a", "command": "x"}, {"name": "b", "url": "http://x/"}]}',
        '{"mcpServers": {"a": {"command": "x"}}, "servers": [{"name": "b", "url": "http://x/"}]}',
    ],
)
def test_servers_are_read_in_each_of_the_three_shapes(text) -> None:
    found = content(text)
    assert names(found) == ["a", "b"]
    assert found.problems == ()
    assert found.readable


def test_one_bad_entry_spoils_nothing() -> None:
    found = content('{"mcpServers": {"bad": {"command": "${NOPE}"}, "good": {"command": "x"}}}')
    assert names(found) == ["good"]
    assert [problem.where for problem in found.problems] == ["mcpServers.bad.command"]
    assert found.readable


def test_every_mistake_of_a_file_comes_at_once_in_the_order_of_the_file() -> None:
    text = """{
  "mcpServers": {
    "a__b": {"command": "x"},
    "": {"command": "x"},
    "c": {"command": "x", "url": "http://x/"},
    "d": {"url": "gopher://x/"},
    "e": 5,
  },
  "emceepee": {"prot": 1}
}"""
    found = content(text)
    assert [str(problem).partition(" error: ")[0] for problem in found.problems] == [
        "mcp.json:3:5:",
        "mcp.json:4:5:",
        "mcp.json:5:10:",
        "mcp.json:6:11:",
        "mcp.json:7:10:",
        "mcp.json:9:16:",
    ]
    assert names(found) == []


@pytest.mark.parametrize(
    ("name", "example"),
    [("My Server", "My-Server"), ("github.com/up/ctx-mcp", "ctx-mcp"), ("a__b", "a-b"), ("", "files"), ("x" * 41, "x")],
)
def test_a_name_that_cannot_be_used_is_told_with_one_that_can(name, example) -> None:
    (problem,) = content(f'{{"mcpServers": {{"{name}": {{"command": "x"}}}}}}').problems
    assert problem.severity == "error"
    assert example in problem.cure


def test_a_name_used_twice_in_different_shapes_keeps_the_first_with_a_note() -> None:
    found = content('{"mcpServers": {"a": {"command": "x"}}, "servers": [{"name": "a", "command": "y"}]}')
    assert [placed.definition.address for placed in found.servers] == ["stdio:x"]
    assert [problem.severity for problem in found.problems] == ["note"]


def test_a_listed_server_needs_a_name() -> None:
    found = content('{"servers": [{"url": "http://x/"}, {"name": 5}, "x"]}')
    assert [problem.where for problem in found.problems] == ["servers[0]", "servers[1]", "servers[2]"]


def test_questions_of_an_editor_are_ignored_with_a_note() -> None:
    (problem,) = content('{"inputs": [], "servers": {}}').problems
    assert (problem.where, problem.severity) == ("inputs", "note")


def test_keys_of_other_programs_at_the_root_are_left_alone() -> None:
    assert content('{"mcpServers": {}, "numStartups": 5, "projects": {"x": {"command": 1}}}').problems == ()


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ('{"mcpservers": {}}', "mcpServers"),
        ('{"mcp-servers": {}}', "mcpServers"),
        ('{"Servers": {}}', "mcpServers"),
        ('{"mcp": {"servers": {}}}', "mcpServers"),
        ('{"context_servers": {}}', "mcpServers"),
        ('{"files": {"command": "x"}}', "mcpServers"),
        ("[]", "mcpServers"),
        ('{"mcpServers": []}', ""),
    ],
)
def test_a_slip_at_the_root_is_an_error_with_the_right_key(text, cure) -> None:
    (problem,) = content(text).problems
    assert problem.severity == "error"
    assert cure in problem.cure


def test_of_a_text_that_is_broken_nothing_may_be_used() -> None:
    found = content('{"mcpServers": {"a": {"command": "x"} "b": {"command": "y"}}}')
    assert not found.readable
    assert not content("nothing").readable


def test_a_mistake_in_our_settings_is_told_apart() -> None:
    found = content('{"emceepee": {"port": "x"}, "mcpServers": {"a": {"command": "x"}}}')
    assert found.readable
    assert not found.settings_are_right
    assert content('{"emceepee": {"port": 1}}').settings_are_right
