"""One MCP endpoint as requests are made to it: its heads, and the two values that a session adds to them.

The one rule: what does not change between two requests is written once; a head is a concatenation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emceepee.backends.http_address import Address, BadAddress, follow, overlaid, read_address, write_lines
from emceepee.backends.http_answers import session_id
from emceepee.backends.http_client import HttpClient, HttpRequest, Method
from emceepee.backends.http_connection import Headers
from emceepee.backends.own_secrets import of_endpoint
from emceepee.backends.transport import Header
from emceepee.errors import BackendUnavailable
from emceepee.framing.json_text import Limits
from emceepee.vocabulary.names import ServerName

_ALWAYS: tuple[Header, ...] = (("accept-encoding", "identity"), ("user-agent", "emceepee"))
_POST: tuple[Header, ...] = (("accept", "application/json, text/event-stream"), ("content-type", "application/json"))
_GET: tuple[Header, ...] = (("accept", "text/event-stream"), ("cache-control", "no-store"))

_ROUTING_HEADERS = 3
_WRITTEN_AT_MOST = 64


@dataclass(slots=True, frozen=True)
class HttpSettings:
    """Bounds of one endpoint. A body and an event are bounded alike: either may be a tool's whole result."""

    connect_seconds: float = 10.0
    max_body_bytes: int = 64 * 1024 * 1024
    max_event_bytes: int = 64 * 1024 * 1024
    max_depth: int = 64
    resume_attempts: int = 5
    """In a row, without an event in between."""
    retry_seconds_at_most: float = 60.0
    """What a server may ask us to wait before we come back, and what we wait at most by ourselves."""
    drain_seconds: float = 900.0
    """How long the answer to an abandoned request is still read, where hanging up would mean nothing."""
    farewell_seconds: float = 2.0


class Endpoint:
    """Raises `BackendUnavailable` when made from an address or headers that cannot be used."""

    def __init__(
        self, server: ServerName, url: str, headers: Sequence[Header], client: HttpClient, settings: HttpSettings
    ) -> None:
        self.server = server
        self.secrets = of_endpoint(url, headers)
        self.settings = settings
        self.body_limits = Limits(settings.max_body_bytes, settings.max_depth)
        self.event_limits = Limits(settings.max_event_bytes, settings.max_depth)
        self._session_id: str | None = None
        self._protocol_version: str | None = None
        try:
            self.address = read_address(url)
            self._configured = list(headers)
            if self.address.credentials is not None:
                self._configured = overlaid((("authorization", self.address.credentials),), headers)
            self._route = client.route(self.address)
            self._target = self.address.target
            self._heads: dict[tuple[Method, str], bytes] = {}
            self._head("POST", self._target)
        except BadAddress as problem:
            raise BackendUnavailable(server, str(problem)) from None
        self._session_lines: bytes | None = None
        self._post_head: bytes | None = None
        """The head of a POST to the usual target in this session, once there was one."""
        self._written: dict[tuple[Header, ...], bytes] = {}

    @property
    def session_id(self) -> str | None:
        return self._session_id

    @session_id.setter
    def session_id(self, value: str | None) -> None:
        self._session_id = value
        self._session_lines = self._post_head = None

    @property
    def protocol_version(self) -> str | None:
        return self._protocol_version

    @protocol_version.setter
    def protocol_version(self, value: str | None) -> None:
        self._protocol_version = value
        self._session_lines = self._post_head = None

    def _head(self, method: Method, target: str) -> bytes:
        head = self._heads.get((method, target))
        if head is None:
            own = _ALWAYS + (_POST if method == "POST" else _GET if method == "GET" else ())
            head = self._heads[method, target] = self._route.head(method, target, overlaid(own, self._configured))
        return head

    def _lines(self, more: Sequence[Header]) -> bytes:
        if self._session_lines is None:
            named = (("mcp-session-id", self._session_id), ("mcp-protocol-version", self._protocol_version))
            self._session_lines = write_lines((name, value) for name, value in named if value is not None)
        return self._session_lines + write_lines(more) if more else self._session_lines

    def _routing_lines(self, more: Sequence[Header]) -> bytes:
        """The few headers that say what a request is, which the next request of its kind will have again. More than
        those are arguments: seldom the same twice, and not ours to keep."""
        if len(more) > _ROUTING_HEADERS:
            return write_lines(more)
        key = tuple(more)
        lines = self._written.get(key)
        if lines is None:
            lines = write_lines(more)
            if len(self._written) >= _WRITTEN_AT_MOST:
                self._written.clear()
            self._written[key] = lines
        return lines

    def post(
        self, body: bytes, more: Sequence[Header] = (), urgent: bool = False, target: str | None = None
    ) -> HttpRequest:
        """Raises `BackendUnavailable` for a header that cannot be sent."""
        try:
            head = self._post_head
            if target is not None or head is None:
                head = self._head("POST", target or self._target) + self._lines(())
                if target is None:
                    self._post_head = head
            if more:
                head += self._routing_lines(more)
        except BadAddress as problem:
            raise BackendUnavailable(self.server, str(problem)) from None
        return HttpRequest(self._route, head, body, self.settings.connect_seconds, urgent)

    def get(self, last_event_id: str | None = None) -> HttpRequest:
        more = [] if last_event_id is None else [("last-event-id", last_event_id)]
        try:
            head = self._head("GET", self._target) + self._lines(more)
        except BadAddress:
            # An event id may hold what no header can; without it the stream begins anew.
            head = self._head("GET", self._target) + self._lines(())
        return HttpRequest(self._route, head, None, self.settings.connect_seconds, urgent=True, repeatable=True)

    def delete(self) -> HttpRequest:
        head = self._head("DELETE", self._target) + self._lines(())
        return HttpRequest(
            self._route, head, None, min(self.settings.connect_seconds, self.settings.farewell_seconds), urgent=True
        )

    def adopt_session(self, headers: Headers) -> None:
        """The first session id that a successful answer brings goes on everything after it."""
        if self.session_id is None:
            self.session_id = session_id(headers)

    def redirected(self, status: int, headers: Headers) -> str | None:
        """The target to ask instead, on this origin, or None. A permanent one is remembered, and so is a missing or
        superfluous slash, which no server means to be temporary."""
        there = follow(self._at(self._target), headers.get(b"location", b"").decode("latin-1"))
        if there is None or there.target == self._target:
            return None
        if status == 308 or there.target.rstrip("/") == self._target.rstrip("/"):
            self._target = there.target
            self._post_head = None
        return there.target

    def within(self, reference: str) -> str | None:
        """The target of a reference given by the server itself, None when it leaves the origin."""
        there = follow(self._at(self._target), reference)
        return None if there is None else there.target

    def _at(self, target: str) -> Address:
        here = self.address
        return Address(here.scheme, here.host, here.port, target, here.credentials)
