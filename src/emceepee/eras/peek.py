"""Looks at raw JSON without decoding it.

Not here: anything that understands a value. The one rule: a glance may answer "perhaps" where the truth is "no", never
"no" where it is "yes", so that whoever glances first and decodes second misses nothing.
"""

from __future__ import annotations

from msgspec import Raw

from emceepee.vocabulary.raw_json import Payload

ABSENT = Raw(b"")
"""Stands for a member that is not there, in structs of raw members: `Raw | None` would decode as null only."""

SMALL = 4096
"""Bytes below which a search is cheaper than decoding one level; above, one decoding is cheaper than two searches."""

_QUOTE, _BRACE, _BRACKET, _NULL = b'"{[n'


def first(raw: Raw | bytes | memoryview) -> int:
    """The first byte of a value, or 0 where there is none."""
    view = memoryview(raw)
    return view[0] if view.nbytes else 0


def is_object(raw: Raw | bytes | memoryview) -> bool:
    return first(raw) == _BRACE


def is_array(raw: Raw | bytes) -> bool:
    return first(raw) == _BRACKET


def is_text(raw: Raw | bytes) -> bool:
    return first(raw) == _QUOTE


def is_null(raw: Raw | bytes) -> bool:
    return first(raw) == _NULL


def may_mention(text: bytes, key: bytes) -> bool:
    """Whether an ASCII key (given with its quotes) may occur at any depth. A key may be spelled with escapes, so any
    escape of an ASCII character counts as a perhaps; inside a string a quote is escaped and does not match."""
    # Not `in`, which tries first whether the key is a number, and is the dearer by far.
    return text.find(key) >= 0 or text.find(b"\\u00") >= 0


class TopLevel:
    """Some keys of which we want to know whether an object has any, at its top level."""

    __slots__ = ("_names", "_quoted")

    def __init__(self, *names: str) -> None:
        self._names = frozenset(names)
        self._quoted = tuple(b'"%s"' % name.encode() for name in names)

    def in_any(self, payload: Payload) -> bool:
        """Exact. A small object that mentions none of them is not decoded; a large one is, which costs as much as one
        search through it and is remembered by the payload."""
        raw = payload.kept
        if raw is not None and memoryview(raw).nbytes < SMALL:
            text = bytes(raw)
            for quoted in self._quoted:
                if text.find(quoted) >= 0:
                    break
            else:
                if text.find(b"\\u00") < 0:
                    return False
        return not self._names.isdisjoint(payload.fields())
