"""What one legacy session receives unasked: its standing wish at the surface, and the stream it goes out on.

It opens no stream and writes none. The one rule: while no stream is open nothing is lost that matters; "changed" waits,
each once, for the next stream, and only log lines are dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeAlias

from emceepee.eras.legacy import towards_client as legacy
from emceepee.errors import ClientFault, LimitReached
from emceepee.front.kept_stream import KeptStream
from emceepee.front.latest import Latest
from emceepee.front.telling import coalescing_key
from emceepee.protocol.messages import INVALID_REQUEST
from emceepee.relay.surface import Listener, Surface
from emceepee.sessions.session import Session
from emceepee.vocabulary.names import at_least
from emceepee.vocabulary.notices import EVERY_LIST, Interest, LogLine, Notice

Deliver: TypeAlias = Callable[[bytes, str | None], None]


class Outlet(Protocol):
    """Where it goes out: the session's GET stream, or standard output."""

    def notice(self, message: bytes, key: str | None) -> None: ...

    def answer(self, message: bytes) -> None:
        """What must not be dropped."""
        ...

    def end(self) -> None: ...


class Standing:
    """One for each session that listens or subscribes. Implements `sessions.session.Standing`."""

    __slots__ = ("_interest", "_listener", "_lock", "_session", "_unsent", "kept", "outlet")

    def __init__(self, session: Session) -> None:
        self._session: Session | None = session
        self._interest = Interest(EVERY_LIST)
        self._listener: Listener | None = None
        self._lock = asyncio.Lock()
        self._unsent: Latest | None = None
        self.kept: KeptStream | None = None
        """What the stream said, and goes on saying while nobody reads it, where the client may come back for that."""
        self.outlet: Outlet | None = None

    @classmethod
    def of(cls, session: Session) -> Standing:
        if not isinstance(session.standing, Standing):
            session.standing = cls(session)
        return session.standing

    @property
    def busy(self) -> bool:
        return self.outlet is not None

    @property
    def uris(self) -> frozenset[str]:
        return self._interest.uris

    def open(self, outlet: Outlet, caught_up: bool = False) -> None:
        """From now on everything goes here; `caught_up` when it shows by itself what was said meanwhile. Raises
        `ClientFault` when another stream is open already."""
        if self.outlet is not None:
            raise ClientFault(INVALID_REQUEST, "This session has an open stream already; only one is served at a time")
        self.outlet = outlet
        if caught_up:
            self._unsent = None
        self.flush()

    def flush(self) -> None:
        """What has waited goes out, if it may by now."""
        session, outlet = self._session, self.outlet
        if outlet is None or session is None or not session.ready:
            return
        unsent, self._unsent = self._unsent, None
        for key, message in unsent.items() if unsent is not None else ():
            outlet.notice(message, key)

    def closed(self, outlet: Outlet) -> None:
        """This stream is over; the wish stays, so that the next one misses nothing."""
        if self.outlet is outlet:
            self.outlet = None

    async def start(self, surface: Surface) -> None:
        """Make the wish known to the surface, if it is not yet."""
        async with self._lock:
            await self._apply(surface, self._interest)

    async def subscribe(self, surface: Surface, uri: str, limit: int) -> None:
        async with self._lock:
            if uri not in self._interest.uris and len(self._interest.uris) >= limit:
                raise LimitReached("resource subscriptions of one session", limit)
            await self._apply(surface, Interest(self._interest.lists, self._interest.uris | {uri}))

    async def unsubscribe(self, surface: Surface, uri: str) -> None:
        async with self._lock:
            if uri in self._interest.uris:
                await self._apply(surface, Interest(self._interest.lists, self._interest.uris - {uri}))

    async def _apply(self, surface: Surface, interest: Interest) -> None:
        session = self._session
        if session is None:
            return
        if self._listener is None:
            # The first wish is granted as far as it goes; only a change is refused where it cannot be had.
            self._listener = await surface.listen(session.caller, self._interest, self.hear)
            if self._session is None:
                await self._listener.close()
                return
        if interest != self._interest:
            await self._listener.change(interest)
        self._interest = interest

    def hear(self, notice: Notice) -> None:
        """Takes a notice from the surface."""
        session = self._session
        if session is None:
            return
        level = session.log_level
        if isinstance(notice, LogLine):
            if level is not None and not at_least(notice.level, level):
                return
            if notice.tells is not None:
                if self.kept is None:
                    return
                notice.tells()
        message = legacy.write_notice(notice, None, session.revision)
        if message is None:
            return
        key = coalescing_key(notice)
        if self.outlet is not None and session.ready:
            self.outlet.notice(message, key)
            return
        if self.kept is not None:
            self.kept.notice(message, key)
        if key is not None:
            unsent = self._unsent = self._unsent if self._unsent is not None else Latest()
            unsent.put(key, message)

    # -- what its client is asked

    def ask(self, message: bytes, key: str) -> bool:
        """To whoever reads now; whether there is somebody."""
        if self.outlet is None:
            return False
        self.outlet.answer(message)
        return True

    def keep(self, message: bytes, key: str) -> bool:
        """For the next stream that is opened; whether there is room."""
        unsent = self._unsent = self._unsent if self._unsent is not None else Latest()
        if not unsent.put(key, message):
            return False
        if self.kept is not None:
            self.kept.notice(message, key)
        return True

    def settled(self, key: str) -> bool:
        """Nobody needs to see it any more; whether nobody has."""
        return self._unsent is not None and self._unsent.drop(key)

    def end_stream(self) -> None:
        """End the open stream, if there is one; the wish stays."""
        if self.outlet is not None:
            self.outlet.end()
            self.outlet = None

    async def close(self) -> None:
        """The session is over, and holds us: it is let go of."""
        self._session = None
        self.end_stream()
        self._unsent = None
        if self._listener is not None:
            await self._listener.close()
