"""What an HTTP answer means before anybody looks into it: which kind of body comes, or whose fault there is.

    200 application/json          messages in the body
    200 text/event-stream         messages as events
    other 2xx                     taken, no answer here
    307, 308                      the same again elsewhere
    401, 403                      `CredentialsRefused`, whatever the body says
    404 with a session id         `SessionGone`, whatever the body says: the request was not executed
    another status                the JSON-RPC error of the body, else a fault by `refusal`

The one rule: pure. A status alone never says that a request was executed, so a fault that permits sending it again is
given only where the status says that it was not.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from emceepee.backends.http_connection import Headers, HttpFault
from emceepee.backends.transport import HttpRefusal
from emceepee.errors import BackendAuth, BackendFault, BackendUnavailable, BackendViolation, OutcomeUnknown

Kind: TypeAlias = Literal["json", "events", "taken", "redirect", "refusal"]

_SHOWN_BODY = 200
_session_id = re.compile(rb"[\x21-\x7e]{1,1024}\Z")


class SessionGone(HttpRefusal):
    """404 in answer to a request that carried a session id: the server forgot it, and did not execute the request."""


class CredentialsRefused(BackendAuth):
    """401 or 403. `challenge` is the server's WWW-Authenticate, for whoever can fetch credentials."""

    def __init__(self, server: str, status: int, challenge: str, detail: str) -> None:
        super().__init__(server, f"answered HTTP {status}{': ' + detail if detail else ''}")
        self.status = status
        self.challenge = challenge


def kind_of(status: int, headers: Headers) -> Kind:
    if status == 200:
        if headers.get(b"content-encoding", b"identity") != b"identity":
            return "refusal"
        media = headers.get(b"content-type", b"")
        if media == b"application/json":
            return "json"
        if media == b"text/event-stream":
            return "events"
        media = media_type(headers)
        if media == b"text/event-stream":
            return "events"
        return "json" if media in (b"application/json", b"") or media.endswith(b"+json") else "refusal"
    if status < 300:
        return "taken"
    return "redirect" if status in (307, 308) else "refusal"


def media_type(headers: Headers) -> bytes:
    return headers.get(b"content-type", b"").partition(b";")[0].strip().lower()


def session_id(headers: Headers) -> str | None:
    """The session id an answer brings, when it is one that can be sent back."""
    value = headers.get(b"mcp-session-id")
    if value is None:
        return None
    value = value.strip()
    return value.decode("ascii") if _session_id.match(value) else None


def early_refusal(server: str, status: int, headers: Headers, body: bytes, had_session: bool) -> BackendFault | None:
    """What a status says whatever the body is."""
    if status in (401, 403):
        challenge = headers.get(b"www-authenticate", b"").decode("latin-1")
        return CredentialsRefused(server, status, challenge, _shown(headers, body))
    if status == 404 and had_session:
        return SessionGone(server, status, "the session is gone", body)
    return None


def refusal(server: str, status: int, headers: Headers, body: bytes, is_request: bool) -> BackendFault:
    """What an answer says whose body is no JSON-RPC message."""
    detail = _shown(headers, body)
    if status >= 500:
        told = f"answered HTTP {status}{': ' + detail if detail else ''}"
        if status == 503 or not is_request:
            return BackendUnavailable(server, told)
        return OutcomeUnknown(server, told)
    if status in (301, 302, 303, 307, 308):
        detail = "a redirect that is not followed; configure the address where it leads"
    elif b"content-encoding" in headers:
        detail = "an encoded body, which was not asked for"
    elif status == 200:
        media = media_type(headers).decode("latin-1")
        detail = f"a body of the type '{media[:80]}'" if media else "no message in the body"
    return HttpRefusal(server, status, detail, body)


def fault_of(server: str, fault: HttpFault, is_request: bool = True) -> BackendFault:
    """The same failure, in the words that every transport uses."""
    match fault.kind:
        case "unreached":
            return BackendUnavailable(server, fault.detail)
        case "garbled":
            return BackendViolation(server, fault.detail)
        case _:
            return OutcomeUnknown(server, fault.detail) if is_request else BackendUnavailable(server, fault.detail)


def _shown(headers: Headers, body: bytes) -> str:
    """The beginning of a plain text, for people; pages and binary say nothing in one line."""
    if media_type(headers) not in (b"text/plain", b"application/json"):
        return ""
    text = body[:_SHOWN_BODY].decode("utf-8", "replace")
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
