"""The plain command and `serve`, up to the moment when the gateway itself takes over."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from emceepee import app
from emceepee.backends.definition import ServerDefinition, StdioLaunch
from emceepee.cli.arguments import parse
from emceepee.cli.gateway import said, surface_path
from emceepee.cli.main import main
from emceepee.config.settings import Settings
from emceepee.errors import OperatorFault
from emceepee.sampling.approvers.terminal import TerminalApprover


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("EMCEEPEE_CONFIG", "XDG_CONFIG_HOME", "APPDATA", "HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", "/state")


class Started(list[tuple[Settings, list[str], Any]]):
    """What would have been started."""

    state: Path | None = None

    async def serve_http(
        self,
        settings: Settings,
        definitions: Sequence[ServerDefinition],
        ready: Callable[[str], None],
        *,
        state: Path | None,
        **more: Any,
    ) -> None:
        self.state = state
        self.append((settings, [definition.name for definition in definitions], "http"))
        self.approver = more.get("approver")
        ready("http://127.0.0.1:1234")

    async def serve_stdio(
        self,
        settings: Settings,
        definitions: Sequence[ServerDefinition],
        path: str,
        *,
        state: Path | None,
        **more: Any,
    ) -> None:
        self.state = state
        self.append((settings, [definition.name for definition in definitions], path))


class Terminal:
    def isatty(self) -> bool:
        return True


def test_whoever_sits_at_the_terminal_may_be_the_one_who_approves(started, tmp_path, monkeypatch) -> None:
    config = tmp_path / "mcp.json"
    config.write_text('{"mcpServers": {}, "emceepee": {"sampling": {"approver": "terminal"}}}')
    assert main(["serve", "--config", str(config)]) == 1
    assert not started
    monkeypatch.setattr("sys.stdin", Terminal())
    assert main(["serve", "--config", str(config)]) == 0
    assert isinstance(started.approver, TerminalApprover)


@pytest.fixture
def started(monkeypatch) -> Started:
    started = Started()
    monkeypatch.setattr(app, "serve_http", started.serve_http)
    monkeypatch.setattr(app, "serve_stdio", started.serve_stdio)
    return started


def options(words: str) -> argparse.Namespace:
    return parse(words.split())


def test_what_was_said_becomes_settings_under_their_names() -> None:
    words = "serve --port 5 --timeout execute=5 --timeout session-idle=6 --allow-host a --allow-host b"
    assert said(options(words)) == {
        "port": 5,
        "timeouts.execute": 5.0,
        "timeouts.session_idle": 6.0,
        "allowed_hosts": ("a", "b"),
    }


@pytest.mark.parametrize("text", ["execute", "execute=", "execute=-1", "execute=nan", "nope=5"])
def test_a_time_limit_that_is_none_is_refused_with_the_ones_there_are(text) -> None:
    with pytest.raises(OperatorFault, match="execute"):
        said(options(f"serve --timeout {text}"))


def test_a_surface_is_named_by_its_kind_or_its_server() -> None:
    definitions = (ServerDefinition("files", StdioLaunch("x")),)
    assert surface_path("meta", definitions) == "/mcp"
    assert surface_path("direct", definitions) == "/direct/mcp"
    assert surface_path("server:files", definitions) == "/servers/files/mcp"
    for wrong in ("server:none", "server:", "server", "meta:x", "other"):
        with pytest.raises(OperatorFault):
            surface_path(wrong, definitions)


def test_the_plain_command_serves_the_meta_tools_of_the_configured_servers(started, tmp_path) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}, "bad": {}}}')
    assert main([]) == 0
    ((_, names, path),) = started
    assert (names, path) == (["a"], "/mcp")


def test_serve_says_on_standard_error_how_to_connect(started, capsys) -> None:
    assert main(["serve", "--log-format", "text"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "claude mcp add --transport http emceepee http://127.0.0.1:1234/mcp" in err


def test_to_a_pipe_it_is_said_in_a_log_line(started, capsys) -> None:
    assert main(["serve"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert lines[-1]["event"] == "listening"
    assert lines[-1]["data"] == {"url": "http://127.0.0.1:1234/mcp"}


def test_what_is_wrong_with_a_server_is_logged_and_the_others_are_served(started, tmp_path, capsys) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}, "bad": {}}}')
    main(["serve"])
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert lines[0]["event"] == "config_problem"
    assert lines[0]["data"]["where"] == "mcpServers.bad"


@pytest.mark.parametrize("text", ["{", '{"emceepee": {"hots": "x"}}'])
def test_a_broken_configuration_starts_nothing_and_shows_its_mistakes(started, tmp_path, capsys, text) -> None:
    (tmp_path / "mcp.json").write_text(text)
    assert main(["serve"]) == 1
    assert not started
    assert "mcp.json:1:" in capsys.readouterr().err


@pytest.mark.shows("X-GAP-10")
def test_listening_beyond_this_machine_needs_the_explicit_word(started, capsys) -> None:
    assert main(["serve", "--host", "0.0.0.0"]) == 1
    assert "--insecure-no-auth" in capsys.readouterr().err
    assert not started
    assert main(["serve", "--host", "0.0.0.0", "--insecure-no-auth"]) == 0
    assert "--allow-host" in capsys.readouterr().err
    assert started[0][0].host == "0.0.0.0"


def test_over_standard_streams_the_host_of_a_file_does_not_matter(started, tmp_path) -> None:
    (tmp_path / "mcp.json").write_text('{"emceepee": {"host": "0.0.0.0"}}')
    assert main([]) == 0


USUAL = Path("/state/emceepee/state.sqlite3")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("serve", USUAL),
        ("serve --no-state", None),
        ("serve --state here", Path("here")),
        ("--no-state serve", None),
        ("", None),
        ("--state here", Path("here")),
    ],
)
def test_what_outlives_the_process_is_kept_over_http_and_on_stdio_if_it_is_asked_for(started, words, expected) -> None:
    assert main(words.split()) == 0
    assert started.state == expected


def test_the_configuration_can_say_it_too(started, tmp_path) -> None:
    for settings, command, expected in (
        ({"state": "off"}, "serve", None),
        ({"state": "on"}, "", USUAL),
        ({"state_file": "there"}, "serve", Path("there")),
        ({"state_file": "there"}, "", None),
        ({"state_file": "there", "state": "off"}, "serve --state here", Path("here")),
    ):
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {}, "emceepee": settings}))
        assert main(command.split()) == 0
        assert started.state == expected


def test_without_a_home_it_says_that_nothing_is_kept(started, monkeypatch, capsys) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    assert main(["serve"]) == 0
    assert started.state is None
    assert "XDG_STATE_HOME" in capsys.readouterr().err
