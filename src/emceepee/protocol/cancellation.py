"""Who is told that a request is no longer wanted, and how that is said on the wire.

    what ended our ask          was it sent?   tell the other side
    abandoned, timed out        yes            yes, once, by its id, with a reason
    abandoned, timed out        no             no: it never heard of it
    answered, lost, or cancelled by them       no: they know, or nobody listens
    `initialize`, however it ended             never: both specifications forbid it

The one rule: a cancellation names a request by id and type exactly as the request carried it.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from emceepee.protocol.messages import RequestId, write_notification
from emceepee.vocabulary.raw_json import write

CANCELLED = "notifications/cancelled"

NEVER_CANCELLED = frozenset({"initialize"})


class _Params(msgspec.Struct):
    requestId: int | str | None = None
    reason: str | None = None


class _IdAlone(msgspec.Struct):
    requestId: int | str


_params = msgspec.json.Decoder(_Params)
_id_alone = msgspec.json.Decoder(_IdAlone)


def must_tell(method: str, sent: bool) -> bool:
    """Whether giving up an ask has to be said to the other side."""
    return sent and method not in NEVER_CANCELLED


def write_cancelled(request_id: RequestId, reason: str) -> bytes:
    """The whole notification."""
    return write_notification(CANCELLED, write({"requestId": request_id, "reason": reason}))


def read_cancelled(params: Raw | None) -> tuple[RequestId, str] | None:
    """Which request, and why (empty when not said or not text); None when no request is named."""
    if params is None:
        return None
    try:
        read = _params.decode(params)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _read_id_alone(params)
    return None if read.requestId is None else (read.requestId, read.reason or "")


def _read_id_alone(params: Raw) -> tuple[RequestId, str] | None:
    """A reason of the wrong type must not keep a request running."""
    try:
        return _id_alone.decode(params).requestId, ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
