"""The POST of one message and whatever comes back on it.

The one rule: the waiter is told once how it ended (`Outcome`, or a `BackendFault`), at the moment it is certain, and
messages have been handed over before that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, TypeAlias

from emceepee.backends.http_answers import early_refusal, fault_of, kind_of, refusal
from emceepee.backends.http_connection import Exchange, Headers, HttpFault
from emceepee.backends.http_endpoint import Endpoint
from emceepee.backends.http_streams import EventIntake, hand_over, same_id
from emceepee.backends.transport import Inbox, Origin
from emceepee.errors import BackendFault, BackendViolation
from emceepee.framing.json_text import Limits, Unreadable, read_messages
from emceepee.protocol.messages import Failure, RequestId, Result

Outcome: TypeAlias = Literal["done", "cut", "redirect"]
"""`cut`: an event stream ended, however it did, before the answer."""

_REFUSAL_BODY = 64 * 1024


class Post:
    """Implements `http_connection.Receiver`."""

    __slots__ = (
        "_body",
        "_ended",
        "_endpoint",
        "_had_session",
        "_inbox",
        "_kind",
        "_size",
        "exchange",
        "future",
        "headers",
        "intake",
        "request",
        "status",
    )

    def __init__(
        self,
        endpoint: Endpoint,
        inbox: Inbox,
        request: RequestId | None,
        future: asyncio.Future[Outcome],
        ended: Callable[[Post], None],
    ) -> None:
        self._endpoint = endpoint
        self._inbox = inbox
        self.request = request
        self.future = future
        self._ended = ended
        self._had_session = endpoint.session_id is not None
        self.exchange: Exchange | None = None
        self.status = 0
        self.headers: Headers = {}
        self.intake: EventIntake | None = None
        self._kind = ""
        self._body: list[bytes] = []
        self._size = 0

    # -- the receiver

    def on_head(self, status: int, headers: Headers) -> None:
        self.status = status
        self.headers = headers
        self._kind = kind_of(status, headers)
        if b"mcp-session-id" in headers and status < 300 and not self._had_session:
            self._endpoint.adopt_session(headers)
        if self._kind == "events":
            self.intake = EventIntake(self._inbox, Origin("post", self.request), self._endpoint.event_limits)

    def on_data(self, data: bytes) -> None:
        if self.intake is not None:
            self.intake.feed(data)
            if self.intake.answered:
                self._finish("done")
                if self.exchange is not None:
                    self.exchange.detach()
            return
        self._size += len(data)
        if self._kind == "json":
            limit = self._endpoint.body_limits.max_bytes
            if self._size > limit:
                self.give_up(BackendViolation(self._endpoint.server, f"its answer is larger than {limit} bytes"))
            else:
                self._body.append(data)
        elif self._size <= _REFUSAL_BODY:
            self._body.append(data)
        elif self._size > 4 * _REFUSAL_BODY:
            self.on_end()
            self.abandon()

    def on_end(self) -> None:
        match self._kind:
            case "json":
                self._read_body()
            case "events":
                self._finish("done" if self.request is None else "cut")
            case "taken":
                self._finish("done")
            case "redirect":
                self._finish("redirect")
            case _:
                self._refused()

    def on_fault(self, fault: HttpFault) -> None:
        if self._kind == "events" and self.request is not None:
            self._finish("cut")
        elif self._kind in ("refusal", "redirect", "taken"):
            # The status says enough, however the rest was lost.
            self.on_end()
        else:
            self._fail(fault_of(self._endpoint.server, fault, self.request is not None))

    # -- bodies that are not streams

    def _read_body(self) -> None:
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body.clear()
        if self.request is None:
            # Nothing answers a notification; some servers send `null`, or their own idea of an answer.
            self._finish("done")
            return
        if not body:
            self._fail(refusal(self._endpoint.server, self.status, self.headers, body, True))
            return
        taken = hand_over(body, self._endpoint.body_limits, self._inbox, Origin("post", self.request))
        if taken == "answered":
            self._finish("done")
        else:
            what = "a body without the answer" if taken == "other" else "a body that is no message"
            self._fail(BackendViolation(self._endpoint.server, f"answered with {what}"))

    def _refused(self) -> None:
        server, body = self._endpoint.server, b"".join(self._body)
        shown = self._endpoint.secrets.hide_in(body)
        fault = early_refusal(server, self.status, self.headers, shown, self._had_session)
        answer = None if fault is not None else self._error_within(body)
        if answer is None:
            is_request = self.request is not None
            self._fail(fault or refusal(server, self.status, self.headers, shown, is_request))
        else:
            self._inbox.message(answer, Origin("post", self.request))
            self._finish("done")

    def _error_within(self, body: bytes) -> Failure | Result | None:
        """The answer to our request that a refusal brought along; one without an id can only mean this request."""
        if self.request is None or not body:
            return None
        try:
            found = read_messages(body, Limits(_REFUSAL_BODY, self._endpoint.settings.max_depth))
        except Unreadable:
            return None
        if isinstance(found, Failure) and found.id is None:
            return Failure(self.request, found.error)
        if isinstance(found, Result | Failure) and same_id(found.id, self.request):
            return found
        return None

    # -- the end

    def _finish(self, outcome: Outcome) -> None:
        if not self.future.done():
            self.future.set_result(outcome)
        self._ended(self)

    def _fail(self, fault: BackendFault) -> None:
        if not self.future.done():
            self.future.set_exception(fault)
        self._ended(self)

    def give_up(self, fault: BackendFault) -> None:
        """Hang up, and tell the waiter why."""
        self.abandon()
        self._fail(fault)

    def abandon(self) -> None:
        """Hang up. The waiter hears nothing of it."""
        if self.exchange is not None:
            self.exchange.abandon()
