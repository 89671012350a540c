"""The heads that go to one endpoint, byte by byte."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from emceepee.backends.http_client import HttpClient
from emceepee.backends.http_endpoint import Endpoint, HttpSettings
from emceepee.backends.transport import Header
from emceepee.errors import BackendUnavailable
from tests.support.fake_clock import FakeClock


def endpoint(url: str = "http://example.com/mcp", headers: Sequence[Header] = ()) -> Endpoint:
    return Endpoint("files", url, headers, HttpClient(FakeClock(), {}), HttpSettings())


def lines(head: bytes) -> list[str]:
    return head.decode().rstrip("\r\n").split("\r\n")


def test_a_post_says_what_it_is_and_takes_both_kinds_of_answer() -> None:
    request = endpoint(headers=[("X-Key", "k")]).post(b"{}", [("Mcp-Method", "tools/call")])
    assert lines(request.head) == [
        "POST /mcp HTTP/1.1",
        "host: example.com",
        "accept-encoding: identity",
        "user-agent: emceepee",
        "accept: application/json, text/event-stream",
        "content-type: application/json",
        "X-Key: k",
        "Mcp-Method: tools/call",
    ]
    assert not request.repeatable


def test_a_session_and_a_version_go_on_everything_until_they_change() -> None:
    here = endpoint()
    here.adopt_session({b"mcp-session-id": b"s1"})
    here.protocol_version = "2025-11-25"
    for request in (here.post(b"{}"), here.get(), here.delete()):
        assert b"mcp-session-id: s1\r\nmcp-protocol-version: 2025-11-25\r\n" in request.head
    here.session_id = None
    assert b"session" not in here.post(b"{}").head


def test_a_session_id_that_cannot_be_sent_is_not_adopted() -> None:
    here = endpoint()
    here.adopt_session({b"mcp-session-id": b"a b"})
    assert here.session_id is None


def test_the_first_session_id_holds_until_it_is_forgotten() -> None:
    here = endpoint()
    here.adopt_session({b"mcp-session-id": b"s1"})
    here.adopt_session({b"mcp-session-id": b"s2"})
    assert here.session_id == "s1"


def test_a_get_asks_for_events_and_can_say_where_it_was() -> None:
    request = endpoint().get("event-7")
    assert "accept: text/event-stream" in lines(request.head)
    assert "last-event-id: event-7" in lines(request.head)
    assert request.body is None
    assert request.repeatable


def test_an_event_id_that_no_header_can_hold_is_left_out() -> None:
    assert b"last-event-id" not in endpoint().get("€").head


def test_configured_headers_replace_ours_also_the_host_and_the_credentials_of_the_url() -> None:
    configured = [("User-Agent", "mine"), ("Host", "inner.test"), ("Authorization", "Bearer t")]
    head = endpoint("http://u:p@example.com/mcp", configured).post(b"").head
    assert head.lower().count(b"\r\nhost:") == head.lower().count(b"authorization:") == 1
    assert b"Authorization: Bearer t" in head
    assert b"Host: inner.test" in head
    assert b"user-agent: emceepee" not in head


def test_user_info_of_the_url_is_sent_as_basic_credentials() -> None:
    assert "authorization: Basic dTpw" in lines(endpoint("http://u:p@example.com/mcp").post(b"").head)


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("ftp://example.com/", []),
        ("http://user:hush@", []),
        ("http://example.com/", [("x", "a\r\nhush: 1")]),
        ("http://example.com/", [("Content-Length", "1")]),
    ],
)
def test_an_endpoint_that_cannot_be_used_says_so_and_no_secret(url: str, headers: list[Header]) -> None:
    with pytest.raises(BackendUnavailable) as caught:
        endpoint(url, headers)
    assert "hush" not in str(caught.value)


def test_a_header_that_would_break_out_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(BackendUnavailable):
        endpoint().post(b"{}", [("Mcp-Name", "a\r\nx: y")])


def test_a_permanent_redirect_is_remembered_and_a_passing_one_is_not() -> None:
    here = endpoint()
    assert here.redirected(307, {b"location": b"/elsewhere"}) == "/elsewhere"
    assert b"POST /mcp HTTP" in here.post(b"").head
    assert here.redirected(308, {b"location": b"http://example.com/moved"}) == "/moved"
    assert b"POST /moved HTTP" in here.post(b"").head


def test_a_missing_slash_is_remembered_too() -> None:
    here = endpoint()
    assert here.redirected(307, {b"location": b"/mcp/"}) == "/mcp/"
    assert b"POST /mcp/ HTTP" in here.post(b"").head
    assert b"GET /mcp/ HTTP" in here.get().head


@pytest.mark.parametrize("location", [b"https://example.com/mcp", b"http://evil.test/mcp", b"/mcp", b""])
def test_a_redirect_that_leaves_the_origin_or_leads_nowhere_is_not_followed(location: bytes) -> None:
    assert endpoint().redirected(307, {b"location": location}) is None


def test_what_a_server_names_stays_on_its_origin() -> None:
    assert endpoint().within("/messages?session=1") == "/messages?session=1"
    assert endpoint().within("http://evil.test/messages") is None


def test_the_headers_of_one_request_are_not_those_of_the_next() -> None:
    here = endpoint()
    plain = here.post(b"{}").head
    for name in ("echo", "other", "echo"):
        assert here.post(b"{}", [("Mcp-Name", name)]).head == plain + f"Mcp-Name: {name}\r\n".encode()
    assert here.post(b"{}").head == plain


def test_arguments_in_headers_are_not_kept_and_the_rest_is_bounded() -> None:
    here = endpoint()
    routing = [("Mcp-Method", "tools/call"), ("Mcp-Name", "echo"), ("MCP-Protocol-Version", "2026-07-28")]
    for index in range(1000):
        here.post(b"{}", [*routing, ("Mcp-Param-Secret", "s")])
        here.post(b"{}", [("Mcp-Name", str(index))])
    assert 0 < len(here._written) <= 64
    assert not [header for key in here._written for header in key if header[0] == "Mcp-Param-Secret"]
