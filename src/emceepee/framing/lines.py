"""One message a line: how a pipe is cut into messages.

Not the reading of a message (`json_text`). LF ends a line, CRLF is tolerated, blank lines are nobody's.

The one rule: memory stays below one line of the limit plus one chunk, whatever comes; a longer line is dropped up to its
end, said once, and the next line is whole again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from emceepee.framing.json_text import Limits

HEAD = 512
"""How much of a dropped line is kept for whoever wants to know which message it was."""


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
        lines = chunk.split(b"\n")
        if len(lines) == 1:
            return iter(self._keep(chunk))
        found: list[bytes | Overlong] = []
        found.extend(self._keep(lines[0]))
        if not self._dropping:
            self._finish(bytes(self._buffer), found)
        self._buffer.clear()
        self._dropping = False
        for line in lines[1:-1]:
            self._finish(line, found)
        found.extend(self._keep(lines[-1]))
        return iter(found)

    def end(self) -> bytes | None:
        """No more will come: the last line if it had no end (a message, or half of one), else None."""
        rest = bytes(self._buffer).strip()
        self._buffer.clear()
        self._dropping = False
        return rest or None

    def _keep(self, part: bytes) -> list[bytes | Overlong]:
        """Hold on to a line whose end has not come; say so when it has become too long."""
        if self._dropping:
            return []
        self._buffer += part
        # One more than the limit may be the CR of a CRLF.
        if len(self._buffer) <= self._limit + 1:
            return []
        overlong = Overlong(self._limit, bytes(self._buffer[:HEAD]))
        self._buffer.clear()
        self._dropping = True
        return [overlong]

    def _finish(self, line: bytes, found: list[bytes | Overlong]) -> None:
        line = line.strip()
        if len(line) > self._limit:
            found.append(Overlong(self._limit, line[:HEAD]))
        elif line:
            found.append(line)
