"""The answer to one POST, while it is still open what form it takes.

It does not know what is asked or by whom. The one rule: JSON while nothing was streamed; the first notice, or silence
for too long, makes it an event stream, and from then on the status is 200. The plain way starts no task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from emceepee.eras.revisions import primes_streams, resumes_streams
from emceepee.front.deliveries import Deliveries
from emceepee.front.exchange import Exchange, Header
from emceepee.front.guards import Acceptable
from emceepee.front.resumable import ResumableStream
from emceepee.front.shop import Shop
from emceepee.front.stream import EventStream
from emceepee.runtime.clock import Timer
from emceepee.sessions.session import Session

_LOOKS: Final = 3
"""Turns of the loop until a connection that was closed before them is known to be."""

_JSON: Final[Header] = (b"content-type", b"application/json")


class Reply:
    """One of `answer` and `nothing` ends it."""

    __slots__ = (
        "_acceptable", "_done", "_exchange", "_headers", "_on_gone", "_session", "_shop", "_timer", "_watcher",
        "deliveries", "stream",
    )  # fmt: skip

    def __init__(
        self,
        exchange: Exchange,
        shop: Shop,
        acceptable: Acceptable,
        headers: list[Header] | None = None,
        session: Session | None = None,
    ) -> None:
        """`session` is whose client may come back for the stream, if it becomes one and is lost."""
        self._exchange = exchange
        self._shop = shop
        self._acceptable = acceptable
        self._headers = headers or []
        self._session = session
        self._timer: Timer | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._on_gone: Callable[[], None] | None = None
        self._done = False
        self.stream: EventStream | ResumableStream | None = None
        self.deliveries = Deliveries()

    def watch(self, on_gone: Callable[[], None]) -> None:
        """Call back when the client goes away before the answer. Looked for only once the call has waited a while,
        because most calls end before that, and looking costs a task."""
        self._on_gone = on_gone
        self._timer = self._shop.clock.after(self._shop.settings.watch_after, self._look)

    def keep_alive(self) -> None:
        """From now on silence makes it a stream, where the client takes one."""
        self._timer = self._shop.clock.after(self._shop.settings.keep_alive, self.silent)

    def notice(self, message: bytes, key: str | None) -> None:
        """Something on the way to the answer; dropped when the client takes no events."""
        if not self._done and self._acceptable.events:
            self._commit().notice(message, key)

    def ask(self, message: bytes, key: str, kept: bool) -> bool:
        """Implements `front.asking.Voice`."""
        if self._done or not self._acceptable.events:
            return False
        stream = self._commit()
        if stream.broken if isinstance(stream, EventStream) else stream.unread and not kept:
            return False
        stream.answer(message)
        return True

    async def answer(self, status: int, message: bytes) -> None:
        self._close()
        if not self.deliveries:
            await self._written(status, message)
            return
        arrived = False
        # A stream that moved is read elsewhere by now.
        moved = self.stream is not None and self.stream.moved
        will_be_known = not moved and self._exchange.on_read(self.deliveries.settle)
        try:
            there = not await self._client_left()
            await self._written(status, message)
            arrived = there and (self.stream is None or not self.stream.broken)
        finally:
            if not arrived or not will_be_known:
                self.deliveries.settle(arrived)

    async def _client_left(self) -> bool:
        """Whether it has gone already. Servers of HTTP take what is written to nobody without a word, so it is looked
        for; only where something depends on it."""
        if self.stream is not None and self.stream.moved:
            return False
        left = self._exchange.left
        if left is not None:
            return left
        gone = self._shop.tasks.spawn(self._exchange.gone(), "is the client there")
        for _ in range(_LOOKS):
            await asyncio.sleep(0)
        left = gone.done() and not gone.cancelled()
        gone.cancel()
        return left

    async def _written(self, status: int, message: bytes) -> None:
        if self.stream is None and self._acceptable.json:
            headers = [_JSON, (b"content-length", b"%d" % len(message)), *self._headers]
            await self._exchange.answer(status, headers, message)
            return
        stream = self._commit()
        stream.answer(message)
        stream.end()
        await stream.finished()

    async def nothing(self) -> None:
        """The request was called off: it is never answered, but the exchange has to end."""
        self._close()
        self.deliveries.settle(False)
        if self.stream is None and not self._acceptable.events:
            await self._exchange.answer(202, [(b"content-length", b"0"), *self._headers], b"")
            return
        # Nobody comes back for a stream that has nothing to say.
        self._session = None
        stream = self._commit()
        stream.end()
        await stream.finished()

    def drop(self) -> None:
        """The client is gone: nothing is written any more."""
        self._close()
        self.deliveries.settle(False)
        if self.stream is not None:
            self.stream.client_left()

    def _commit(self) -> EventStream | ResumableStream:
        if self.stream is None:
            shop = self._shop
            self.stream = self._resumable() or EventStream(
                self._exchange, shop.tasks, shop.clock, shop.settings, self._headers
            )
        return self.stream

    def _resumable(self) -> ResumableStream | None:
        session, shop = self._session, self._shop
        if session is None or not resumes_streams(session.revision):
            return None
        kept = shop.kept_streams.of(session).open()
        if kept is None:
            return None
        primed = primes_streams(session.revision)
        return ResumableStream(self._exchange, shop, kept, after=0, primed=primed, headers=self._headers)

    def _close(self) -> None:
        self._done = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None

    def _look(self) -> None:
        self._watcher = self._shop.tasks.spawn(self._watch(), "watch client")
        self.keep_alive()

    async def _watch(self) -> None:
        await self._exchange.gone()
        self._watcher = None
        if not self._done and self._on_gone is not None:
            self._on_gone()

    def silent(self) -> None:
        """For too long: the client is shown that somebody is there."""
        self._timer = None
        if not self._done and self._acceptable.events and self.stream is None:
            self._commit().open()
