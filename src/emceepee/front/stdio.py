"""One client on one pair of pipes, both eras in turn, message by message.

It reads lines, starts each request as its own task and writes answers whole, in the order in which they are ready. The
pipes themselves are in `front/pipes.py`. The one rule: end of input ends everything that this client has started, and a
client that does not read what we write is not read either.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from emceepee.eras.choose import choose_pipe
from emceepee.eras.modern import towards_client as modern
from emceepee.eras.revisions import LATEST_LEGACY, accepts_batches
from emceepee.errors import LimitReached
from emceepee.framing.json_text import Limits, Unreadable, read_messages
from emceepee.framing.lines import LineReader, Overlong
from emceepee.front import answers
from emceepee.front.deliveries import Deliveries
from emceepee.front.legacy import LegacyDesk, cancelled_id, not_initialized
from emceepee.front.modern import LISTEN, Listening, ModernDesk
from emceepee.front.outbox import Outbox
from emceepee.front.shop import Shop
from emceepee.front.standing import Standing
from emceepee.protocol.messages import (
    INVALID_REQUEST,
    Message,
    Notification,
    Request,
    RequestId,
    write_failure,
    write_notification,
)
from emceepee.relay.surface import Surface
from emceepee.runtime.spawn import TaskScope
from emceepee.sessions.directory import Directory
from emceepee.sessions.in_flight import InFlight, until_called_off
from emceepee.sessions.session import Session
from emceepee.vocabulary.names import LOCAL
from emceepee.vocabulary.raw_json import write

_log = logging.getLogger("emceepee.front")

Read: TypeAlias = Callable[[], Awaitable[bytes]]
"""The next bytes, whatever there is; empty at the end of input."""
Write: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Waits while the client does not read; raises `OSError` when it is gone."""

PATH = "/mcp"
_FULL = 64
"""Messages that may wait to be written before we stop reading."""


