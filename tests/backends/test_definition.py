"""A server's definition: equality, what it shows of itself, and what it finds wrong with itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emceepee.backends.definition import (
    HttpEndpoint,
    InProcess,
    ServerDefinition,
    StdioLaunch,
    fingerprint,
    http_endpoint,
    problems_with,
    shown_args,
    shown_url,
    url_problem,
)

SECRET = "hunter2"


def test_definitions_are_equal_by_value() -> None:
    one = ServerDefinition("a", StdioLaunch("npx", ("-y",), {"A": "1", "B": "2"}), extras={"tags": ["x"]})
    two = ServerDefinition("a", StdioLaunch("npx", ("-y",), {"B": "2", "A": "1"}), extras={"tags": ["x"]})
    assert one == two
    assert hash(one) == hash(two)


@pytest.mark.parametrize(
    "other",
    [
        ServerDefinition("a", StdioLaunch("npx", (), {"A": "2"})),
        ServerDefinition("a", StdioLaunch("npx", (), {"A": "1"}, "/x")),
        ServerDefinition("a", StdioLaunch("npx", (), {"A": "1"}), "shared"),
        ServerDefinition("a", StdioLaunch("npx", (), {"A": "1"}), disabled=True),
        ServerDefinition("a", HttpEndpoint("http://x/")),
    ],
)
def test_any_difference_makes_another_definition(other) -> None:
    assert ServerDefinition("a", StdioLaunch("npx", (), {"A": "1"})) != other


@pytest.mark.shows("X-GAP-08", "X-GAP-18")
@pytest.mark.parametrize(
    "launch",
    [
        HttpEndpoint(f"http://me:{SECRET}@x/mcp?key={SECRET}#{SECRET}", (("Authorization", SECRET),)),
        http_endpoint(f"http://me:{SECRET}@x/mcp"),
        StdioLaunch("npx", ("--api-key", SECRET, f"--token={SECRET}", f"pg://me:{SECRET}@x/db"), {"TOKEN": SECRET}),
    ],
)
def test_nothing_that_is_shown_holds_a_secret(launch) -> None:
    definition = ServerDefinition("a", launch, extras={"token": SECRET})
    for shown in (repr(definition), str(definition.describe()), definition.address):
        assert SECRET not in shown


def test_a_child_process_shows_its_command_arguments_and_names_of_variables() -> None:
    definition = ServerDefinition("a", StdioLaunch("npx", ("-y", "x"), {"B": "1", "A": "2"}, "/w"), disabled=True)
    assert definition.describe() == {
        "name": "a",
        "url": "stdio:npx",
        "transport": "stdio",
        "command": "npx",
        "args": ["-y", "x"],
        "env": ["A", "B"],
        "cwd": "/w",
        "affinity": "workspace",
        "disabled": True,
    }


def test_a_remote_server_shows_its_url_kind_and_names_of_headers() -> None:
    definition = ServerDefinition("a", HttpEndpoint("http://x/sse", (("X-Key", "1"),), "sse"))
    assert definition.describe() == {
        "name": "a",
        "url": "http://x/sse",
        "transport": "sse",
        "headers": ["X-Key"],
        "affinity": "workspace",
    }


def test_a_server_in_this_process_has_an_address_too() -> None:
    assert ServerDefinition("a", InProcess("demo")).address == "memory:demo"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://x.test:1/a/b?c=d#e", "https://x.test:1/a/b"),
        ("https://u:p@x.test/a", "https://x.test/a"),
        ("https://u:p@w@x.test/a", "https://x.test/a"),
        ("http://[::1]:1/a", "http://[::1]:1/a"),
        ("http://x:99999999/?secret", "(unreadable url)"),
        ("nonsense?secret", "(unreadable url)"),
    ],
)
def test_a_shown_url_has_neither_user_nor_query(url, shown) -> None:
    assert shown_url(url) == shown


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (("-y", "pkg@1.2", "/path"), ["-y", "pkg@1.2", "/path"]),
        (("--api-key", "s", "x"), ["--api-key", "***", "x"]),
        (("--apiKey=s",), ["--apiKey=***"]),
        (("--password", "--verbose"), ["--password", "--verbose"]),
        (("--header", "Authorization: s"), ["--header", "***"]),
        (("-H", "Authorization: s"), ["-H", "***"]),
        (("--url=http://u:p@x/y?k=s",), ["--url=http://x/y"]),
        (("http://x/y?k=s",), ["http://x/y"]),
    ],
)
def test_arguments_are_shown_without_what_follows_a_secret_flag(args, shown) -> None:
    assert list(shown_args(args)) == shown


def test_an_authorization_header_that_is_given_outranks_the_user_in_the_url() -> None:
    endpoint = http_endpoint("http://u:p@x/", (("authorization", "Bearer t"),))
    assert endpoint == HttpEndpoint("http://x/", (("authorization", "Bearer t"),))


@pytest.mark.parametrize(
    "url", ["http://x", "https://x.test:8443/a?b=c", "HTTP://X/", "http://[::1]:1/", "http://é.test/"]
)
def test_an_http_url_is_fine(url) -> None:
    assert url_problem(url) is None


@pytest.mark.shows("X-GAP-10")
@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "ftp://x/",
        "http://",
        "http:///x",
        "http://x:y/",
        "http://x:0/",
        "http://[x/",
        "http://x/ y",
        "http://x/\n",
    ],
)
def test_any_other_is_not(url) -> None:
    assert url_problem(url) is not None


def test_a_url_of_any_length_is_not_taken() -> None:
    assert "at most" in (url_problem("http://x/" + "a" * 5000) or "")


def test_every_mistake_of_a_definition_comes_at_once() -> None:
    launch = StdioLaunch(" ", ("a\0",), {"A=B": "c", "D": "\0"}, "\0")
    definition = ServerDefinition("a__b", launch, connect_timeout=0, call_timeout=-1)
    assert [field for field, _ in problems_with(definition)] == [
        "name",
        "connect_timeout",
        "timeout",
        "command",
        "cwd",
        "args[0]",
        "env.D",
        "env.A=B",
    ]


def test_a_fingerprint_tells_servers_apart_and_is_made_of_no_secret() -> None:
    here = ServerDefinition("a", HttpEndpoint("http://x/mcp", (("Authorization", "one"),)))
    assert fingerprint(here) == fingerprint(
        replace(here, launch=HttpEndpoint("http://x/mcp", (("Authorization", "2"),)))
    )
    assert fingerprint(here) == fingerprint(replace(here, disabled=True, connect_timeout=5.0))
    others = [HttpEndpoint("http://y/mcp", (("Authorization", "one"),)), StdioLaunch("x"), StdioLaunch("x", ("y",))]
    assert len({fingerprint(replace(here, launch=launch)) for launch in (here.launch, *others)}) == 4
