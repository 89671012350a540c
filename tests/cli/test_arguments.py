"""What can be said on the command line."""

from __future__ import annotations

import pytest

from emceepee.cli.arguments import parse


def test_no_words_are_the_meta_tools_on_stdio() -> None:
    options = parse([])
    assert (options.command, options.surface, options.launch) == (None, "meta", None)


@pytest.mark.shows("X-GAP-09")
def test_serve_takes_host_port_configuration_level_and_time_limits() -> None:
    words = "serve --host ::1 --port 0 --config a --config b --log-level warn --timeout execute=5 --profile core"
    options = parse([*words.split(), "--allow-origin", "https://x", "--insecure-no-auth"])
    assert (options.command, options.host, options.port, options.config) == ("serve", "::1", 0, ["a", "b"])
    assert (options.log_level, options.timeout, options.allow_origin) == ("warn", ["execute=5"], ["https://x"])
    assert (options.insecure_no_auth, options.profile) == (True, "core")


def test_options_before_the_command_are_not_lost() -> None:
    assert parse(["--config", "a", "--log-level", "debug", "serve"]).config == ["a"]
    assert parse(["--log-level", "debug", "tools", "x"]).log_level == "debug"


def test_what_follows_two_dashes_is_never_looked_into() -> None:
    options = parse(["call", "echo", "--json", "--", "npx", "--json", "-y", "--", "x"])
    assert (options.words, options.json, options.launch) == (["echo"], True, ["npx", "--json", "-y", "--", "x"])


@pytest.mark.parametrize(
    "words",
    [
        "nonsense",
        "serve --port x",
        "serve --port 65536",
        "serve --hos x",
        "serve extra",
        "--log-level loud",
        "--profile small",
        "call",
        "tools --wait 0 x",
        "tools --",
        "serve -- npx",
        "-- npx",
        "--surface direct serve",
    ],
)
def test_what_nobody_can_mean_ends_with_2_and_a_word_on_standard_error(words, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(words.split())
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "error:" in err


def test_the_version_is_said_and_that_is_all(capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("emceepee ")
