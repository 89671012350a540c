"""One connection that shows a kept stream: from a place on, as far as it goes, and on while it grows.

What is kept, and for how long, is `front/kept_streams.py`'s. The one rule: everything shown was kept first, in order
and under its own id, so a client that is cut off can say what it saw last.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from emceepee.framing import sse
from emceepee.front.exchange import Exchange, Header
from emceepee.front.kept_stream import STANDING, KeptStream
from emceepee.front.shop import Shop
from emceepee.front.stream import HEAD
from emceepee.protocol.messages import write_notification
from emceepee.runtime.clock import Timer
from emceepee.vocabulary.raw_json import to_raw

_log = logging.getLogger("emceepee.front")

_CHUNK: Final = 64 * 1024

_COMMENT: Final = sse.COMMENT.removesuffix(b"\n")
"""Without the blank line: some readers that have seen an id take that for an event without data."""

GAP: Final = "messages_dropped"


class ResumableStream:
    """Implements `sessions.session.Standing` and `front.standing.Outlet`, and what `front.reply` wants of a stream. It
    writes nothing before there is something to say."""

    __slots__ = ("_broken", "_ending", "_exchange", "_headers", "_opening", "_place", "_pump", "_retry", "_shop",
                 "_started", "_stream", "_timer", "_told_gap")  # fmt: skip

    def __init__(
        self,
        exchange: Exchange,
        shop: Shop,
        stream: KeptStream,
        *,
        after: int,
        primed: bool,
        headers: list[Header] | None = None,
    ) -> None:
        self._exchange = exchange
        self._shop = shop
        self._stream = stream
        self._place = after
        self._headers = headers or []
        self._retry: int | None = shop.settings.retry_ms
        self._opening = b""
        if primed:
            self._opening, self._retry = sse.write_event(b"", id=stream.event_id(after), retry=self._retry), None
        self._told_gap = 0
        self._started = self._ending = self._broken = False
        self._pump: asyncio.Task[None] | None = None
        self._timer: Timer | None = shop.clock.after(shop.settings.keep_alive, self._keep_alive)
        stream.show_on(self)
        if after < stream.last or stream.ended:
            self.kick()

    # -- what the others see

    @property
    def ended(self) -> bool:
        return self._ending

    @property
    def moved(self) -> bool:
        """Whether the client takes the stream from another connection by now."""
        return self._stream.showing is not None and self._stream.showing is not self

    @property
    def broken(self) -> bool:
        """Whether the client has not been written all of it, wherever it took it from."""
        return not self._stream.answered

    @property
    def unread(self) -> bool:
        """Whether nobody reads it at this moment."""
        return self._stream.showing is None or (self._stream.showing is self and self._exchange.left is True)

    def open(self) -> None:
        """Send the head now, so that the client knows it is connected."""
        self._opening = self._opening or _COMMENT
        self.kick()

    def notice(self, message: bytes, key: str | None) -> None:
        self._stream.notice(message, key)

    def answer(self, message: bytes) -> None:
        self._stream.answer(message)

    def end(self) -> None:
        """What waits is still sent. A stream that answers a request is over then; the standing one is only shown here
        no more. Idempotent."""
        if self._stream.number != STANDING:
            self._stream.end()
        elif not self._ending:
            self._ending = True
            self.kick()

    def client_left(self) -> None:
        """Nobody reads any more."""
        self._broken = True
        self._over()
        if self._pump is not None:
            self._pump.cancel()

    async def finished(self) -> None:
        """After `end`: until the client has taken everything, at most the stall limit."""
        showing = self._stream.showing
        if isinstance(showing, ResumableStream):
            await showing.flushed()

    async def flushed(self) -> None:
        pump = self._pump
        if pump is None:
            return
        _, unfinished = await asyncio.wait((pump,), timeout=self._shop.settings.stalled_after)
        if unfinished:
            _log.warning("client_does_not_read", extra={"data": {"unsent": self._stream.last - self._place}})
            self.client_left()

    # -- from the stream

    def kick(self) -> None:
        if self._pump is None and not self._broken:
            self._pump = self._shop.tasks.spawn(self._run(), "resumable stream")

    def replaced(self) -> None:
        """End without another word; idle or not, this connection is of no more use."""
        self._ending = True
        self._over()
        self.kick()

    # -- writing

    async def _run(self) -> None:
        try:
            while chunk := self._next_chunk():
                await self._write(chunk)
            if self._complete():
                await self._finish()
        except OSError as error:
            _log.debug("client_went_away", extra={"data": {"error": type(error).__name__}})
            self._broken = True
            self._over()
        finally:
            self._pump = None

    def _complete(self) -> bool:
        return not self._broken and (self._ending or self._stream.ended)

    async def _finish(self) -> None:
        await self._start()
        if self._exchange.left:
            raise ConnectionResetError
        await self._exchange.end()
        if self._stream.showing is self and self._stream.ended:
            self._stream.answered = True
        self._over()

    async def _start(self) -> None:
        if not self._started:
            self._started = True
            await self._exchange.start(200, [*HEAD, *self._headers])

    async def _write(self, chunk: bytes) -> None:
        await self._start()
        await self._exchange.write(chunk)
        if self._exchange.left:
            raise ConnectionResetError
        if self._stream.showing is self:
            self._stream.shown = self._place

    def _next_chunk(self) -> bytes:
        """What to write next, moving on behind it; empty when there is nothing now."""
        if self._stream.showing is not self:
            return b""
        parts = [self._opening] if self._opening else []
        self._opening = b""
        if self._place < self._stream.dropped != self._told_gap:
            self._told_gap = self._stream.dropped
            parts.append(self._event(_gap(), self._place))
        size = 0
        for place, message in self._stream.after(self._place):
            if size and size + len(message) > _CHUNK:
                break
            parts.append(self._event(message, place))
            size += len(message)
            self._place = place
        return b"".join(parts)

    def _event(self, message: bytes, place: int) -> bytes:
        retry, self._retry = self._retry, None
        return sse.write_event(message, id=self._stream.event_id(place), retry=retry)

    def _keep_alive(self) -> None:
        if self._exchange.left:
            self.client_left()
            return
        # A comment behind unread events would tell nobody anything.
        if self._pump is None:
            self._opening = _COMMENT
            self.kick()
        self._timer = self._shop.clock.after(self._shop.settings.keep_alive, self._keep_alive)

    def _over(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._stream.shown_no_more(self)


def _gap() -> bytes:
    """Said in place of what had to go, so that nothing is missing in silence."""
    told = {"event": GAP, "message": "Some messages of this stream were dropped before they could be sent"}
    return write_notification("notifications/message", to_raw({"level": "warning", "logger": "emceepee", "data": told}))