class StdioFront:
    """`run` once; it returns at end of input, after `stop`, or when nobody reads our output any more."""

    def __init__(self, shop: Shop, directory: Directory, surface: Surface, read: Read, write_bytes: Write) -> None:
        self._shop = shop
        self._surface = surface
        self._read = read
        self._tasks = TaskScope("stdio")
        self._outbox = Outbox(shop.tasks, write_bytes)
        self._limits = Limits(max_bytes=shop.settings.max_body, max_depth=shop.settings.max_depth)
        self._legacy = LegacyDesk(shop, directory)
        self._modern = ModernDesk(shop)
        self._session: Session | None = None
        self._modern_in_flight = InFlight(directory.settings.max_in_flight)
        self._listening: dict[RequestId, Listening] = {}
        self._stopping = asyncio.Event()

    def __len__(self) -> int:
        """Requests and streams that are open."""
        return len(self._tasks) + len(self._listening)

    async def run(self) -> None:
        reading = self._shop.tasks.spawn(self._read_all(), "stdin")
        stopping = self._shop.tasks.spawn(self._stopping.wait(), "stop")
        try:
            await asyncio.wait((reading, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            reading.cancel()
            await self._end()

    def stop(self) -> None:
        """Go down although there is more input: streams end with their result."""
        self._stopping.set()

    async def _read_all(self) -> None:
        lines = LineReader(self._limits)
        while not self._outbox.broken:
            chunk = await self._read()
            if not chunk:
                break
            for line in lines.feed(chunk):
                await self._take(line)
        rest = lines.end()
        if rest is not None:
            await self._take(rest)
        if self._tasks:
            # Whoever pipes a few requests in and closes still wants the answers that are nearly there.
            left = await self._tasks.settle(self._shop.settings.after_eof)
            if left:
                _log.info("client_left_calls_behind", extra={"data": {"calls": left}})

    async def _end(self) -> None:
        """Calls first, then streams with their results, what is written, then the session."""
        await self._tasks.close()
        for listening in list(self._listening.values()):
            listening.end()
            await self._modern.ended(listening)
        self._listening.clear()
        self._outbox.finish()
        try:
            async with asyncio.timeout(self._shop.settings.drain):
                await self._outbox.flushed()
        except TimeoutError:
            self._outbox.abandon()
        if self._session is not None:
            # Its connections close together with all others, which the gateway waits for.
            self._legacy.end(self._session)

    async def _take(self, line: bytes | Overlong) -> None:
        """One line. Returns when the next may be read."""
        if len(self._outbox) >= _FULL:
            await self._outbox.flushed()
        if isinstance(line, Overlong):
            self._write(write_failure(None, INVALID_REQUEST, f"The message is larger than {line.limit} bytes"))
            return
        try:
            message = read_messages(line, self._limits)
        except Unreadable as problem:
            self._unreadable(problem)
            return
        if isinstance(message, list):
            self._batch(message)
        elif choose_pipe(message) == "modern":
            self._take_modern(message)
        else:
            await self._take_legacy(message)

    def _unreadable(self, problem: Unreadable) -> None:
        # An answer of theirs that cannot be read is not answered: they would take ours for a request's.
        if not problem.answers:
            self._write(answers.unreadable(problem))

    async def _take_legacy(self, message: Message) -> None:
        session = self._session
        if isinstance(message, Notification):
            self._told(message)
        elif not isinstance(message, Request):
            if session is not None:
                self._legacy.answered(session, message)
        elif message.method == "initialize":
            # Read on only when it is answered: clients write `initialized` and more right behind it.
            await self._hello(message)
        elif session is not None:
            self._tasks.spawn(self._legacy_request(session, message), "request")
        elif message.method == "ping":
            self._write(b'{"jsonrpc":"2.0","id":' + write(message.id) + b',"result":{}}')
        else:
            self._write(not_initialized(message.id))

    async def _hello(self, request: Request) -> None:
        old = self._session
        try:
            session, answer = await self._legacy.hello(self._surface, PATH, request, LOCAL)
        except LimitReached as limit:
            session, answer = None, answers.legacy_error(request.id, limit, request.method, LATEST_LEGACY)
        if session is not None:
            self._session = session
            Standing.of(session).open(_LegacyOutlet(self._write_notice, self._write))
            if old is not None:
                self._legacy.end(old)
        self._write(answer)

    def _told(self, notification: Notification) -> None:
        """A notification without an envelope; a cancellation may mean a request of either era."""
        session = self._session
        if notification.method == "notifications/cancelled":
            request_id = cancelled_id(notification)
            if request_id is not None and self._call_off(request_id):
                return
        if session is None:
            return
        self._legacy.told(self._surface, session, notification)
        if notification.method == "notifications/initialized":
            start = Standing.of(session).start(self._surface)
            self._shop.tasks.spawn(answers.logged(start, "listen_failed"), "listen")

    def _call_off(self, request_id: RequestId) -> bool:
        """Whether it was a request of the client's."""
        if self._session is not None and self._session.in_flight.call_off(request_id):
            return True
        if self._modern_in_flight.call_off(request_id):
            return True
        listening = self._listening.pop(request_id, None)
        if listening is not None:
            self._shop.tasks.spawn(self._modern.ended(listening), "end listen")
        return listening is not None

    async def _legacy_request(self, session: Session, request: Request) -> None:
        voice, deliveries = _Voice(request.id, self._write_notice, self._write), Deliveries()
        try:
            answer = await self._legacy.answer(self._surface, session, request, voice, deliveries.promise, voice)
            voice.over = True
            if answer is not None:
                await self._answer(answer, deliveries)
        finally:
            deliveries.settle(False)

    def _batch(self, items: list[Message | Unreadable]) -> None:
        session = self._session
        if session is None or not accepts_batches(session.revision) or len(items) > self._shop.settings.max_batch:
            self._write(write_failure(None, INVALID_REQUEST, "Batches are served at 2025-03-26 and older only"))
            return
        self._tasks.spawn(self._batch_answered(session, items), "batch")

    async def _batch_answered(self, session: Session, items: list[Message | Unreadable]) -> None:
        told: list[bytes] = []
        running: list[asyncio.Task[bytes | None]] = []
        deliveries = Deliveries()
        for item in items:
            if isinstance(item, Unreadable):
                told.append(answers.unreadable(item))
            elif isinstance(item, Notification):
                self._told(item)
            elif isinstance(item, Request) and item.method == "initialize":
                told.append(write_failure(item.id, INVALID_REQUEST, "initialize must not be part of a batch"))
            elif isinstance(item, Request):
                voice = _Voice(item.id, self._write_notice, self._write)
                work = self._legacy.answer(self._surface, session, item, voice, deliveries.promise, voice)
                running.append(self._tasks.spawn(work, "batch member"))
        try:
            told.extend(answer for answer in await asyncio.gather(*running) if answer is not None)
            if told:
                await self._answer(b"[" + b",".join(told) + b"]", deliveries)
        finally:
            deliveries.settle(False)

    def _take_modern(self, message: Message) -> None:
        if not isinstance(message, Request | Notification):
            return
        refusal = modern.check(message, None)
        if isinstance(message, Notification):
            if refusal is None and message.method == "notifications/cancelled":
                self._told(message)
        elif refusal is not None:
            self._write(answers.refusal(refusal)[1])
        elif message.method == LISTEN:
            self._tasks.spawn(self._listen(message), "listen")
        else:
            self._tasks.spawn(self._modern_request(message), "request")

    async def _modern_request(self, request: Request) -> None:
        voice, deliveries = _Voice(request.id, self._write_notice, self._write), Deliveries()
        try:
            running = self._modern_in_flight.begin(request.id)
        except Exception as error:  # noqa: BLE001 -- the wall
            await self._answer(answers.modern_error(request.id, error, request.method)[1])
            return
        try:
            work = self._modern.answer(self._surface, request, LOCAL, voice, deliveries.promise)
            ended = await until_called_off(running, work)
        finally:
            voice.over = True
            self._modern_in_flight.finish(request.id)
        try:
            if ended is not None:
                await self._answer(ended[1], deliveries)
        finally:
            deliveries.settle(False)

    async def _listen(self, request: Request) -> None:
        outlet = _ListenOutlet(request.id, self._write_notice, self._write)
        if request.id in self._listening:
            self._write(write_failure(None, INVALID_REQUEST, "A listen stream with this id is open already"))
            return
        try:
            listening = self._modern.listening(request, outlet)
        except LimitReached as limit:
            self._write(answers.modern_error(request.id, limit, LISTEN)[1])
            return
        self._listening[request.id] = listening
        refused = await answers.modern_check(request, listening.begin(self._surface, LOCAL))
        if refused is not None:
            self._listening.pop(request.id, None)
            await self._modern.ended(listening)
            self._write(refused[1])

    async def _answer(self, message: bytes, deliveries: Deliveries | None = None) -> None:
        """Written before the request's place is given to another: so there are never more waiting than may run."""
        self._write(message)
        await self._outbox.flushed()
        if deliveries is not None:
            deliveries.settle(not self._outbox.broken)

    def _write(self, message: bytes) -> None:
        self._outbox.must(one_line(message))

    def _write_notice(self, message: bytes, key: str | None) -> None:
        self._outbox.notice(one_line(message), key)


def one_line(message: bytes) -> bytes:
    """A relayed payload may be pretty-printed; line ends in JSON are blanks, since strings hold none."""
    if b"\n" in message or b"\r" in message:
        message = message.replace(b"\n", b" ").replace(b"\r", b" ")
    return message + b"\n"


class _Voice:
    """What one request may say before its answer: several requests share the pipe, so the key names it too. Implements
    `asking.Voice`."""

    __slots__ = ("_id", "_must", "_write", "over")

    def __init__(
        self, request_id: RequestId, write_notice: Callable[[bytes, str | None], None], must: Callable[[bytes], None]
    ) -> None:
        self._id = request_id
        self._write = write_notice
        self._must = must
        self.over = False

    def ask(self, message: bytes, key: str, kept: bool) -> bool:
        self._must(message)
        return True

    def __call__(self, message: bytes, key: str | None) -> None:
        if not self.over:
            self._write(message, None if key is None else f"{self._id!r} {key}")


class _LegacyOutlet:
    """`standing.Outlet` of the implicit session."""

    __slots__ = ("answer", "notice")

    def __init__(self, write_notice: Callable[[bytes, str | None], None], must: Callable[[bytes], None]) -> None:
        self.notice = write_notice
        self.answer = must

    def end(self) -> None:
        """The pipe outlives the session."""


class _ListenOutlet:
    """`modern.Outlet` of one listen stream among what else goes over the pipe."""

    __slots__ = ("_id", "_voice", "answer")

    def __init__(
        self,
        request_id: RequestId,
        write_notice: Callable[[bytes, str | None], None],
        write_answer: Callable[[bytes], None],
    ) -> None:
        self._id = request_id
        self._voice = _Voice(request_id, write_notice, write_answer)
        self.answer = write_answer

    def notice(self, message: bytes, key: str | None) -> None:
        self._voice(message, key)

    def end(self) -> None:
        # On a pipe nothing closes with the stream, so clients of either reading of the revision are told.
        self.answer(write_notification("notifications/cancelled", write({"requestId": self._id})))
