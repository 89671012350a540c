"""Event streams as they are received: what is in them, and the exchange that carries one opened by GET.

`EventIntake` turns events into messages for the inbox and remembers where the stream can be resumed; it serves the POST
of a request as well. `EventStream` is one GET from its head to its end.

The one rule: a message is handed over with the origin of the stream it came on, and an answer is recognised by the type
and value of its id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from emceepee.backends.http_answers import kind_of
from emceepee.backends.http_connection import Exchange, Headers, HttpFault
from emceepee.backends.transport import Inbox, Origin
from emceepee.backends.unreadable import answer_instead
from emceepee.framing.json_text import Limits, Unreadable, read_message, read_messages
from emceepee.framing.sse import SseEvent, SseReader
from emceepee.protocol.messages import Failure, RequestId, Result

Hook: TypeAlias = Callable[[SseEvent], bool]
Taken: TypeAlias = Literal["answered", "other", "unreadable"]

_REFUSAL_BODY = 16 * 1024


class EventIntake:
    """Reads one stream, or one stream and its resumptions: call `again` between two of them."""

    __slots__ = ("_inbox", "_limits", "_reader", "answered", "heard", "hook", "last_id", "origin", "overlong", "retry")

    def __init__(self, inbox: Inbox, origin: Origin, limits: Limits, hook: Hook | None = None) -> None:
        self._inbox = inbox
        self._limits = limits
        self._reader: SseReader | None = None
        self.origin = origin
        self.hook = hook
        """May take an event for itself, by answering True."""
        self.answered = False
        self.overlong = False
        self.heard = 0
        """Events so far; what resets the counting of vain attempts."""
        self.last_id: str | None = None
        self.retry: int | None = None

    def again(self, origin: Origin) -> None:
        """A new stream takes the old one's place: half an event of the old is forgotten, the position is not."""
        self._reader = None
        self.origin = origin

    def feed(self, chunk: bytes) -> None:
        if self._reader is None:
            self._reader = SseReader(self._limits.max_bytes)
        for event in self._reader.feed(chunk):
            self._event(event)

    def _event(self, event: SseEvent) -> None:
        self.heard += 1
        if event.id is not None:
            self.last_id = event.id or None
        if event.retry is not None:
            self.retry = event.retry
        if event.overlong:
            self.overlong = True
            self._inbox.rubbish(f"an event larger than {self._limits.max_bytes} bytes", self.origin)
        elif (self.hook is None or not self.hook(event)) and event.event == "message" and event.data:
            self._take(event.data)

    def _take(self, data: bytes) -> None:
        if hand_over(data, self._limits, self._inbox, self.origin) == "answered":
            self.answered = True


def hand_over(data: bytes, limits: Limits, inbox: Inbox, origin: Origin) -> Taken:
    """The message or messages of a text. What is none has been said to the inbox."""
    try:
        found = read_message(data, limits) if data[:1] == b"{" else read_messages(data, limits)
    except Unreadable as problem:
        found = [problem]
    # Ids of our own are text: nothing else can be equal to one.
    if type(found) is Result and found.id == origin.request:
        inbox.message(found, origin)
        return "answered"
    taken: Taken = "unreadable"
    for item in found if isinstance(found, list) else (found,):
        message = _mended(item, inbox, origin) if isinstance(item, Unreadable) else item
        if message is None:
            continue
        if isinstance(message, (Result, Failure)) and same_id(message.id, origin.request):
            taken = "answered"
        elif taken == "unreadable":
            taken = "other"
        inbox.message(message, origin)
    return taken


def _mended(problem: Unreadable, inbox: Inbox, origin: Origin) -> Failure | None:
    """What to take instead, where it was an answer."""
    inbox.rubbish(problem.message, origin)
    if not problem.answers or problem.id is None:
        return None
    return answer_instead(problem.id, problem.message)


def same_id(one: RequestId | None, other: RequestId | None) -> bool:
    return one is not None and type(one) is type(other) and one == other


@dataclass(slots=True, frozen=True)
class Ending:
    """How a GET ended. `status` is 0 when there was no head."""

    how: Literal["answered", "ended", "refused", "fault"]
    status: int = 0
    fault: HttpFault | None = None
    headers: Headers | None = None
    body: bytes = b""


class EventStream:
    """Implements `http_connection.Receiver` for an exchange that may become a stream of events. Two things can be
    awaited: `opened`, whether it became one, and `ended`. Neither ever raises."""

    def __init__(self, intake: EventIntake) -> None:
        loop = asyncio.get_running_loop()
        self._intake = intake
        self.exchange: Exchange | None = None
        self.opened: asyncio.Future[bool] = loop.create_future()
        self.ended: asyncio.Future[Ending] = loop.create_future()
        self._status = 0
        self._headers: Headers = {}
        self._is_stream = False
        self._body = b""

    def on_head(self, status: int, headers: Headers) -> None:
        self._status = status
        self._headers = headers
        self._is_stream = kind_of(status, headers) == "events"
        if self._is_stream and not self.opened.done():
            self.opened.set_result(True)

    def on_data(self, data: bytes) -> None:
        if not self._is_stream:
            self._body += data
            if len(self._body) > _REFUSAL_BODY:
                self._end(Ending("refused", self._status, None, self._headers, self._body[:_REFUSAL_BODY]))
                self.abandon()
            return
        self._intake.feed(data)
        if self._intake.answered:
            self._end(Ending("answered", self._status))
            if self.exchange is not None:
                self.exchange.detach()

    def on_end(self) -> None:
        how: Literal["ended", "refused"] = "ended" if self._is_stream else "refused"
        self._end(Ending(how, self._status, None, self._headers, self._body))

    def on_fault(self, fault: HttpFault) -> None:
        if self._status and not self._is_stream:
            self.on_end()
        else:
            self._end(Ending("fault", self._status, fault))

    def _end(self, ending: Ending) -> None:
        if not self.opened.done():
            self.opened.set_result(False)
        if not self.ended.done():
            self.ended.set_result(ending)

    def abandon(self) -> None:
        if self.exchange is not None:
            self.exchange.abandon()
        self._end(Ending("ended", self._status))
