"""One server's entry, in the spellings of many programs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from emceepee.backends.definition import HttpEndpoint, ServerDefinition, StdioLaunch
from emceepee.config.entry import read_entry
from emceepee.config.jsonc import read
from emceepee.config.problems import Problem, Report

ENVIRONMENT = {"TOKEN": "t0k", "HOME": "/users/me"}


def entry(value: Any) -> tuple[ServerDefinition | None, list[Problem]]:
    document = read((value if isinstance(value, str) else json.dumps(value)).encode())
    report = Report("mcp.json", document)
    files = {".env": "TOKEN=file\nONLY=here", "odd.env": "A=1\nodd"}
    found = read_entry("files", document.root, "mcpServers.files", report, ENVIRONMENT, files.get)
    return found, report.problems


def right(value: Any) -> ServerDefinition:
    found, problems = entry(value)
    assert problems == []
    assert found is not None
    return found


def wrong(value: Any) -> list[tuple[str, str]]:
    """Places and sentences of the errors; there must be no definition then."""
    found, problems = entry(value)
    errors = [(problem.where, problem.what) for problem in problems if problem.severity == "error"]
    assert (found is None) == bool(errors)
    return errors


def notes(value: Any) -> list[str]:
    found, problems = entry(value)
    assert found is not None
    assert all(problem.severity == "note" for problem in problems)
    return [problem.what for problem in problems]


@pytest.mark.shows("X-GAP-08")
def test_a_child_process_has_command_arguments_environment_and_folder() -> None:
    found = right({"command": "npx", "args": ["-y", "${HOME}/x"], "env": {"KEY": "${TOKEN}"}, "cwd": "${HOME}"})
    assert found.launch == StdioLaunch("npx", ("-y", "/users/me/x"), {"KEY": "t0k"}, "/users/me")


@pytest.mark.shows("X-GAP-08")
def test_a_remote_server_has_a_url_and_headers() -> None:
    found = right({"url": "https://x/${TOKEN}", "headers": {"Authorization": "Bearer ${TOKEN}"}})
    assert found.launch == HttpEndpoint("https://x/t0k", (("Authorization", "Bearer t0k"),), "auto")


@pytest.mark.parametrize("key", ["url", "baseUrl", "httpUrl", "serverUrl"])
def test_a_url_stands_under_any_of_its_names(key) -> None:
    assert right({key: "http://x/mcp"}).launch == HttpEndpoint("http://x/mcp")


@pytest.mark.parametrize(
    ("spelled", "kind"),
    [
        ("http", "http"),
        ("HTTP", "http"),
        ("streamable-http", "http"),
        ("streamableHttp", "http"),
        ("streamable_http", "http"),
        ("sse", "sse"),
        ("SSE", "sse"),
        ("remote", "auto"),
    ],
)
@pytest.mark.parametrize("key", ["type", "transport"])
def test_every_spelling_of_a_remote_transport_is_known(key, spelled, kind) -> None:
    assert right({key: spelled, "url": "http://x/mcp"}).launch == HttpEndpoint("http://x/mcp", (), kind)


@pytest.mark.parametrize("spelled", ["stdio", "STDIO", "local"])
def test_every_spelling_of_stdio_is_known(spelled) -> None:
    assert right({"type": spelled, "command": "x"}).launch == StdioLaunch("x")


def test_a_command_given_as_a_list_is_the_program_and_its_first_arguments() -> None:
    found = right({"type": "local", "command": ["npx", "-y", "x"], "environment": {"A": "1"}})
    assert found.launch == StdioLaunch("npx", ("-y", "x"), {"A": "1"})


def test_a_user_and_password_in_a_url_become_a_header() -> None:
    found = right({"url": "http://me:p%40ss@x/mcp"})
    assert found.launch == HttpEndpoint("http://x/mcp", (("Authorization", "Basic bWU6cEBzcw=="),))


@pytest.mark.parametrize(("keys", "disabled"), [({"disabled": True}, True), ({"enabled": False}, True), ({}, False)])
def test_a_server_can_be_disabled_in_either_spelling(keys, disabled) -> None:
    assert right({"command": "x", **keys}).disabled is disabled


def test_keys_of_other_programs_are_kept_and_nothing_in_them_is_expanded() -> None:
    extras = {"autoApprove": ["a"], "description": "${NOPE}", "tags": {"x": 1}}
    assert right({"command": "x", **extras}).extras == extras


def test_our_own_settings_stand_under_our_own_key() -> None:
    found = right({"command": "x", "emceepee": {"affinity": "shared", "connectTimeout": 3, "call_timeout": 90}})
    assert (found.affinity, found.connect_timeout, found.call_timeout) == ("shared", 3, 90)
    assert right({"command": "x", "affinity": "principal"}).affinity == "principal"
    assert right({"command": "x", "emceepee": {"idle_stop": 60}}).idle_stop == 60
    assert found.extras == {}


def test_a_time_limit_is_seconds_when_small_and_milliseconds_with_a_note_when_large() -> None:
    assert right({"command": "x", "timeout": 60}).call_timeout == 60
    found, (note,) = entry({"command": "x", "timeout": 60000})
    assert found is not None
    assert found.call_timeout == 60
    assert (note.severity, note.where) == ("note", "mcpServers.files.timeout")


def test_an_env_file_is_read_and_the_entry_itself_comes_first() -> None:
    found = right({"command": "x", "envFile": ".env", "env": {"TOKEN": "mine"}})
    assert found.launch == StdioLaunch("x", (), {"TOKEN": "mine", "ONLY": "here"})
    assert wrong({"command": "x", "envFile": "none"}) == [
        ("mcpServers.files.envFile", "the file cannot be read"),
    ]
    assert "lines" in notes({"command": "x", "envFile": "odd.env"})[0]


def test_numbers_and_truth_values_are_taken_as_typed_with_a_note() -> None:
    found, problems = entry({"command": "x", "args": [8080, True], "env": {"PORT": 1}})
    assert found is not None
    assert found.launch == StdioLaunch("x", ("8080", "true"), {"PORT": "1"})
    assert [problem.where for problem in problems] == [
        "mcpServers.files.args[0]",
        "mcpServers.files.args[1]",
        "mcpServers.files.env.PORT",
    ]


def test_an_unset_variable_is_told_with_server_field_and_name() -> None:
    found, (problem,) = entry({"command": "x", "args": ["a", "${NOPE}"]})
    assert found is None
    assert problem.where == "mcpServers.files.args[1]"
    assert "NOPE" in problem.what
    assert (problem.line, problem.column) == (1, 32)


def test_what_a_disabled_server_lacks_is_worth_a_note_only() -> None:
    assert len(notes({"command": "x", "args": ["${NOPE}"], "envFile": "none", "disabled": True})) == 2


@pytest.mark.parametrize(
    ("value", "where", "what"),
    [
        ({"command": "x", "url": "http://x/"}, "", "both a command and a URL"),
        ({}, "", "neither a command nor a URL"),
        ({"type": "sse"}, "", "neither a command nor a URL"),
        ("[]", "", "a server is an object"),
        ({"command": ""}, ".command", "the command is empty"),
        ({"command": []}, ".command", "the command is empty"),
        ({"command": {"path": "x"}}, ".command", "has to be a text"),
        ({"command": "x", "args": "-y"}, ".args", "has to be a list"),
        ({"command": "x", "args": [["a"]]}, ".args[0]", "has to be a text"),
        ({"command": "x", "args": [None]}, ".args[0]", "has to be a text, not null"),
        ({"command": "x", "env": ["A=1"]}, ".env", "has to be a map"),
        ({"command": "x", "env": {"A": None}}, ".env.A", "has to be a text"),
        ({"command": "x", "environment": {"A": []}}, ".environment.A", "has to be a text"),
        ({"command": "x", "emceepee": {"callTimeout": -1}}, ".emceepee.call_timeout", "more than 0"),
        ({"command": "x", "emceepee": {"idleStop": 0}}, ".emceepee.idle_stop", "more than 0"),
        ({"command": "x", "env": {"A=B": "1"}}, ".env.A=B", "cannot be the name of a variable"),
        ({"command": "x\0"}, ".command", "NUL"),
        ({"url": "ftp://x/"}, ".url", "only http and https"),
        ({"url": "http://"}, ".url", "no host"),
        ({"url": "http://x:99999/"}, ".url", "cannot be read"),
        ({"url": "http://x/\r\nHost: y"}, ".url", "control character"),
        ({"serverUrl": "x"}, ".serverUrl", "only http and https"),
        ({"url": "http://x/", "httpUrl": "http://x/"}, ".httpUrl", "means the same as 'url'"),
        ({"url": "http://x/", "headers": {"A": "b\r\nc"}}, ".headers.A", "line break"),
        ({"url": "http://x/", "headers": {"A b": "c"}}, ".headers.A b", "cannot be the name of a header"),
        ({"url": "http://x/", "type": "websocket"}, ".type", "no transport 'websocket'"),
        ({"url": "http://x/", "type": "stdio"}, ".type", "a URL is given"),
        ({"command": "x", "type": "http"}, ".type", "a command is given"),
        ({"command": "x", "disabled": "maybe"}, ".disabled", "true or false"),
        ({"command": "x", "disabled": True, "enabled": True}, ".enabled", "contradicts"),
        ({"command": "x", "timeout": "5"}, ".timeout", "has to be a number"),
        ({"command": "x", "timeout": -1}, ".timeout", "more than 0"),
        ({"command": "x", "emceepee": []}, ".emceepee", "has to be an object"),
        ({"command": "x", "emceepee": {"afinity": 1}}, ".emceepee.afinity", "no such setting"),
        ({"command": "x", "emceepee": {"affinity": "me"}}, ".emceepee.affinity", "'call' or 'shared'"),
        ({"command": "x", "emceepee": {"connect_timeout": 0}}, ".emceepee.connect_timeout", "more than 0"),
    ],
)
def test_each_mistake_costs_the_entry_and_is_told_with_its_place(value, where, what) -> None:
    ((place, said),) = wrong(value)
    assert place == f"mcpServers.files{where}"
    assert what in said


def test_all_mistakes_of_an_entry_come_at_once() -> None:
    value = {"url": "ftp://x/", "headers": {"A": "\n", "B": "\0"}, "disabled": "x", "timeout": "x"}
    assert len(wrong(value)) == 2
    assert len(wrong({"url": "ftp://x/", "headers": {"A": "\n", "B": "\0"}})) == 3


@pytest.mark.shows("X-GAP-18")
def test_no_value_is_ever_repeated_in_a_problem() -> None:
    secret = "hunter2"
    values: list[Any] = [
        {"url": f"ftp://me:{secret}@x/?k={secret}"},
        {"url": f"http://me:{secret}@x:999999/?k={secret}"},
        {"url": "http://x/", "headers": {"A": f"{secret}\n"}},
        {"command": "x", "env": {"A": [secret]}},
        {"command": "x", "env": {"A": f"{secret}${{NOPE}}"}},
    ]
    for value in values:
        _, problems = entry(value)
        assert problems
        assert secret not in repr(problems)


def test_a_command_that_holds_its_arguments_is_noted() -> None:
    assert "looks like a program with arguments" in notes({"command": "npx -y @scope/server"})[0]
    assert notes({"command": "/Program Files/node"}) == []
