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
from itertools import accumulate

import msgspec
from msgspec import UNSET, Raw, UnsetType

from emceepee.protocol.messages import (
    INTERNAL_ERROR,
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
_BEFORE = _BOM + b" \t\r\n"
_NOTHING = Raw()
_BRACE = b"{"[0]


@dataclass(slots=True, frozen=True)
class Limits:
    """Bounds of one text. The bytes are those the SDK allows; no real message nests half as deep. A depth of None
    leaves it to the decoder (some 900 levels), which saves a scan of large structured results."""

    max_bytes: int = 4 * 1024 * 1024
    max_depth: int | None = 64
    max_batch: int = 256


class Unreadable(ValueError):
    """No message. `id` is that of the request it should have been, where that could be read; `answers` says that it was
    an answer of theirs, so that `id` is the ask of ours which it should have ended."""

    def __init__(self, code: int, message: str, id: RequestId | None = None, answers: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id
        self.answers = answers

    def as_answer(self) -> Failure | None:
        """What to hand to a peer so that the ask ends now instead of at its deadline; None when it names no ask."""
        if not self.answers or self.id is None:
            return None
        return Failure(self.id, ErrorObject(self.code, self.message))


class _Envelope(msgspec.Struct):
    jsonrpc: str | None = None
    id: int | str | UnsetType | None = UNSET
    method: str | None = None
    params: Raw = _NOTHING
    result: Raw = _NOTHING
    error: Raw = _NOTHING


class _Error(msgspec.Struct):
    """`Raw | None` cannot be decoded into (msgspec reads it as null alone), so absence is an empty `Raw` here."""

    code: int
    message: str
    data: Raw = _NOTHING


_LARGE = 8192
"""Bytes from which a second look at a result costs more than cutting it out of its message."""

_AROUND = 2048
"""How much may stand before the result, and after it."""

_before_result = re.compile(rb'\s*\{[^][{}\\]{0,%d}?"result":\s?(?=\{)' % _AROUND)

_envelopes = msgspec.json.Decoder(_Envelope)
_errors = msgspec.json.Decoder(_Error)
_ids = msgspec.json.Decoder(int | str)


def read_message(data: bytes, limits: Limits) -> Message:
    """One message. Raises `Unreadable`, and nothing else."""
    if len(data) > limits.max_bytes or not data.isascii():
        data = _checked(data, limits)
    if len(data) >= _LARGE and (large := _large_result(data, limits)) is not None:
        return large
    try:
        envelope = _envelopes.decode(data)
    except RecursionError:
        raise _too_deep(limits) from None
    except (msgspec.DecodeError, ValueError) as error:
        if b"\\u" in data and (mended := _mended(data)) != data:
            return read_message(mended, limits)
        raise _why(data, error) from None
    deepest = limits.max_depth
    # What has few brackets cannot be deep, and most messages have few.
    few = deepest is None or (len(data) <= _SMALL and data.count(b"{") + data.count(b"[") <= deepest)
    if not few and _deeper_than(data, deepest or 0):
        raise _too_deep(limits, envelope)
    return _message(envelope)


def read_messages(data: bytes, limits: Limits) -> list[Message | Unreadable] | Message:
    """One message, or the members of a batch, each read for itself. Raises `Unreadable` when it is neither."""
    if data[:1] == b"{" or data.lstrip(_BEFORE)[:1] != b"[":
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


def _large_result(data: bytes, limits: Limits) -> Message | None:
    """An answer whose result was gone through once, for the check and for its top level; None: take the long way.

    What stands around the result is read with an empty object in its place. Where that is well-formed, and the result
    is an object for itself, the whole is well-formed and says the same: before the result there are no braces and no
    escapes, so that the name before it can only be a key of the message, and it is not named again after it.
    """
    head = _before_result.match(data)
    last = data.rfind(b"}", len(data) - _AROUND)
    if head is None or last < 0:
        return None
    start, end = head.end(), data.rfind(b"}", len(data) - _AROUND, last) + 1
    tail = data[end:]
    if end <= start or b"\\" in tail or b'"result"' in tail:
        return None
    result = Raw(memoryview(data)[start:end])
    try:
        envelope = _envelopes.decode(head[0] + b"{}" + tail)
        fields = read_fields(result)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    if limits.max_depth is not None and _deeper_than(data, limits.max_depth):
        raise _too_deep(limits, envelope)
    envelope.result = result
    message = _message(envelope)
    return Result(message.id, message.result, fields) if isinstance(message, Result) else message


def _checked(data: bytes, limits: Limits) -> bytes:
    """Length and encoding, which the decoder does not look at within raw parts."""
    if len(data) > limits.max_bytes:
        raise Unreadable(INVALID_REQUEST, f"Invalid request: {len(data)} bytes, the limit is {limits.max_bytes}")
    if data.isascii():
        return data
    data = data.removeprefix(_BOM)
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
        answers = envelope.method is None
        raise Unreadable(INVALID_REQUEST, 'Invalid request: "jsonrpc" must be "2.0"', known, answers)
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
    view = memoryview(params)
    if view.nbytes and view[0] == _BRACE:
        return params
    start = view[:1].tobytes()
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
        return Failure(known, _error(error))
    if not has_result:
        raise Unreadable(INVALID_REQUEST, 'Invalid request: none of "method", "result" and "error"', known, True)
    if known is None:
        raise Unreadable(INVALID_REQUEST, 'Invalid response: "id" must be a string or an integer', None, True)
    return Result(known, result)


def _error(error: Raw) -> ErrorObject:
    """An error we cannot read is an error all the same: whoever waits for it must not wait longer."""
    try:
        read = _errors.decode(error)
        return ErrorObject(read.code, read.message, read.data if memoryview(read.data) else None)
    except (msgspec.DecodeError, ValueError) as problem:
        return ErrorObject(INTERNAL_ERROR, f"The error in the response is malformed: {problem}", error)


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


def _too_deep(limits: Limits, envelope: _Envelope | None = None) -> Unreadable:
    bound = "we can read" if limits.max_depth is None else str(limits.max_depth)
    known = envelope.id if envelope is not None and envelope.id is not UNSET else None
    answers = envelope is not None and envelope.method is None
    return Unreadable(INVALID_REQUEST, f"Invalid request: nested deeper than {bound}", known, answers)


_escape = re.compile(
    rb"\\\\"  # an escaped backslash, so that what follows it is text
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}(?P<low>\\u[dD][c-fC-F][0-9a-fA-F]{2})?"
    rb"|\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


def _mended(data: bytes) -> bytes:
    """Halves of surrogate pairs as the replacement character. JavaScript writes such a half when somebody cut a text in
    the middle of an emoji; JSON allows it, Unicode and our decoder do not, and the message is worth more."""

    def mend(found: re.Match[bytes]) -> bytes:
        whole = found["low"] is not None or found[0] == b"\\\\"
        return found[0] if whole else b"\\ufffd"

    return _escape.sub(mend, data)


_TO_STEPS = bytes.maketrans(b"[]{}", b"\x01\xff\x01\xff")
_ALL_BUT_STRUCTURE = bytes(byte for byte in range(256) if byte not in b'"{}[]')

_CHEAP_PASSES = 8
"""Levels taken away one by one before the rest is counted: most JSON is no deeper, and a pass is the cheaper."""

_SMALL = 4096
"""Bytes up to which counting is cheaper than skipping from one bracket to the next."""


def _deeper_than(data: bytes, limit: int) -> bool:
    """Whether well-formed JSON nests deeper. Brackets within strings do not count, but they are counted first because
    that is cheap and nearly always settles it."""
    if not _more_brackets_than(data, limit):
        return False
    steps = _steps(data)
    for _ in range(_CHEAP_PASSES):
        # Each pass takes away exactly the innermost level.
        steps = steps.replace(b"\x01\xff", b"")
        limit -= 1
        if not steps or limit == 0:
            return bool(steps)
    return max(accumulate(memoryview(steps).cast("b"))) > limit


def _more_brackets_than(data: bytes, limit: int) -> bool:
    if len(data) <= _SMALL:
        return data.count(b"{") + data.count(b"[") > limit
    for bracket in (b"{", b"["):
        at = data.find(bracket)
        while at >= 0:
            limit -= 1
            if limit < 0:
                return True
            at = data.find(bracket, at + 1)
    return False


def _steps(data: bytes) -> bytes:
    """The brackets outside of strings, as signed bytes: 1 for in, -1 for out."""
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    structure = data.translate(_TO_STEPS, _ALL_BUT_STRUCTURE)
    # Two adjacent quotes are an empty string or nothing between two strings: either way no bracket changes sides.
    return b"".join(structure.replace(b'""', b"").split(b'"')[::2])
