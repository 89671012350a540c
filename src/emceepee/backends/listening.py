"""The listen stream to a stateless server: one for the wishes of everybody, made anew when it is lost.

A wider stream is opened before the narrower one is closed, so that nothing falls between them; after a gap nobody knows
what changed, and that is said (`resumed`).

The one rule: at most the newest stream outlives an acknowledgement, and none outlives the last wish.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec import Raw

from emceepee.backends.connection import OnNotice
from emceepee.backends.conversation import Hearing
from emceepee.eras.modern.listen import ACKNOWLEDGED
from emceepee.eras.modern.towards_backend import read_notice
from emceepee.errors import BackendFault
from emceepee.protocol.messages import Failure, Result
from emceepee.runtime.backoff import Backoff
from emceepee.runtime.clock import Clock
from emceepee.runtime.spawn import TaskScope
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.notices import NOTHING, Interest, Notice

_log = logging.getLogger("emceepee.backends")

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0

Ask: TypeAlias = Callable[[Interest, Hearing], Awaitable[Result | Failure]]


class Listening:
    """`wish` says what is wanted now; `on_notice` and `resumed` are called back."""

    def __init__(self, server: str, ask: Ask, clock: Clock, on_notice: OnNotice, resumed: Callable[[], None]) -> None:
        self._server = server
        self._ask: Ask | None = ask
        self._clock = clock
        self._on_notice = on_notice
        self._resumed = resumed
        self._tasks = TaskScope(f"listening:{server}")
        self._streams: dict[int, asyncio.Task[None]] = {}
        self._begun = itertools.count(1)
        self._wished = NOTHING
        self._newest: _StreamHearing | None = None

    def wish(self, interest: Interest) -> None:
        if interest == self._wished:
            return
        self._wished = interest
        if interest == NOTHING:
            self._end(list(self._streams))
        else:
            number = next(self._begun)
            self._streams[number] = self._tasks.spawn(self._listen(number, interest), "stream")

    def acknowledged_elsewhere(self, params: Raw | None) -> None:
        """Over a pipe the acknowledgement comes without a stream of its own; it means the newest."""
        if self._newest is not None:
            self._newest.told(ACKNOWLEDGED, params)

    def replaces(self, stream: int) -> None:
        """This stream delivers; the ones before it have done their work."""
        if stream in self._streams:
            self._end([number for number in self._streams if number < stream])

    def _end(self, streams: list[int]) -> None:
        for number in streams:
            self._streams.pop(number).cancel()

    async def _listen(self, number: int, interest: Interest) -> None:
        """By number, not by task: a cancelled task keeps its frames, and must not be in one of them."""
        backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        ask, delivered = self._ask, False
        while ask is not None:
            hearing = self._newest = _StreamHearing(self, number, self._on_notice, self._resumed if delivered else None)
            try:
                answer = await ask(interest, hearing)
                if isinstance(answer, Failure):
                    _log.info("listen_refused", extra={"data": {"server": self._server, "code": answer.error.code}})
                    return
            except BackendFault as fault:
                _log.info("listen_lost", extra={"data": {"server": self._server, "error": fault.detail}})
            delivered = delivered or hearing.acknowledged
            if hearing.acknowledged:
                backoff.reset()
            await self._clock.sleep(backoff.next())

    async def close(self) -> None:
        """Idempotent. Whoever is called back holds us, so we let go of him."""
        self._streams.clear()
        await self._tasks.close(grace=1.0)
        self._newest = None
        self._ask, self._on_notice, self._resumed = None, _to_nobody, _to_nobody


class _StreamHearing:
    """Hears one stream: its acknowledgement first, changes after it."""

    __slots__ = ("_listening", "_on_notice", "_resumed", "_stream", "acknowledged")
    takes_logs = False
    seen: str | None = None
    call: Call | None = None

    def __init__(
        self,
        listening: Listening,
        stream: int,
        on_notice: OnNotice,
        resumed: Callable[[], None] | None,
    ) -> None:
        self._listening = listening
        self._stream = stream
        self._on_notice = on_notice
        self._resumed = resumed
        self.acknowledged = False

    def progress(self, params: Raw) -> None:
        """A stream has none."""

    def told(self, method: str, params: Raw | None) -> None:
        if method != ACKNOWLEDGED:
            notice = read_notice(method, params)
            if notice is not None:
                self._on_notice(notice)
        elif not self.acknowledged:
            self.acknowledged = True
            self._listening.replaces(self._stream)
            if self._resumed is not None:
                self._resumed()


def _to_nobody(*_: Notice) -> None: ...
