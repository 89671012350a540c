"""Reads one HTTP/1.1 answer as it arrives. Sans-IO, and quick, because the load generator must never be the slow part.

It reads what the hops send (a length, chunks, or no body), not all of HTTP: an answer that ends with its connection is
refused. The one rule: it says that an answer is complete only when its last byte is there.
"""

from __future__ import annotations

import re

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked", re.IGNORECASE)
_STREAM = re.compile(rb"\r\ncontent-type:[ \t]*text/event-stream", re.IGNORECASE)
_SESSION = re.compile(rb"\r\nmcp-session-id:[ \t]*([^\r\n]+)", re.IGNORECASE)
_BODILESS = (202, 204, 304)


class NotHttp(ValueError):
    """What came is not an answer that can be read."""


class HttpAnswer:
    """Feed it until `ended`; then it holds the answer."""

    __slots__ = ("_chunks", "_coding", "_head", "_left", "ended", "session", "status", "stream")

    def __init__(self) -> None:
        self._head: bytes | None = b""
        self._chunks: list[bytes] = []
        self._left = 0
        self._coding: _Chunks | None = None
        self.ended = False
        self.status = 0
        self.stream = False
        self.session: str | None = None

    @property
    def begun(self) -> bool:
        """Whether the head is complete."""
        return self._head is None

    def body(self) -> bytes:
        return self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)

    def feed(self, data: bytes) -> None:
        if self.ended:
            raise NotHttp(f"more than one answer: {data[:100]!r}")
        if self._head is not None:
            head, found, data = (self._head + data).partition(b"\r\n\r\n")
            if not found:
                self._head = head
                return
            self._read_head(head)
        if self._coding is not None:
            self._chunks.extend(self._coding.feed(data))
            self.ended = self._coding.ended
            return
        if data:
            self._chunks.append(data)
            self._left -= len(data)
        if self._left < 0:
            raise NotHttp("more bytes than the answer said it has")
        self.ended = self._left == 0

    def _read_head(self, head: bytes) -> None:
        if not head.startswith(b"HTTP/1.1 "):
            raise NotHttp(f"not HTTP/1.1: {head[:100]!r}")
        self._head = None
        self.status = int(head[9:12])
        self.stream = _STREAM.search(head) is not None
        if session := _SESSION.search(head):
            self.session = session[1].decode("ascii")
        if length := _LENGTH.search(head):
            self._left = int(length[1])
        elif _CHUNKED.search(head):
            self._coding = _Chunks()
        elif self.status not in _BODILESS:
            raise NotHttp(f"neither a length nor chunks: {head[:300]!r}")


class _Chunks:
    """The chunked coding, without trailers."""

    __slots__ = ("_left", "_rest", "ended")

    def __init__(self) -> None:
        self._rest = b""
        self._left = 0
        self.ended = False

    def feed(self, data: bytes) -> list[bytes]:
        """The parts of the body in these bytes."""
        found = []
        rest = self._rest + data
        while rest and not self.ended:
            if self._left > 2:  # the chunk's own line end is counted with it
                part = rest[: self._left - 2]
                found.append(part)
                self._left -= len(part)
                rest = rest[len(part) :]
            elif self._left:
                if len(rest) < 2:
                    break
                if rest[:2] != b"\r\n":
                    raise NotHttp(f"a chunk does not end where it said: {rest[:50]!r}")
                rest, self._left = rest[2:], 0
            else:
                line, end, after = rest.partition(b"\r\n")
                if not end:
                    break
                size = int(line.split(b";")[0], 16)
                if size:
                    self._left, rest = size + 2, after
                elif len(after) >= 2:
                    self.ended, rest = True, after[2:]
                else:
                    break
        self._rest = rest
        if self.ended and rest:
            raise NotHttp(f"more than one answer: {rest[:100]!r}")
        return found
