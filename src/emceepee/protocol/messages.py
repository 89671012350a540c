"""The four kinds of JSON-RPC message, envelopes decoded and payloads raw.

The one rule: an id is compared by type and value, so 1 and "1" are two ids, and it goes back as it came.
"""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from emceepee.vocabulary.raw_json import Fields, write

RequestId: TypeAlias = int | str

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class Request(msgspec.Struct, frozen=True):
    id: RequestId
    method: str
    params: Raw | None = None


class Notification(msgspec.Struct, frozen=True):
    method: str
    params: Raw | None = None


class Result(msgspec.Struct, frozen=True):
    """`fields` are the top level of the result, where reading the message told it anyway: a large text is then not gone
    through again. Read only."""

    id: RequestId
    result: Raw
    fields: Fields | None = None


class ErrorObject(msgspec.Struct, frozen=True, omit_defaults=True):
    code: int
    message: str
    data: Raw | None = None


class Failure(msgspec.Struct, frozen=True):
    """An error response. The id is None when the peer could not read ours."""

    id: RequestId | None
    error: ErrorObject


Message: TypeAlias = Request | Notification | Result | Failure


_written = msgspec.json.Encoder().encode
_written_method = functools.lru_cache(maxsize=64)(_written)


def write_id(request_id: RequestId | None) -> bytes:
    return write(request_id)


def write_request(request_id: RequestId, method: str, params: bytes | Raw | None) -> bytes:
    head = b'{"jsonrpc":"2.0","id":%b,"method":%b' % (_written(request_id), _written_method(method))
    return head + b"}" if params is None else b"".join((head, b',"params":', params, b"}"))


def write_notification(method: str, params: bytes | Raw | None) -> bytes:
    head = b'{"jsonrpc":"2.0","method":' + write(method)
    return head + b"}" if params is None else head + b',"params":' + bytes(params) + b"}"


def write_result(request_id: RequestId, *result: bytes | Raw | memoryview) -> bytes:
    """The result may come in parts, so that it need not be joined before it is joined here."""
    return b"".join((b'{"jsonrpc":"2.0","id":', _written(request_id), b',"result":', *result, b"}"))


def write_failure(request_id: RequestId | None, code: int, message: str, data: Any = None) -> bytes:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return b'{"jsonrpc":"2.0","id":' + write(request_id) + b',"error":' + write(error) + b"}"
