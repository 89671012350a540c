"""JSON text to messages: the envelope is decoded and checked, `params` and `result` stay raw.

    -32700   no JSON: malformed, broken UTF-8, NaN, something after the end
    -32600   JSON, but no message: wrong version, id, method or shape; too long, or nested too deep
    -32602   a message whose `params` is an array: JSON-RPC knows that, MCP does not

Tolerated, because it is seen and can be understood in one way only: a byte order mark, unknown members, repeated
members (the last holds), `"params": null`, and `"error": null` beside a result or the other way round.

The one rule: whatever the bytes are, what comes out is a `Message` or `Unreadable`, and a raw part that comes out is
whole, well-formed UTF-8 JSON within the limits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec
from msgspec import UNSET, Raw, UnsetType

from emceepee.protocol.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorObject,
    Failure,
    Message,
    Notification,
    Request,
    RequestId,
    Result,
)
from emceepee.vocabulary.raw_json import NotThatShape, read_fields, read_items

MAX_ID = 1024
"""Characters of a string id. We keep ids while a request is open; real ones have up to some 70."""

_BOM = b"\xef\xbb\xbf"
_NOTHING = Raw()


@dataclass(slots=True, frozen=True)
class Limits:
    """Bounds of one text. The bytes are those the SDK allows; no real message nests half as deep."""

    max_bytes: int = 4 * 1024 * 1024
    max_depth: int = 64
    max_batch: int = 256


class Unreadable(ValueError):
    """No message. `id` is that of the request it should have been, where that could be read; `answers` says that it was
    an answer of theirs, so that `id` is the ask of ours which it should have ended."""

    def __init__(self, code: int, message: str, id: RequestId | None = None, answers: bool = False) -> None:  # noqa: A002
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id
        self.answers = answers


class _Envelope(msgspec.Struct):
    jsonrpc: str | None = None
    id: int | str | None | UnsetType = UNSET
    method: str | None = None
    params: Raw = _NOTHING
    result: Raw = _NOTHING
    error: Raw = _NOTHING


_envelopes = msgspec.json.Decoder(_Envelope)
_errors = msgspec.json.Decoder(ErrorObject)
_ids = msgspec.json.Decoder(int | str)


def read_message(data: bytes, limits: Limits) -> Message:
    """One message. Raises `Unreadable`, and nothing else."""
    data = _checked(data, limits)
    try:
        envelope = _envelopes.decode(data)
    except RecursionError:
        raise _too_deep(limits) from None
    except (msgspec.DecodeError, ValueError) as error:
        raise _why(data, error) from None
    if _deeper_than(data, limits.max_depth):
        raise _too_deep(limits)
    return _message(envelope)


def read_messages(data: bytes, limits: Limits) -> list[Message | Unreadable] | Message:
    """One message, or the members of a batch, each read for itself. Raises `Unreadable` when the whole is none of both."""
    if data.lstrip(_BOM + b" \t\r\n")[:1] != b"[":
        return read_message(data, limits)
    data = _checked(data, limits)
    try:
        items = read_items(data)
    except NotThatShape as error:
        raise Unreadable(PARSE_ERROR, f"Parse error: {error}") from None
    if not items:
        raise Unreadable(INVALID_REQUEST, "Invalid request: the batch is empty")
    if len(items) > limits.max_batch:
        raise Unreadable(INVALID_REQUEST, f"Invalid request: a batch may hold {limits.max_batch} messages")
    return [_member(bytes(item), limits) for item in items]


def _member(data: bytes, limits: Limits) -> Message | Unreadable:
    try:
        return read_message(data, limits)
    except Unreadable as problem:
        return problem


def _checked(data: bytes, limits: Limits) -> bytes:
    """Length and encoding, which the decoder does not look at within raw parts."""
    if len(data) > limits.max_bytes:
        raise Unreadable(INVALID_REQUEST, f"Invalid request: {len(data)} bytes, the limit is {limits.max_bytes}")
    if data.isascii():
        return data
    if data.startswith(_BOM):
        data = data[len(_BOM) :]
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise Unreadable(PARSE_ERROR, f"Parse error: broken UTF-8 at byte {error.start}") from None
    return data


def _message(envelope: _Envelope) -> Message:
    """Which of the four kinds it is, by which members are there."""
    identity = envelope.id
    known = None if identity is UNSET else identity
    if envelope.jsonrpc != "2.0":
        raise Unreadable(INVALID_REQUEST, 'Invalid request: "jsonrpc" must be "2.0"', known)
    if type(known) is str and len(known) > MAX_ID:
        raise Unreadable(INVALID_REQUEST, f'Invalid request: "id" is longer than {MAX_ID} characters')
    if envelope.method is not None:
        params = _params(envelope.params, known)
        if identity is UNSET:
            return Notification(envelope.method, params)
        if known is None:
            raise Unreadable(INVALID_REQUEST, 'Invalid request: "id" must be a string or an integer, not null')
        return Request(known, envelope.method, params)
    return _answer(envelope, known)


def _params(params: Raw, request_id: RequestId | None) -> Raw | None:
    start = memoryview(params)[:1]
    if start == b"{":
        return params
    if not start or bytes(params) == b"null":
        return None
    if start == b"[":
        raise Unreadable(INVALID_PARAMS, 'Invalid params: "params" must be an object, not an array', request_id)
    raise Unreadable(INVALID_REQUEST, 'Invalid request: "params" must be an object', request_id)


def _answer(envelope: _Envelope, known: RequestId | None) -> Message:
    result, error = envelope.result, envelope.error
    has_result = bool(memoryview(result))
    has_error = bool(memoryview(error)) and bytes(error) != b"null"
    if has_error and has_result and bytes(result) != b"null":
        raise Unreadable(INVALID_REQUEST, 'Invalid response: both "result" and "error"', known, True)
    if has_error:
        return Failure(known, _error(error, known))
    if not has_result:
        raise Unreadable(INVALID_REQUEST, 'Invalid request: none of "method", "result" and "error"', known)
    if known is None:
        raise Unreadable(INVALID_REQUEST, 'Invalid response: "id" must be a string or an integer', None, True)
    return Result(known, result)


def _error(error: Raw, known: RequestId | None) -> ErrorObject:
    try:
        return _errors.decode(error)
    except (msgspec.DecodeError, ValueError) as problem:
        raise Unreadable(INVALID_REQUEST, f'Invalid response: "error": {problem}', known, True) from None


def _why(data: bytes, error: Exception) -> Unreadable:
    """The sentence for what the envelope decoder would not take, and the id if that much can be read."""
    try:
        fields = read_fields(data)
    except NotThatShape as problem:
        if isinstance(error, msgspec.ValidationError):
            return Unreadable(INVALID_REQUEST, "Invalid request: a message must be an object")
        return Unreadable(PARSE_ERROR, f"Parse error: {problem}")
    try:
        known = _ids.decode(fields["id"]) if "id" in fields else None
    except (msgspec.DecodeError, ValueError):
        return Unreadable(INVALID_REQUEST, 'Invalid request: "id" must be a string or an integer')
    name = next((name for name in ("jsonrpc", "method") if f"$.{name}" in str(error)), "a member")
    return Unreadable(INVALID_REQUEST, f'Invalid request: "{name}" must be a string', known)


def _too_deep(limits: Limits) -> Unreadable:
    return Unreadable(INVALID_REQUEST, f"Invalid request: nested deeper than {limits.max_depth}")


_TO_BRACES = bytes.maketrans(b"[]", b"{}")
_ALL_BUT_STRUCTURE = bytes(byte for byte in range(256) if byte not in b'"{}[]')


def _deeper_than(data: bytes, limit: int) -> bool:
    """Whether well-formed JSON nests deeper. Brackets within strings do not count, but they are counted first because
    that is cheap and nearly always settles it."""
    if data.count(b"{") + data.count(b"[") <= limit:
        return False
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    structure = data.translate(_TO_BRACES, _ALL_BUT_STRUCTURE)
    braces = b"".join(structure.split(b'"')[::2])
    for _ in range(limit):
        # Each pass takes away exactly the innermost level.
        braces = braces.replace(b"{}", b"")
        if not braces:
            return False
    return True
