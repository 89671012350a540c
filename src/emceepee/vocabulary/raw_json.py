"""JSON that stays bytes until somebody has to look inside.

The one rule: nothing here decodes deeper than one level, because what we relay is not ours to understand. A `Fields` is
an object's top level with each value still raw; a `Payload` is a whole object as either, and converts at most once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

Fields: TypeAlias = dict[str, Raw]

_fields_decoder = msgspec.json.Decoder(dict[str, Raw])
_items_decoder = msgspec.json.Decoder(list[Raw])
_encoder = msgspec.json.Encoder()

EMPTY_OBJECT = Raw(b"{}")


class NotThatShape(ValueError):
    """A value is JSON, or nearly, but not of the shape that was asked for."""


def read_fields(raw: Raw | bytes) -> Fields:
    """The top level of a JSON object. Raises `NotThatShape` for anything else."""
    try:
        return _fields_decoder.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise NotThatShape(str(error)) from None


def read_items(raw: Raw | bytes) -> list[Raw]:
    """The elements of a JSON array, each still raw. Raises `NotThatShape` for anything else."""
    try:
        return _items_decoder.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise NotThatShape(str(error)) from None


def read_value(raw: Raw | bytes) -> Any:
    """The whole value, decoded. For our own small values and for tools that have to look; never for what is relayed."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise NotThatShape(str(error)) from None


def read_text(raw: Raw | bytes | None) -> str | None:
    """The value if it is a JSON string, else None."""
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def write(value: Any) -> bytes:
    """JSON bytes of a value, which may hold `Raw` at any depth."""
    return _encoder.encode(value)


def to_raw(value: Any) -> Raw:
    return Raw(_encoder.encode(value))


_LARGE = 8192
"""Bytes from which to join what is there beats an encoder whose buffer grows under it, and to decode beats a search."""


def write_members(fields: Fields) -> list[bytes | Raw]:
    """An object without its opening brace, as parts to be joined, in the order they have."""
    parts: list[bytes | Raw] = []
    for key, raw in fields.items():
        parts += (b",", _encoder.encode(key), b":", raw)
    del parts[:1]
    parts.append(b"}")
    return parts


def _size(fields: Fields) -> int:
    return sum([memoryview(raw).nbytes for raw in fields.values()])


class Payload:
    """A JSON object in transit: as bytes, as fields, or both, whichever was needed last."""

    __slots__ = ("_fields", "kept")

    def __init__(self, raw: bytes | Raw | None = None, fields: Fields | None = None) -> None:
        self.kept = raw
        """Its bytes, if they are there: None when it was opened, and `raw` would have to copy it. Read only."""
        self._fields = fields

    @classmethod
    def of(cls, value: dict[str, Any]) -> Payload:
        """From an object of our own making."""
        return cls(raw=_encoder.encode(value))

    def raw(self) -> Raw:
        if self.kept is None:
            fields = self._fields or {}
            large = _size(fields) >= _LARGE
            self.kept = b"".join((b"{", *write_members(fields))) if large else _encoder.encode(fields)
        return self.kept if isinstance(self.kept, Raw) else Raw(self.kept)

    def fields(self) -> Fields:
        """Its top level; read only, copy before changing. Raises `NotThatShape` when it is no object."""
        if self._fields is None:
            self._fields = read_fields(self.kept or b"")
        return self._fields

    def get(self, key: str) -> Raw | None:
        return self.fields().get(key)

    def may_have(self, key: str) -> bool:
        """Whether the key can be at its top level. False is certain; true may be its name somewhere inside. Does not
        decode what is still bytes and small."""
        if self._fields is None and memoryview(self.kept or b"").nbytes < _LARGE:
            # Not `in`, which tries first whether the key is a number.
            return bytes(self.kept or b"").find(b'"%b"' % key.encode()) >= 0
        return key in self.fields()

    def changed(self, put: dict[str, Any] | None = None, drop: Iterable[str] = ()) -> Payload:
        """A copy with some keys set (values may be `Raw` or plain) and some removed."""
        fields = dict(self.fields())
        for key in drop:
            fields.pop(key, None)
        for key, value in (put or {}).items():
            fields[key] = value if isinstance(value, Raw) else to_raw(value)
        return Payload(fields=fields)

    def __repr__(self) -> str:
        text = bytes(self.raw())
        return f"Payload({text[:60]!r}{'…' if len(text) > 60 else ''})"
