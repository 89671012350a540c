"""Which files are read, and several as one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emceepee.config.load import DEMO, Loaded, find_files, load


def write(path: Path, value: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


def servers(**entries: str) -> dict[str, Any]:
    return {"mcpServers": {name: {"command": command} for name, command in entries.items()}}


def addresses(loaded: Loaded) -> dict[str, str]:
    return {definition.name: definition.address for definition in loaded.definitions}


@pytest.mark.shows("X-GAP-09")
def test_the_lookup_takes_the_first_place_that_has_a_file(tmp_path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "xdg"), "EMCEEPEE_CONFIG": str(tmp_path / "named.json")}
    places = [
        tmp_path / "given.json",
        tmp_path / "named.json",
        tmp_path / "mcp.json",
        tmp_path / ".mcp.json",
        tmp_path / "xdg" / "emceepee" / "config.json",
    ]
    for place in places:
        write(place, {})
    assert find_files([str(places[0])], environment, tmp_path) == [places[0]]
    assert find_files([], environment, tmp_path) == [places[1]]
    del environment["EMCEEPEE_CONFIG"]
    for place in places[2:]:
        assert find_files([], environment, tmp_path) == [place]
        place.unlink()
    assert find_files([], environment, tmp_path) == []


def test_the_users_folder_is_found_by_home_where_nothing_else_is_said(tmp_path) -> None:
    file = tmp_path / ".config" / "emceepee" / "config.json"
    write(file, {})
    assert find_files([], {"HOME": str(tmp_path)}, tmp_path / "elsewhere") == [file]


def test_without_any_file_there_is_the_demonstration_server(tmp_path) -> None:
    loaded = load([], {}, tmp_path)
    assert loaded.definitions == (DEMO,)
    assert (loaded.problems, loaded.fatal) == ((), False)


def test_a_file_that_was_named_and_is_not_there_is_fatal(tmp_path) -> None:
    loaded = load([str(tmp_path / "none.json")], {}, tmp_path)
    assert loaded.fatal
    assert "No such file" in loaded.problems[0].what


def test_of_several_files_the_first_wins_with_a_note_at_the_place_of_the_second(tmp_path) -> None:
    one = write(tmp_path / "one.json", {**servers(a="one", b="one"), "emceepee": {"port": 1}})
    two = write(tmp_path / "two.json", {**servers(b="two", c="two"), "emceepee": {"port": 2, "host": "localhost"}})
    loaded = load([one, two], {}, tmp_path)
    assert addresses(loaded) == {"a": "stdio:one", "b": "stdio:one", "c": "stdio:two"}
    assert (loaded.settings.port, loaded.settings.host) == (1, "localhost")
    (note,) = loaded.problems
    assert (note.file, note.severity, note.where) == (two, "note", "mcpServers.b")
    assert loaded.errors == ()


def test_what_was_said_outranks_every_file(tmp_path) -> None:
    file = write(tmp_path / "one.json", {"emceepee": {"port": 1, "timeouts": {"execute": 5}}})
    loaded = load([file], {}, tmp_path, {"port": 3, "timeouts.connect": 4.0})
    assert (loaded.settings.port, loaded.settings.timeouts.execute, loaded.settings.timeouts.connect) == (3, 5, 4)
    assert load([], {}, tmp_path / "none", {"port": 3}).settings.port == 3


def test_a_bad_entry_is_left_out_and_the_gateway_may_still_start(tmp_path) -> None:
    file = write(tmp_path / "mcp.json", {"mcpServers": {"bad": {"command": "${NOPE}"}, "good": {"command": "x"}}})
    loaded = load([file], {}, tmp_path)
    assert addresses(loaded) == {"good": "stdio:x"}
    assert not loaded.fatal
    assert len(loaded.errors) == 1


@pytest.mark.parametrize("text", ['{"mcpServers": {"a": {"command": "x"} "b": {}}}', '{"emceepee": {"prot": 1}}'])
def test_a_broken_text_or_setting_is_fatal(tmp_path, text) -> None:
    assert load([write(tmp_path / "mcp.json", text)], {}, tmp_path).fatal


@pytest.mark.shows("X-GAP-10")
def test_a_server_that_is_the_gateway_itself_is_told_and_left_out(tmp_path) -> None:
    value = {"emceepee": {"port": 9999}, "mcpServers": {"me": {"url": "http://localhost:9999/mcp"}}}
    file = write(tmp_path / "mcp.json", value)
    loaded = load([file], {}, tmp_path, listens=True)
    assert loaded.definitions == ()
    assert loaded.problems[0].where == "mcpServers.me"
    assert "this gateway itself" in loaded.problems[0].what
    assert load([file], {}, tmp_path, {"port": 9998}, listens=True).problems == ()


def test_over_standard_streams_another_gateway_on_our_usual_port_is_a_server_like_any_other(tmp_path) -> None:
    file = write(tmp_path / "mcp.json", {"mcpServers": {"other": {"url": "http://localhost:8080/mcp"}}})
    assert list(addresses(load([file], {}, tmp_path))) == ["other"]


@pytest.mark.shows("X-GAP-11")
def test_more_servers_than_the_limit_are_told_and_left_out(tmp_path) -> None:
    value = {"emceepee": {"limits": {"max_servers": 2}}, **servers(a="x", b="x", c="x")}
    loaded = load([write(tmp_path / "mcp.json", value)], {}, tmp_path)
    assert list(addresses(loaded)) == ["a", "b"]
    assert [problem.where for problem in loaded.errors] == ["mcpServers.c"]


def test_the_connect_limit_of_the_gateway_holds_for_servers_without_their_own(tmp_path) -> None:
    value = {
        "emceepee": {"timeouts": {"connect": 3}},
        "mcpServers": {"a": {"command": "x"}, "b": {"command": "x", "emceepee": {"connect_timeout": 30}}},
    }
    loaded = load([write(tmp_path / "mcp.json", value)], {}, tmp_path)
    assert [definition.connect_timeout for definition in loaded.definitions] == [3, 30]


def test_an_env_file_counts_from_the_configuration_file(tmp_path) -> None:
    write(tmp_path / "deep" / "my.env", "A=1")
    file = write(tmp_path / "deep" / "mcp.json", {"mcpServers": {"a": {"command": "x", "envFile": "my.env"}}})
    (definition,) = load([file], {}, Path("/")).definitions
    assert definition.launch.env == {"A": "1"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("entry", "left_out"),
    [
        ({"command": "/opt/x/.venv/bin/emceepee"}, True),
        ({"command": "emceepee", "args": ["--surface", "direct"]}, True),
        ({"command": "uvx", "args": ["emceepee"]}, True),
        ({"command": "/usr/bin/python3", "args": ["-m", "emceepee"]}, True),
        ({"command": "emceepee", "args": ["--config", "other.json"]}, False),
        ({"command": "emceepee", "cwd": "/elsewhere"}, False),
        ({"command": "emceepee", "env": {"EMCEEPEE_CONFIG": "other.json"}}, False),
        ({"command": "npx", "args": ["-y", "emceepee"]}, False),
    ],
)
def test_the_entry_by_which_a_client_starts_the_gateway_is_none_of_its_servers(tmp_path, entry, left_out) -> None:
    loaded = load([write(tmp_path / ".mcp.json", {"mcpServers": {"us": entry}})], {}, tmp_path)
    assert (addresses(loaded) == {}) is left_out
    assert ([problem.severity for problem in loaded.problems] == ["note"]) is left_out
