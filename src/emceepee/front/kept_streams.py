"""The kept streams of each session and of all together: opened, found again by the id of an event, bounded.

What one of them holds is `front/kept_stream.py`'s. The one rule: an id leads to a stream of its own session or to none;
and whatever is full, the oldest that is over goes first.
"""

from __future__ import annotations

import hashlib
from typing import TypeAlias

from emceepee.front.kept_stream import STANDING, KeptStream
from emceepee.front.settings import FrontSettings
from emceepee.runtime.clock import Clock
from emceepee.sessions.session import Session

Found: TypeAlias = tuple[KeptStream, int]
"""A stream, and the place the client knows it to."""


class TooOld(Exception):
    """The stream was this session's; what it said is kept no longer."""


class SessionStreams:
    """Of one session. Implements `sessions.session.Streams`."""

    __slots__ = ("_all", "_next", "_streams", "bytes", "tag")

    def __init__(self, everybody: KeptStreams, session: Session) -> None:
        self._all = everybody
        self._streams: dict[int, KeptStream] = {}
        self._next = STANDING + 1
        self.bytes = 0
        # So that the id of another session's event is known to be one; the session's own id is a secret.
        self.tag = hashlib.blake2s(session.id.encode(), digest_size=4).hexdigest()

    def standing(self) -> KeptStream:
        """The one of GET, which ends with the session."""
        stream = self._streams.get(STANDING)
        if stream is None:
            stream = self._streams[STANDING] = KeptStream(self, STANDING)
        return stream

    def open(self) -> KeptStream | None:
        """One for the answer to a request, or None when too many are being answered."""
        self._all.forget_old()
        while len(self._streams) > self._all.settings.max_kept_streams:
            oldest = next((one for one in self._streams.values() if one.ended and one.showing is None), None)
            if oldest is None:
                return None
            self.drop(oldest)
        stream = self._streams[self._next] = KeptStream(self, self._next)
        self._next += 1
        return stream

    def find(self, event_id: str) -> Found | None:
        """Where the client was; None for an id that is not of this session. Raises `TooOld`."""
        tag, number, place = _read_id(event_id)
        if tag != self.tag or number >= self._next:
            return None
        stream = self._streams.get(number)
        if stream is None:
            raise TooOld
        return (stream, place) if place <= stream.last else None

    # -- from the streams

    def count(self, stream: KeptStream, size: int) -> None:
        stream.bytes += size
        self.bytes += size
        self._all.bytes += size

    def grew(self, stream: KeptStream) -> None:
        settings = self._all.settings
        if len(stream) > settings.max_kept_messages:
            stream.drop_oldest()
        while self.bytes > settings.max_kept_bytes and self._make_room(stream):
            pass
        self._all.make_room(stream)

    def _make_room(self, stream: KeptStream) -> bool:
        over = next((one for one in self._streams.values() if one.ended and one.showing is None), None)
        if over is not None:
            self.drop(over)
            return True
        return max(self._streams.values(), key=lambda one: one.bytes).drop_oldest() or stream.drop_oldest()

    def at_rest(self, stream: KeptStream) -> None:
        if self._streams.get(stream.number) is stream:
            self._all.at_rest(stream, self)

    def taken_up(self, stream: KeptStream) -> None:
        self._all.taken_up(stream)

    def drop(self, stream: KeptStream) -> None:
        self._all.taken_up(stream)
        if self._streams.pop(stream.number, None) is not None:
            self.count(stream, -stream.bytes)

    def close(self) -> None:
        """The session is over: what is being shown ends, the rest is forgotten."""
        for stream in list(self._streams.values()):
            stream.end()
            self.drop(stream)


class KeptStreams:
    """Of the whole process: one total, and what is over in the order in which it ended."""

    def __init__(self, settings: FrontSettings, clock: Clock) -> None:
        self.settings = settings
        self.bytes = 0
        self._clock = clock
        self._at_rest: dict[KeptStream, tuple[float, SessionStreams]] = {}

    def of(self, session: Session) -> SessionStreams:
        if not isinstance(session.streams, SessionStreams):
            session.streams = SessionStreams(self, session)
        return session.streams

    def at_rest(self, stream: KeptStream, of: SessionStreams) -> None:
        self._at_rest[stream] = (self._clock.now(), of)
        self.make_room(stream)

    def taken_up(self, stream: KeptStream) -> None:
        self._at_rest.pop(stream, None)

    def forget_old(self) -> None:
        """What ended long ago: whoever wanted it has come for it."""
        oldest = self._clock.now() - self.settings.kept_for
        while self._at_rest:
            stream, (since, of) = next(iter(self._at_rest.items()))
            if since > oldest:
                return
            of.drop(stream)

    def make_room(self, newest: KeptStream) -> None:
        while self.bytes > self.settings.max_kept_total:
            stream = next(iter(self._at_rest), None)
            if stream is not None:
                self._at_rest[stream][1].drop(stream)
            elif not newest.drop_oldest():
                return


def _read_id(event_id: str) -> tuple[str, int, int]:
    tag, _, rest = event_id.partition(".")
    number, _, place = rest.partition(".")
    if not (number.isdecimal() and place.isdecimal() and len(rest) <= 32 and rest.isascii()):
        return "", 0, 0
    return tag, int(number), int(place)
