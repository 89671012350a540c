"""One `text/event-stream` answer: head, events, keep-alive comments, end.

It does not decide when an answer becomes a stream (`front/reply.py`) nor what an event says. The one rule: an idle
stream costs one timer and no task of ours; a pump runs only while something waits to be written.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from emceepee.framing import sse
from emceepee.front.exchange import Exchange, Header
from emceepee.front.outbox import Outbox
from emceepee.front.settings import FrontSettings
from emceepee.runtime.clock import Clock, Timer
from emceepee.runtime.spawn import TaskScope

_log = logging.getLogger("emceepee.front")

HEAD: Final[tuple[Header, ...]] = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    # nginx holds events back otherwise.
    (b"x-accel-buffering", b"no"),
)


class EventStream:
    """Opens with its first event. Implements `sessions.session.Standing`."""

    __slots__ = ("_clock", "_exchange", "_headers", "_outbox", "_settings", "_started", "_timer")

    def __init__(
        self, exchange: Exchange, tasks: TaskScope, clock: Clock, settings: FrontSettings, headers: list[Header]
    ) -> None:
        self._exchange = exchange
        self._clock = clock
        self._settings = settings
        self._headers = headers
        self._started = False
        self._outbox = Outbox(tasks, self._write, self._finish)
        self._timer: Timer | None = clock.after(settings.keep_alive, self._keep_alive)

    @property
    def ended(self) -> bool:
        return self._outbox.ending

    @property
    def moved(self) -> bool:
        """Whether it goes on at another connection: never; that takes a kept stream."""
        return False

    @property
    def broken(self) -> bool:
        """Whether something could not be written."""
        return self._outbox.broken

    @property
    def waiting(self) -> int:
        """Events not written yet."""
        return len(self._outbox)

    def open(self) -> None:
        """Send the head now, with a comment, so that the client knows it is connected."""
        self._outbox.notice(sse.COMMENT, None)

    def notice(self, message: bytes, key: str | None) -> None:
        self._outbox.notice(sse.write_event(message), key)

    def answer(self, message: bytes) -> None:
        """A response, after everything that was noticed before it."""
        self._outbox.must(sse.write_event(message))

    def end(self) -> None:
        """What waits is still sent. Idempotent."""
        self._stop_timer()
        self._outbox.finish()

    def client_left(self) -> None:
        """Nobody reads any more."""
        self._stop_timer()
        self._outbox.abandon()

    async def finished(self) -> None:
        """After `end`: until the client has taken everything, at most the stall limit."""
        try:
            async with asyncio.timeout(self._settings.stalled_after):
                await self._outbox.flushed()
        except TimeoutError:
            _log.warning("client_does_not_read", extra={"data": {"unsent": len(self._outbox)}})
            self._outbox.abandon()

    async def _finish(self) -> None:
        await self._start()
        await self._exchange.end()

    async def _start(self) -> None:
        if not self._started:
            self._started = True
            await self._exchange.start(200, [*HEAD, *self._headers])

    async def _write(self, chunk: bytes) -> None:
        await self._start()
        await self._exchange.write(chunk)

    def _keep_alive(self) -> None:
        # A comment behind unread events would tell nobody anything.
        if self._outbox.idle:
            self._outbox.notice(sse.COMMENT, None)
        self._timer = self._clock.after(self._settings.keep_alive, self._keep_alive)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
