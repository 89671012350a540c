"""Which era a message speaks, decided for each message alone.

Not here: whether the message is any good in its era (`modern.envelope`, the sessions of the front). The one rule: a
modern envelope or a modern version header makes a message modern, `initialize` is legacy unless it has both, and
nothing is ever inferred from an earlier message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Raw

from emceepee.eras.meta import PROTOCOL_VERSION
from emceepee.eras.peek import ABSENT, SMALL
from emceepee.eras.refusal import Refusal, unsupported_version
from emceepee.eras.revisions import LEGACY, MODERN, SUPPORTED
from emceepee.protocol.messages import INVALID_REQUEST, Message, Notification, Request, RequestId

Era: TypeAlias = Literal["legacy", "modern"]


class _Meta(msgspec.Struct):
    version: Raw = msgspec.field(name=PROTOCOL_VERSION, default=ABSENT)


class _Params(msgspec.Struct):
    meta: Raw = msgspec.field(name="_meta", default=ABSENT)


_params_decoder = msgspec.json.Decoder(_Params)
_meta_decoder = msgspec.json.Decoder(_Meta)


def choose_http(version_headers: Sequence[str], message: Message | list[Any]) -> Era | Refusal:
    """The era of one POST body, or why it belongs to none. `version_headers` are all values of the version header."""
    if len(version_headers) == 1 and type(message) is Request and message.method != "initialize":
        # Nearly every request there is.
        if version_headers[0] == MODERN:
            return "modern"
        if version_headers[0] in LEGACY and not has_envelope(message):
            return "legacy"
    versions = {value.strip() for value in version_headers}
    if isinstance(message, list):
        if MODERN in versions or any(has_envelope(item) for item in message):
            return _malformed("A POST body holds exactly one message in this revision, not an array", None)
        return _legacy(versions, None)
    request_id = message.id if isinstance(message, Request) else None
    if isinstance(message, Request) and message.method == "initialize":
        if MODERN not in versions:
            return _legacy(versions, request_id)
        # With the envelope too it is no handshake that got a wrong header, but a method that this era has not.
        return "modern" if has_envelope(message) else unsupported_version(MODERN, request_id)
    if MODERN in versions:
        if isinstance(message, (Request, Notification)):
            return "modern"
        return _malformed("Clients send no responses in this revision", None)
    return "modern" if has_envelope(message) else _legacy(versions, request_id)


def choose_pipe(message: Message | list[Any]) -> Era:
    """The era of one message on a pipe, where both may be spoken in turn."""
    if isinstance(message, list) or (isinstance(message, Request) and message.method == "initialize"):
        return "legacy"
    return "modern" if has_envelope(message) else "legacy"


def has_envelope(message: Any) -> bool:
    """Whether `params._meta` names a protocol version, of whatever value."""
    params = getattr(message, "params", None)
    if params is None:
        return False
    if memoryview(params).nbytes < SMALL:
        text = bytes(params)
        if text.find(b'"_meta"') < 0 and text.find(b"\\u00") < 0:
            return False
    try:
        meta = _params_decoder.decode(params).meta
        return meta is not ABSENT and _meta_decoder.decode(meta).version is not ABSENT
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False


def _legacy(versions: set[str], request_id: RequestId | None) -> Era | Refusal:
    unknown = versions.difference(LEGACY)
    if unknown:
        message = f"Bad Request: unsupported protocol version (supported: {', '.join(SUPPORTED)})"
        return _malformed(message, request_id)
    if len(versions) > 1:
        return _malformed("Bad Request: two different MCP-Protocol-Version headers", request_id)
    return "legacy"


def _malformed(message: str, request_id: RequestId | None) -> Refusal:
    return Refusal(400, INVALID_REQUEST, message, id=request_id)
