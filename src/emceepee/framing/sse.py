"""Event streams: an incremental decoder after the rules of WHATWG HTML 9.2.6, and the encoder.

Not a client: no reconnecting, no timers. Two things differ from a browser's `EventSource` on purpose: an event is also
reported when it has no data but an id or a retry time (MCP primes a stream that way, and resuming needs it), and data
stays bytes, since the JSON reader decides what is broken UTF-8.

The one rule: how a stream is cut into chunks never changes what is read, and no event costs more than its own length.
"""

from __future__ import annotations

import re

import msgspec

COMMENT = b": keep-alive\n\n"
"""Written while there is nothing to say, so that proxies do not take silence for death."""

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""The SDK's client gives up at 1 MiB and loses real tool results by it."""

_BOM = b"\xef\xbb\xbf"
_COLON = 0x3A
_DATA = b"data: "
_RETRY_DIGITS = 12
"""Milliseconds of thirty years. Longer ones are no time but an attempt."""
_newline = re.compile(rb"\r\n|\r|\n")


class SseEvent(msgspec.Struct, frozen=True):
    """One block of the stream, as it was written: `id` is None where this block set none (`SseReader.last_id` is the
    one that holds). `overlong` says that it exceeded the bound and its data was dropped."""

    event: str = "message"
    data: bytes = b""
    id: str | None = None
    retry: int | None = None
    overlong: bool = False


class SseReader:
    _event: str
    _data: bytes | None
    _more_data: bytearray | None
    _id: str | None
    _retry: int | None
    _size: int
    _overlong: bool

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.last_id = ""
        self._limit = max_event_bytes
        self._line = bytearray()
        self._cutting = False
        self._after_cr = False
        self._at_start = True
        self._reset()

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completed."""
        chunk = self._without_cr(chunk)
        if self._at_start:
            chunk = self._without_bom(chunk)
        if b"\n" not in chunk:
            self._hold(chunk)
            return []
        lines = chunk.split(b"\n")
        if self._line or self._cutting:
            self._hold(lines[0])
            lines[0] = self._held()
        last = lines.pop()
        events: list[SseEvent] = []
        for line in lines:
            if line:
                self._read(line)
            else:
                self._dispatch(events)
        self._hold(last)
        return events

    def _without_cr(self, chunk: bytes) -> bytes:
        """CR and CRLF as LF. A CR ends its line at once; the LF that may follow in the next chunk is then swallowed."""
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk[0] == 0x0A:
                chunk = chunk[1:]
        if b"\r" not in chunk:
            return chunk
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _without_bom(self, chunk: bytes) -> bytes:
        """One byte order mark at the very start is no content, even if it comes in pieces."""
        start = bytes(self._line) + chunk
        self._line.clear()
        if len(start) < len(_BOM) and _BOM.startswith(start):
            return start
        self._at_start = False
        return start.removeprefix(_BOM)

    def _hold(self, part: bytes) -> None:
        """Keep the beginning of a line whose end has not come, within the bound. Of a comment the mark is enough."""
        if self._cutting:
            return
        line = self._line
        line += part
        if line[:1] == b":":
            del line[1:]
        elif self._size + len(line) > self._limit:
            self._drop()
            line.clear()
            self._cutting = True

    def _held(self) -> bytes:
        """The line that is complete now, or a comment in place of one that needs no more reading."""
        line, cutting = self._line, self._cutting
        self._line, self._cutting = bytearray(), False
        if cutting:
            return b":"
        if line.startswith(_DATA):
            # At once, because to make a line of it first would copy a large result once more.
            self._add_data(bytes(memoryview(line)[len(_DATA) :]))
            return b":"
        return bytes(line)

    def _drop(self) -> None:
        """This event is too long: forget its data, but go on to look for its id, so that it can be resumed after."""
        self._overlong = True
        self._data = None
        self._more_data = None
        self._size = 0

    def _read(self, line: bytes) -> None:
        """One complete line that is not blank."""
        if line[0] == _COLON:
            return
        if self._size + len(line) > self._limit:
            self._drop()
        elif line.startswith(_DATA):
            # Not `partition`: that would copy a large result once more.
            self._add_data(line[len(_DATA) :])
        else:
            name, _, value = line.partition(b":")
            self._set(name, value.removeprefix(b" "))

    def _set(self, name: bytes, value: bytes) -> None:
        if name == b"data":
            self._add_data(value)
            return
        self._size += len(name) + len(value)
        if name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) <= _RETRY_DIGITS:
            self._retry = int(value)

    def _add_data(self, value: bytes) -> None:
        if self._overlong:
            return
        self._size += len(value) + 1
        if self._data is None:
            self._data = value
        else:
            if self._more_data is None:
                self._more_data = bytearray(self._data)
            self._more_data += b"\n"
            self._more_data += value

    def _dispatch(self, events: list[SseEvent]) -> None:
        if self._id is not None:
            self.last_id = self._id
        data = self._data if self._more_data is None else bytes(self._more_data)
        if data is not None or self._overlong or self._id is not None or self._retry is not None:
            events.append(SseEvent(self._event or "message", data or b"", self._id, self._retry, self._overlong))
        self._reset()

    def _reset(self) -> None:
        self._event = ""
        self._data = None
        self._more_data = None
        self._id = None
        self._retry = None
        self._size = 0
        self._overlong = False


def write_event(data: bytes, *, id: str | None = None, event: str | None = None, retry: int | None = None) -> bytes:
    """One event. Line ends within the data are kept as LF, which JSON does not mind. Raises `ValueError` for an id or a
    name that would break out of its line."""
    head = b""
    if event is not None:
        head += b"event: " + _one_line(event) + b"\n"
    if id is not None:
        if "\0" in id:
            raise ValueError("an event id cannot hold NUL")
        head += b"id: " + _one_line(id) + b"\n"
    if retry is not None:
        head += b"retry: %d\n" % retry
    if b"\n" in data or b"\r" in data:
        data = _newline.sub(b"\ndata: ", data)
    return b"".join((head, b"data: ", data, b"\n\n"))


def _one_line(text: str) -> bytes:
    if "\n" in text or "\r" in text:
        raise ValueError("an event's id or name cannot hold a line end")
    return text.encode()
