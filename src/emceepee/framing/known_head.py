"""The head of an HTTP/1.1 message that was parsed before, recognised by its bytes when it comes again.

Whoever speaks over a kept connection says nearly the same head each time: only the digits of its length change. To
compare it costs a tenth of parsing it. It parses nothing and decides nothing about a head; a parser has done that.

The one rule: what is recognised is what the parser would have found: the same bytes save the digits of one length,
and then exactly so many bytes.
"""

from __future__ import annotations

import re

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]+)", re.IGNORECASE)
_OTHER_WAYS = re.compile(rb"\r\n(?:transfer-encoding|expect|upgrade|trailer)[ \t]*:", re.IGNORECASE)
_DIGITS = 9
_MOST = 8 * 1024


class KnownHead:
    __slots__ = ("_after", "_before")

    def __init__(self, before: bytes, after: bytes) -> None:
        self._before = before
        self._after = after

    def body(self, data: bytes) -> bytes | None:
        """The body of a message that is this head with its own length, whole, and nothing after it; else None."""
        before, after = self._before, self._after
        if not data.startswith(before):
            return None
        at = len(before)
        end = data.find(b"\r", at, at + _DIGITS)
        digits = data[at:end]
        if end < 0 or not data.startswith(after, end) or not digits.isdigit():
            return None
        start = end + len(after)
        return data[start:] if len(data) - start == int(digits) else None


def known_head(data: bytes) -> KnownHead | None:
    """Of a message that was parsed and is whole in this data, with nothing else; None for one that says its length in
    any but the one plain way."""
    end = data.find(b"\r\n\r\n", 0, _MOST)
    if end < 0:
        return None
    head = data[: end + 4]
    lengths = _LENGTH.findall(head)
    found = _LENGTH.search(head)
    if found is None or len(lengths) != 1 or _OTHER_WAYS.search(head) or head.lower().count(b"content-length") != 1:
        return None
    return KnownHead(head[: found.start(1)], head[found.end(1) :])
