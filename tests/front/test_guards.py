"""What is refused before anybody looks into a body."""

from __future__ import annotations

import pytest

from emceepee.front.guards import (
    check_accept,
    check_content_type,
    check_host,
    check_length,
    check_method,
    check_origin,
    host_name,
    read_accept,
)

NOBODY: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost", "localhost"),
        ("LOCALHOST:80", "localhost"),
        ("[::1]:8000", "[::1]"),
        ("a.b:1", "a.b"),
        ("localhost:80@evil.example", ""),
        ("[::1].evil.example", ""),
        ("localhost:abc", ""),
        ("127.0.0.1:1/x", ""),
        ("localhost evil", ""),
    ],
)
def test_a_host_is_its_name_without_the_port(host: str, name: str) -> None:
    assert host_name(host) == name


@pytest.mark.shows("X-GAP-10")
@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1:8000", "[::1]:8000", "[::1]"])
def test_names_of_this_machine_are_served(host: str) -> None:
    assert check_host(host, NOBODY) is None


@pytest.mark.shows("X-GAP-10")
@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "[::2]", "[::1].a.b"]
)
def test_other_names_are_not(host: str) -> None:
    refused = check_host(host, NOBODY)
    assert refused is not None
    assert refused.status == 403


def test_a_configured_name_and_the_star_are_served_and_a_missing_host_is_not() -> None:
    assert check_host("MCP.example:9", {"mcp.example"}) is None
    assert check_host("evil.example", {"*"}) is None
    missing = check_host(None, NOBODY)
    assert missing is not None
    assert missing.status == 400


@pytest.mark.shows("X-GAP-10")
@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        (None, True),
        ("http://localhost:6274", True),
        ("https://127.0.0.1", True),
        ("http://[::1]:80", True),
        ("https://app.example", True),
        ("https://app.example.evil", False),
        ("http://localhost.evil.example", False),
        ("null", False),
        ("file://", False),
        ("ftp://localhost", False),
    ],
)
def test_pages_may_call_from_this_machine_or_where_configured(origin: str | None, allowed: bool) -> None:
    assert (check_origin(origin, {"https://app.example"}) is None) is allowed


def test_a_method_that_is_not_served_is_told_which_are() -> None:
    refused = check_method("PATCH", ("GET", "POST"))
    assert refused is not None
    assert (refused.status, refused.allow) == (405, "GET, POST")
    assert check_method("GET", ("GET", "POST")) is None


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "Application/JSON;Charset=UTF-8"]
)
def test_json_in_utf_8_is_taken(kind: str) -> None:
    assert check_content_type(kind) is None
    assert check_content_type(kind, "identity") is None


@pytest.mark.parametrize("kind", [None, "", "text/json", "application/jsonp", "application/json; charset=utf-16"])
def test_anything_else_is_not(kind: str | None) -> None:
    refused = check_content_type(kind)
    assert refused is not None
    assert refused.status == 415


@pytest.mark.parametrize(
    ("accept", "json", "events"),
    [
        (None, True, True),
        ("*/*", True, True),
        ("application/json, text/event-stream", True, True),
        ("text/event-stream;q=0.9,application/json", True, True),
        ("application/json", True, False),
        ("text/event-stream", False, True),
        ("application/*", True, False),
        ("text/event-stream, application/json;q=0", False, True),
        ("text/html", False, False),
    ],
)
def test_what_a_client_takes_is_read_leniently(accept: str | None, json: bool, events: bool) -> None:
    acceptable = read_accept(accept)
    assert (acceptable.json, acceptable.events) == (json, events)
    assert (check_accept(acceptable) is None) is (json or events)


@pytest.mark.parametrize(
    ("length", "status"),
    [(None, 0), ("0", 0), ("10", 0), ("11", 413), ("9" * 30, 413), ("-1", 400), ("1e3", 400), ("١", 400), ("", 400)],
)
def test_a_declared_length_is_a_number_within_the_limit(length: str | None, status: int) -> None:
    refused = check_length(length, 10)
    assert (0 if refused is None else refused.status) == status
