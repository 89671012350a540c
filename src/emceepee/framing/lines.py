"""One message a line: how a pipe is cut into messages.

Not the reading of a message (`json_text`). LF ends a line, CRLF is tolerated, blank lines are nobody's.

The one rule: memory stays below one line of the limit plus one chunk, whatever comes; a longer line is dropped up to
its end, said once, and the next line is whole again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from emceepee.framing.json_text import Limits

HEAD = 512
"""How much of a dropped line is kept for whoever wants to know which message it was."""

_LINE_END = 1
"""The CR of a CRLF is no part of the line, but is held with it until the LF comes."""


@dataclass(slots=True, frozen=True)
class Overlong:
    """A line beyond the limit was dropped; `head` is how it began, cut anywhere."""

    limit: int
    head: bytes


class LineReader:
    def __init__(self, limits: Limits | None = None) -> None:
        self._limit = (limits or Limits()).max_bytes
        self._buffer = bytearray()
        self._dropping = False

    def feed(self, chunk: bytes) -> Iterator[bytes | Overlong]:
        """What is complete now. The chunk is taken in at once, whether or not the result is read."""
        found: list[bytes | Overlong] = []
        if b"\n" not in chunk:
            self._hold(chunk, found)
            return iter(found)
        lines = chunk.split(b"\n")
        if self._buffer or self._dropping:
            self._hold(lines[0], found)
            lines[0] = bytes(self._buffer)
            self._buffer.clear()
            self._dropping = False
        last = lines.pop()
        for line in lines:
            self._finish(line, found)
        self._hold(last, found)
        return iter(found)

    def end(self) -> bytes | None:
        """No more will come: the last line if it had no end (a message, or half of one), else None."""
        rest = bytes(self._buffer).strip()
        self._buffer.clear()
        self._dropping = False
        return rest or None

    def _hold(self, part: bytes, found: list[bytes | Overlong]) -> None:
        """Keep the beginning of a line whose end has not come; say so when it has become too long."""
        if self._dropping:
            return
        self._buffer += part
        if len(self._buffer) > self._limit + _LINE_END:
            found.append(Overlong(self._limit, bytes(self._buffer[:HEAD])))
            self._buffer.clear()
            self._dropping = True

    def _finish(self, line: bytes, found: list[bytes | Overlong]) -> None:
        line = line.removesuffix(b"\r")
        if len(line) > self._limit:
            found.append(Overlong(self._limit, line[:HEAD]))
        elif line := line.strip():
            found.append(line)
