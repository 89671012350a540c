"""The envelope of a modern request: the ladder that one from a client climbs, and the one we put on our own.

Not here: `Mcp-Param-*` (`headers`, which needs the tool's schema) and the params (`towards_client.read_call`).
The one rule: the rungs are in the order of the specification and the first that fails decides, because clients choose
what to do next by the code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Raw

from emceepee.eras.meta import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION
from emceepee.eras.modern.header_values import decode_value
from emceepee.eras.peek import ABSENT, is_null, is_object
from emceepee.eras.refusal import Refusal, mismatch, unsupported_version
from emceepee.eras.requests import CARRIED
from emceepee.eras.revisions import MODERN
from emceepee.protocol.messages import INVALID_PARAMS, METHOD_NOT_FOUND, Notification, Request, RequestId
from emceepee.vocabulary.raw_json import EMPTY_OBJECT, Fields, read_text, to_raw

Headers: TypeAlias = Mapping[str, Sequence[str]]
"""Lower-case names, each with all its values in the order they came."""

METHODS = CARRIED | {"server/discover", "subscriptions/listen", "tasks/get", "tasks/update", "tasks/cancel"}
NAMING = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""Which param is mirrored in `Mcp-Name`."""

_NAMED_BY_AN_EXTENSION = "taskId"
"""Clients that know the core of the revision only do not send the header for it; one that is sent must agree."""

_ROUTING = ("mcp-protocol-version", "mcp-method", "mcp-name")


class _Meta(msgspec.Struct):
    version: Raw = msgspec.field(name=PROTOCOL_VERSION, default=ABSENT)
    capabilities: Raw = msgspec.field(name=CLIENT_CAPABILITIES, default=ABSENT)


class _Params(msgspec.Struct):
    meta: Raw = msgspec.field(name="_meta", default=ABSENT)
    name: Raw = ABSENT
    uri: Raw = ABSENT
    task_id: Raw = msgspec.field(name="taskId", default=ABSENT)


_params_decoder = msgspec.json.Decoder(_Params)
_meta_decoder = msgspec.json.Decoder(_Meta)
_unreadable = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


def check(request: Request | Notification, headers: Headers | None) -> Refusal | None:
    """The whole ladder save `Mcp-Param-*` and the shape of params. `headers` is None on a pipe."""
    if isinstance(request, Notification):
        return _check_notification(request, headers)
    doubled = None if headers is None else _doubled(headers)
    if doubled is not None:
        return mismatch(f"{doubled} header appears more than once", request.id)
    params, meta = _read(request.params)
    if meta is None:
        return _invalid("params._meta must be an object with protocolVersion and clientCapabilities", request.id)
    if meta.version is ABSENT or meta.capabilities is ABSENT:
        missing = PROTOCOL_VERSION if meta.version is ABSENT else CLIENT_CAPABILITIES
        return _invalid(f"params._meta lacks '{missing}'", request.id)
    if not is_object(meta.capabilities):
        return _invalid(f"params._meta['{CLIENT_CAPABILITIES}'] must be an object", request.id)
    version = read_text(meta.version)
    wrong = None if headers is None else _disagreement(request.method, params, version, headers)
    if wrong is not None:
        return mismatch(wrong, request.id)
    if version is None:
        return _invalid(f"params._meta['{PROTOCOL_VERSION}'] must be a string", request.id)
    if version != MODERN:
        return unsupported_version(version, request.id)
    if request.method not in METHODS:
        return Refusal(404, METHOD_NOT_FOUND, f"Method not found: {request.method}", id=request.id)
    return None


def write_envelope(revision: str, client_info: Raw, capabilities: Raw = EMPTY_OBJECT) -> Fields:
    """The `_meta` of our own requests, with what can be asked of whoever is behind them."""
    return {
        PROTOCOL_VERSION: to_raw(revision),
        CLIENT_CAPABILITIES: capabilities,
        CLIENT_INFO: client_info,
    }


def _check_notification(notification: Notification, headers: Headers | None) -> Refusal | None:
    """A notification owes no envelope; what it says of its version must agree and be ours."""
    if headers is None:
        return None
    doubled = _doubled(headers)
    if doubled is not None:
        return mismatch(f"{doubled} header appears more than once")
    _, meta = _read(notification.params)
    named = _single(headers, "mcp-protocol-version")
    if meta is not None and meta.version is not ABSENT and read_text(meta.version) != named:
        return mismatch("MCP-Protocol-Version header does not match the version in the body")
    if named != MODERN:
        return unsupported_version(named or "")
    return None


def _read(params: Raw | None) -> tuple[_Params, _Meta | None]:
    if params is None or not is_object(params):
        return _Params(), None
    try:
        read = _params_decoder.decode(params)
        return read, _meta_decoder.decode(read.meta) if read.meta is not ABSENT else None
    except _unreadable:
        return _Params(), None


def _doubled(headers: Headers) -> str | None:
    return next((name for name in _ROUTING if len(headers.get(name, ())) > 1), None)


def _disagreement(method: str, params: _Params, version: str | None, headers: Headers) -> str | None:
    """What is wrong with the routing headers, as a sentence."""
    named_version = _single(headers, "mcp-protocol-version")
    if named_version is None:
        return "MCP-Protocol-Version header is missing"
    if named_version != version:
        return "MCP-Protocol-Version header does not match the version in the body"
    named_method = _single(headers, "mcp-method")
    if named_method is None:
        return "Mcp-Method header is missing"
    if named_method != method:
        return "Mcp-Method header does not match the method in the body"
    key = NAMING.get(method)
    target = params.name if key == "name" else params.uri if key == "uri" else params.task_id
    if key is None or target is ABSENT or is_null(target):
        return None
    named = _single(headers, "mcp-name")
    if named is None:
        return None if key == _NAMED_BY_AN_EXTENSION else "Mcp-Name header is missing"
    decoded = decode_value(named)
    if decoded is None or decoded != read_text(target):
        return f"Mcp-Name header does not match params.{key}"
    return None


def _single(headers: Headers, name: str) -> str | None:
    values = headers.get(name)
    return values[0].strip(" \t") if values else None


def _invalid(message: str, request_id: RequestId) -> Refusal:
    return Refusal(400, INVALID_PARAMS, message, id=request_id)
