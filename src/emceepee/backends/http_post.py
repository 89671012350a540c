"""The POST of one message and whatever comes back on it.

The one rule: its owner is told once how it ended (`Outcome`, or a `BackendFault`), at the moment it is certain, and
messages have been handed over before that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from emceepee.backends.http_answers import early_refusal, fault_of, kind_of, refusal
from emceepee.backends.http_connection import Exchange, Headers, HttpFault
from emceepee.backends.http_endpoint import Endpoint
from emceepee.backends.http_streams import EventIntake, hand_over, same_id
from emceepee.backends.transport import Header, Inbox, Origin
from emceepee.errors import BackendFault, BackendViolation
from emceepee.framing.json_text import Limits, Unreadable, read_messages
from emceepee.protocol.messages import Failure, RequestId, Result

Outcome: TypeAlias = Literal["done", "cut", "redirect"]
"""`cut`: an event stream ended, however it did, before the answer."""

_REFUSAL_BODY = 64 * 1024


class Owner(Protocol):
    def over(self, post: Post, how: Outcome | BackendFault) -> None:
        """It has ended, for the one time."""
        ...

    def unwanted(self, post: Post) -> None:
        """Nobody waits for it any more, if it has not ended already."""
        ...


class Post:
    """Implements `http_connection.Receiver` and `transport.Sending`. `waiter`, `more` and `going_on` are its owner's:
    who awaits it, the headers that were its own, and what became of it when the answer was to be had elsewhere."""

    __slots__ = (
        "_body",
        "_endpoint",
        "_had_session",
        "_inbox",
        "_kind",
        "_owner",
        "_size",
        "exchange",
        "going_on",
        "headers",
        "intake",
        "more",
        "over",
        "request",
        "status",
        "waiter",
    )

    def __init__(self, endpoint: Endpoint, inbox: Inbox, request: RequestId | None, owner: Owner) -> None:
        self._endpoint = endpoint
        self._inbox = inbox
        self.request = request
        self._owner = owner
        self.over = False
        self.waiter: asyncio.Future[Outcome] | None = None
        self.more: Sequence[Header] = ()
        self.going_on: asyncio.Task[None] | None = None
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
            self.hang_up()

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
        if not self.over:
            self.over = True
            self._owner.over(self, outcome)

    def _fail(self, fault: BackendFault) -> None:
        if not self.over:
            self.over = True
            self._owner.over(self, fault)

    def give_up(self, fault: BackendFault) -> None:
        """Hang up, and say why."""
        self.hang_up()
        self._fail(fault)

    def hang_up(self) -> None:
        """Nobody hears anything of it."""
        if self.exchange is not None:
            self.exchange.abandon()

    def abandon(self) -> None:
        self._owner.unwanted(self)
