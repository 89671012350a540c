"""What one event stream of a legacy session said, kept for a client that lost it in the middle.

It writes to no connection (`front/resumable.py` does) and shares nothing with the events of a workspace: here are the
JSON-RPC messages of the wire.

The one rule: a message keeps its place in its stream for ever; what had to go is never replaced by another, so a gap
can be told.
"""

from __future__ import annotations

from typing import Final, Protocol

_BEHIND: Final = 128
"""Messages nobody was shown yet, from which on only the latest of each key is kept."""

STANDING: Final = 0
"""The number of the GET stream among the streams of its session."""


class Showing(Protocol):
    """The connection a stream is shown on."""

    def kick(self) -> None:
        """Something is new: a message, or the end."""
        ...

    def replaced(self) -> None:
        """The client came back on another connection."""
        ...


class Keeper(Protocol):
    """Who bounds the streams: of one session, and with it of all."""

    tag: str

    def count(self, stream: KeptStream, size: int) -> None:
        """So many bytes more, or less."""
        ...

    def grew(self, stream: KeptStream) -> None:
        """It has a new message; now is the time to make room."""
        ...

    def at_rest(self, stream: KeptStream) -> None:
        """It is over, and nobody looks at it."""
        ...

    def taken_up(self, stream: KeptStream) -> None: ...


class KeptStream:
    """`last` is the place of the newest message, the first is 1. `answered` says that all of it, to its end, was
    written to a connection that was there."""

    __slots__ = (
        "_kept",
        "_latest",
        "_of",
        "_plain",
        "answered",
        "bytes",
        "dropped",
        "ended",
        "last",
        "number",
        "showing",
        "shown",
    )  # fmt: skip

    def __init__(self, of: Keeper, number: int) -> None:
        self._of = of
        self.number = number
        self._kept: dict[int, tuple[bytes, str | None]] = {}
        # Of those: what may go first, and the newest of each key.
        self._plain: dict[int, None] = {}
        self._latest: dict[str, int] = {}
        self.bytes = 0
        self.last = 0
        self.shown = 0
        self.dropped = 0
        """The highest place that had to go; whoever was shown less has missed something."""
        self.ended = False
        self.answered = False
        self.showing: Showing | None = None

    def __len__(self) -> int:
        return len(self._kept)

    def event_id(self, place: int) -> str:
        return f"{self._of.tag}.{self.number}.{place}"

    def after(self, place: int) -> list[tuple[int, bytes]]:
        """What is kept behind that place, in order. Costs what it returns."""
        found = []
        for number, (data, _) in reversed(self._kept.items()):
            if number <= place:
                break
            found.append((number, data))
        found.reverse()
        return found

    # -- growing

    def notice(self, data: bytes, key: str | None) -> None:
        """What can be said again later has a key; what has none goes first when room is needed."""
        if self.ended:
            return
        if key is not None:
            before = self._latest.get(key, 0)
            if before > self.shown and self.last - self.shown >= _BEHIND:
                self._forget(before)
        self._add(data, key)
        if key is None:
            self._plain[self.last] = None
        else:
            self._latest[key] = self.last
        self._of.grew(self)

    def answer(self, data: bytes) -> None:
        """The one message that the stream exists for."""
        if not self.ended:
            self._add(data, None)
            self._of.grew(self)

    def _add(self, data: bytes, key: str | None) -> None:
        self.last += 1
        self._kept[self.last] = (data, key)
        self._of.count(self, len(data))
        if self.showing is not None:
            self.showing.kick()

    def end(self) -> None:
        """Nothing follows. Idempotent."""
        if not self.ended:
            self.ended = True
            if self.showing is not None:
                self.showing.kick()
            else:
                self._of.at_rest(self)

    # -- shrinking

    def drop_oldest(self) -> bool:
        """Make room: what was shown, then what cannot be said again; never the newest, which somebody waits for.
        Whether anything went."""
        if len(self._kept) <= 1:
            return False
        place = next(iter(self._kept))
        if place > self.shown:
            place = next((one for one in self._plain if one != self.last), place)
        self.dropped = max(self.dropped, place)
        self._forget(place)
        return True

    def _forget(self, place: int) -> None:
        data, key = self._kept.pop(place)
        self._plain.pop(place, None)
        if key is not None and self._latest.get(key) == place:
            del self._latest[key]
        self._of.count(self, -len(data))

    # -- whoever shows it

    def show_on(self, showing: Showing) -> None:
        """From now on here, and nowhere else."""
        before, self.showing = self.showing, showing
        self._of.taken_up(self)
        if before is not None:
            before.replaced()

    def shown_no_more(self, showing: Showing) -> None:
        if self.showing is showing:
            self.showing = None
            if self.ended:
                self._of.at_rest(self)
