"""Two peers and a pretend wire: what one writes, the other reads, so that every test of sending is one of receiving.

The wire is bytes in lines, cut into chunks of any size on the way, so framing takes part. Nothing runs by itself: a
test moves the bytes with `flow()`. The whole conversation is kept and shown by `repr`, for the test that fails.

The one rule: an `End` does what a driver has to do and decides nothing.
"""

from __future__ import annotations

from typing import Any, TypeVar

from emceepee.framing.json_text import Limits, read_message
from emceepee.framing.lines import LineReader, Overlong
from emceepee.protocol.events import Ended, Event
from emceepee.protocol.messages import write_notification, write_request
from emceepee.protocol.peer import Asked, Debt, Peer
from emceepee.vocabulary.raw_json import write

Kind = TypeVar("Kind")


class End:
    """One peer with its half of the wire. `events` holds all that it reported, in order."""

    def __init__(self, name: str, prefix: str, said: list[str], max_owed: int = 1024) -> None:
        self.name = name
        self.peer = Peer(prefix, max_owed)
        self.events: list[Event] = []
        self.outgoing = bytearray()
        self._said = said
        self._lines = LineReader(Limits())

    def ask(self, method: str, params: dict[str, Any] | None = None, deadline: float | None = None) -> Asked:
        """Open, write, and say so."""
        asked = self.peer.open(method, deadline)
        self.peer.sent(asked)
        self.write(write_request(asked.id, method, write(params or {})))
        return asked

    def tell(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.write(write_notification(method, write(params or {})))

    def answer(self, owed: Debt, result: dict[str, Any]) -> bool:
        """False when it was too late to say anything."""
        return self.write(self.peer.answer(owed, write(result)))

    def refuse(self, owed: Debt, code: int, message: str, data: Any = None) -> bool:
        return self.write(self.peer.refuse(owed, code, message, data))

    def abandon(self, asked: Asked, reason: str = "not wanted") -> bool:
        return self.write(self.peer.abandon(asked, reason))

    def expire(self, now: float) -> list[Asked]:
        expired = self.peer.expire(now)
        for _, notice in expired:
            self.write(notice)
        return [asked for asked, _ in expired]

    def write(self, message: bytes | None) -> bool:
        if message is None:
            return False
        self._said.append(f"{self.name}> {message.decode()}")
        self.outgoing += message + b"\n"
        return True

    def hear(self, chunk: bytes) -> None:
        for line in self._lines.feed(chunk):
            assert not isinstance(line, Overlong)
            self.events += self.peer.receive(read_message(line, Limits()), self.name)

    def heard(self, kind: type[Kind]) -> list[Kind]:
        return [event for event in self.events if isinstance(event, kind)]

    def endings(self, asked: Asked) -> list[Any]:
        """Every ending that was reported of this ask; there should be one."""
        return [event.answer for event in self.heard(Ended) if event.asked is asked]


class PeerPair:
    def __init__(self, max_owed: int = 1024) -> None:
        self.said: list[str] = []
        self.left = End("left", "l-", self.said, max_owed)
        self.right = End("right", "r-", self.said, max_owed)

    def flow(self, chunk: int = 7) -> None:
        """Move all bytes to where they go, until nothing is on the way."""
        while self.left.outgoing or self.right.outgoing:
            for here, there in ((self.left, self.right), (self.right, self.left)):
                data = bytes(here.outgoing)
                here.outgoing.clear()
                for start in range(0, len(data), chunk):
                    there.hear(data[start : start + chunk])

    def __repr__(self) -> str:
        return "\n".join(["PeerPair", *self.said])
