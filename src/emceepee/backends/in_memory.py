"""A server in this process as a transport: real JSON-RPC messages, no pipe.

    we say a request         the server's `handle` runs as a task of its own; what it says through `say` comes back with
                             the origin ("post", id), because in one process it is known exactly
    we say a notification    the same; what it says has the origin of a pipe
    we cancel a request      the handling task is cancelled, as when HTTP closes a stream; the notification is handed
                             over too
    it says anything else    through the `Channel` it was opened with; origin of a pipe

The era is the server's own: it sees and says whole messages.

The one rule: nothing is called across; both sides see bytes that were read and checked like those of any other wire.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from emceepee.backends.transport import PIPE, SENT, Header, Inbox, Origin, Sending
from emceepee.backends.unreadable import answer_instead
from emceepee.errors import BackendUnavailable
from emceepee.framing.json_text import Limits, Unreadable, read_message, read_messages
from emceepee.protocol.messages import (
    INTERNAL_ERROR,
    Message,
    Notification,
    Request,
    RequestId,
    write_failure,
)
from emceepee.runtime.spawn import TaskScope
from emceepee.vocabulary.raw_json import NotThatShape, read_fields, read_value

_log = logging.getLogger("emceepee.backends")

Say: TypeAlias = Callable[[bytes], None]
"""Takes one message, whole, without its line end. Returns at once; after the connection's end it does nothing."""

LIMITS = Limits(max_bytes=32 * 1024 * 1024)


class Channel(Protocol):
    """What a server may do unasked."""

    def say(self, message: bytes) -> None: ...

    def hang_up(self, detail: str) -> None:
        """Be gone, as a process that exits is."""
        ...


class InProcessServer(Protocol):
    """One connection's server. Whoever hosts one makes a new one for each connection."""

    def opened(self, channel: Channel) -> None:
        """Before the first message."""
        ...

    def closed(self) -> None:
        """Nobody is there any more, and what is handled now ends. Called once or more, also when it hung up itself."""
        ...

    async def handle(self, message: Message, say: Say) -> None:
        """One message; `say` the answer, and before it what belongs to it. Runs beside the handling of others.
        Cancelled when the caller gave up, and then nothing is said."""
        ...


class InMemoryTransport:
    """Implements `transport.Transport` and, towards the server, `Channel`."""

    def __init__(self, server: str, hosted: InProcessServer) -> None:
        self.server = server
        self._hosted = hosted
        self._inbox: Inbox | None = None
        self._tasks = TaskScope(f"in_memory/{server}")
        self._handling: dict[RequestId, asyncio.Task[None]] = {}
        self._gone = "has not been started"

    @property
    def children(self) -> tuple[int, ...]:
        return ()

    @property
    def session(self) -> str | None:
        return None

    async def start(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._hosted.opened(self)

    def begin(self, message: bytes, request: RequestId, headers: Sequence[Header] = ()) -> Sending:
        self._take(message)
        return SENT

    async def send(self, message: bytes, request: RequestId | None = None, headers: Sequence[Header] = ()) -> None:
        self._take(message)

    def _take(self, message: bytes) -> None:
        if self._inbox is None:
            raise BackendUnavailable(self.server, self._gone)
        read = read_message(message, LIMITS)
        if isinstance(read, Request):
            origin = Origin("post", read.id)
            task = self._tasks.spawn(self._handle(read, origin), read.method)
            self._handling[read.id] = task
            task.add_done_callback(lambda _: self._handling.pop(read.id, None))
            return
        self._tasks.spawn(self._handle(read, PIPE), "message")
        if isinstance(read, Notification) and read.method == "notifications/cancelled":
            self._cancel(read)

    def _cancel(self, notification: Notification) -> None:
        try:
            request = read_value(read_fields(notification.params or b"{}")["requestId"])
        except (KeyError, NotThatShape):
            return
        if isinstance(request, int | str) and (task := self._handling.get(request)) is not None:
            task.cancel()

    async def _handle(self, message: Message, origin: Origin) -> None:
        try:
            await self._hosted.handle(message, lambda said: self._said(said, origin))
        except Exception as error:  # noqa: BLE001 - the wall: whatever a hosted server raises stays its own
            _log.error("in_process_server_failed", exc_info=error, extra={"data": {"server": self.server}})
            if isinstance(message, Request):
                self._said(write_failure(message.id, INTERNAL_ERROR, "Internal error"), origin)

    def _said(self, said: bytes, origin: Origin) -> None:
        inbox = self._inbox
        if inbox is None:
            return
        try:
            found = read_messages(said, LIMITS)
        except Unreadable as problem:
            found = [problem]
        for item in found if isinstance(found, list) else (found,):
            if isinstance(item, Unreadable):
                self._unreadable(item, inbox, origin)
            else:
                inbox.message(item, origin)

    def _unreadable(self, problem: Unreadable, inbox: Inbox, origin: Origin) -> None:
        inbox.rubbish(problem.message, origin)
        if problem.answers and problem.id is not None:
            inbox.message(answer_instead(problem.id, problem.message), origin)

    def say(self, message: bytes) -> None:
        self._said(message, PIPE)

    def hang_up(self, detail: str) -> None:
        inbox, self._inbox = self._inbox, None
        self._gone = detail
        self._hosted.closed()
        for task in self._handling.values():
            task.cancel()
        if inbox is not None:
            inbox.lost(BackendUnavailable(self.server, detail))

    async def close(self) -> None:
        self._inbox = None
        self._gone = "the connection was closed"
        self._hosted.closed()
        await self._tasks.close()
