"""What statuses and content types mean, as a table."""

from __future__ import annotations

import pytest

from emceepee.backends.http_answers import (
    CredentialsRefused,
    SessionGone,
    early_refusal,
    fault_of,
    kind_of,
    refusal,
    session_id,
)
from emceepee.backends.http_connection import HttpFault
from emceepee.backends.transport import HttpRefusal
from emceepee.errors import BackendUnavailable, BackendViolation, OutcomeUnknown


@pytest.mark.parametrize(
    ("status", "content_type", "kind"),
    [
        (200, b"application/json", "json"),
        (200, b"Application/JSON; charset=utf-8", "json"),
        (200, b"application/vnd.x+json", "json"),
        (200, b"", "json"),
        (200, b"text/event-stream", "events"),
        (200, b"text/event-stream;charset=utf-8", "events"),
        (200, b"text/html", "refusal"),
        (202, b"", "taken"),
        (202, b"text/plain", "taken"),
        (204, b"", "taken"),
        (307, b"", "redirect"),
        (308, b"", "redirect"),
        (301, b"", "refusal"),
        (400, b"application/json", "refusal"),
        (503, b"text/html", "refusal"),
    ],
)
def test_a_status_and_a_type_tell_what_comes(status: int, content_type: bytes, kind: str) -> None:
    assert kind_of(status, {b"content-type": content_type} if content_type else {}) == kind


def test_an_encoding_that_nobody_asked_for_is_refused_by_name() -> None:
    headers = {b"content-type": b"application/json", b"content-encoding": b"gzip"}
    assert kind_of(200, headers) == "refusal"
    assert "encoded" in str(refusal("files", 200, headers, b"\x1f\x8b", True))
    assert kind_of(200, headers | {b"content-encoding": b"identity"}) == "json"


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.shows("EB-B2")
def test_refused_credentials_are_that_whatever_the_body_says(status: int) -> None:
    headers = {b"www-authenticate": b'Bearer resource_metadata="https://a/b"'}
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}'
    fault = early_refusal("files", status, headers, body, had_session=True)
    assert isinstance(fault, CredentialsRefused)
    assert (fault.reason, fault.status) == ("backend_auth", status)
    assert fault.challenge == 'Bearer resource_metadata="https://a/b"'
    assert "metadata" not in str(fault)


def test_404_is_a_lost_session_only_where_there_was_one() -> None:
    assert isinstance(early_refusal("files", 404, {}, b"", had_session=True), SessionGone)
    assert early_refusal("files", 404, {}, b"", had_session=False) is None


@pytest.mark.parametrize(
    ("status", "is_request", "kind"),
    [
        (400, True, HttpRefusal),
        (404, True, HttpRefusal),
        (405, True, HttpRefusal),
        (429, True, HttpRefusal),
        (503, True, BackendUnavailable),
        (500, True, OutcomeUnknown),
        (502, True, OutcomeUnknown),
        (504, True, OutcomeUnknown),
        (500, False, BackendUnavailable),
        (301, True, HttpRefusal),
        (200, True, HttpRefusal),
    ],
)
def test_only_a_status_that_says_so_means_not_executed(status: int, is_request: bool, kind: type[Exception]) -> None:
    assert type(refusal("files", status, {}, b"", is_request)) is kind


def test_a_refusal_quotes_plain_text_in_one_short_line_and_no_page() -> None:
    text = refusal("files", 400, {b"content-type": b"text/plain"}, b"No\r\n\x1b[31mgood" + b"x" * 999, True)
    assert "No [31mgood" in str(text)
    assert len(str(text)) < 300
    page = refusal("files", 400, {b"content-type": b"text/html"}, b"<html>", True)
    assert "<html>" not in str(page)
    assert isinstance(page, HttpRefusal)
    assert page.body == b"<html>"


@pytest.mark.parametrize("value", [b"has blank", b"", b"\x7f", b"\xc3\xbc", b"x" * 1025, b"a,\tb"])
def test_a_session_id_that_could_not_be_sent_back_is_none(value: bytes) -> None:
    assert session_id({b"mcp-session-id": value}) is None


def test_a_session_id_is_taken_as_it_is() -> None:
    assert session_id({b"mcp-session-id": b" abc!~ "}) == "abc!~"
    assert session_id({}) is None


def test_each_way_to_fail_has_its_fault() -> None:
    made = {
        kind: type(fault_of("files", HttpFault(kind, "x")))
        for kind in ("unreached", "unanswered", "truncated", "garbled")
    }
    assert made == {
        "unreached": BackendUnavailable,
        "unanswered": OutcomeUnknown,
        "truncated": OutcomeUnknown,
        "garbled": BackendViolation,
    }
    assert type(fault_of("files", HttpFault("unanswered", "x"), is_request=False)) is BackendUnavailable
