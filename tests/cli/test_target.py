"""Whom `tools` and `call` talk to."""

from __future__ import annotations

import pytest

from emceepee.backends.definition import HttpEndpoint, InProcess, ServerDefinition, StdioLaunch
from emceepee.cli.target import find_target
from emceepee.errors import OperatorFault


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("EMCEEPEE_CONFIG", "XDG_CONFIG_HOME", "APPDATA", "HOME"):
        monkeypatch.delenv(name, raising=False)


def target(
    word: str | None = None, launch: list[str] | None = None, headers: list[str] | None = None, env: str | None = None
) -> ServerDefinition:
    return find_target(word, launch, headers or [], [env] if env else [], [], 5)


def test_a_url_is_an_endpoint_with_the_headers_given() -> None:
    found = target("http://x/mcp", headers=["Authorization: Bearer t"])
    assert found.launch == HttpEndpoint("http://x/mcp", (("Authorization", "Bearer t"),))


def test_a_command_is_a_child_process_with_the_variables_given() -> None:
    assert target(launch=["npx", "-y", "x"], env="A=b=c").launch == StdioLaunch("npx", ("-y", "x"), {"A": "b=c"})


def test_a_name_is_a_configured_server(tmp_path) -> None:
    assert target("demo").launch == InProcess("demo")
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"mine": {"command": "x"}}}')
    assert target("mine").launch == StdioLaunch("x")


def test_a_name_that_is_not_configured_is_told_with_those_that_are(tmp_path) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"mine": {"command": "x"}, "bad": {"command": "${NOPE}"}}}')
    with pytest.raises(OperatorFault, match=r"there is mine; .*NOPE is not set"):
        target("bad")


@pytest.mark.parametrize(
    ("word", "headers", "env", "said"),
    [
        (None, None, None, "whom to talk to"),
        ("ftp://x/", None, None, "only http and https"),
        ("http://x/", ["no colon"], None, "NAME: VALUE"),
        ("http://x/", ["A: b\nc"], None, "line break"),
    ],
)
def test_what_cannot_be_reached_is_refused_at_once(word, headers, env, said) -> None:
    with pytest.raises(OperatorFault, match=said):
        target(word, headers=headers, env=env)


def test_a_variable_without_a_value_is_refused() -> None:
    with pytest.raises(OperatorFault, match="NAME=VALUE"):
        target(launch=["x"], env="A")


def test_a_disabled_server_is_not_talked_to(tmp_path) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"off": {"command": "x", "disabled": true}}}')
    with pytest.raises(OperatorFault, match="disabled"):
        target("off")
