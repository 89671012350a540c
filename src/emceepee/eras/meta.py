"""What `_meta` holds: which of its keys are valid on one connection only, and which may cross.

Not here: the envelope ladder of the modern era. The one rule: a key in `HOP_LOCAL` never leaves the connection that it
came by, everything else in `_meta` crosses as it is; of the trace context only the parent changes.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Raw

from emceepee.eras.peek import TopLevel, is_null, is_object
from emceepee.errors import ClientFault
from emceepee.protocol.messages import INVALID_PARAMS, RequestId
from emceepee.vocabulary.names import LOG_LEVELS, LogLevel
from emceepee.vocabulary.raw_json import Fields, NotThatShape, Payload, read_fields, read_text, to_raw

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
RELATED_TASK = "io.modelcontextprotocol/related-task"
PROGRESS_TOKEN = "progressToken"
VIA = "dev.emceepee/via"
"""Ours: how the caller behind us introduced itself. Display only."""

CALL_MARK = "dev.emceepee/call"
"""Ours: names a call to servers that send it back with what they ask. Valid on one connection."""

WORKSPACE = "dev.emceepee/workspace"
"""Ours: the handle of the workspace that a request belongs to. A bearer secret, so no server sees it."""

HOP_LOCAL = frozenset(
    (
        PROTOCOL_VERSION,
        CLIENT_CAPABILITIES,
        CLIENT_INFO,
        LOG_LEVEL,
        SERVER_INFO,
        SUBSCRIPTION_ID,
        RELATED_TASK,
        PROGRESS_TOKEN,
        VIA,
        CALL_MARK,
        WORKSPACE,
    )
)

_META = TopLevel("_meta")
_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_token_decoder: msgspec.json.Decoder[int | str] = msgspec.json.Decoder(int | str)


class SplitParams(msgspec.Struct, frozen=True):
    """Request params taken apart: what crosses, and what was said to us alone."""

    params: Fields
    crossing: Fields
    token: RequestId | None = None
    log_level: LogLevel | None = None
    capabilities: Fields | None = None
    client_info: Raw | None = None
    workspace: str | None = None


def split_meta(params: Fields) -> SplitParams:
    """Takes `_meta` out of params (a new dict) and sorts its keys. Raises `ClientFault` where one has a wrong type."""
    raw = params.get("_meta")
    if raw is None:
        return SplitParams(params, {})
    rest = params.copy()
    del rest["_meta"]
    if is_null(raw):
        return SplitParams(rest, {})
    try:
        meta = read_fields(raw)
    except NotThatShape:
        raise ClientFault(INVALID_PARAMS, "params._meta must be an object") from None
    meta.pop(PROTOCOL_VERSION, None)
    info = meta.pop(CLIENT_INFO, None)
    return SplitParams(
        params=rest,
        token=_token(meta.pop(PROGRESS_TOKEN, None)),
        log_level=_level(meta.pop(LOG_LEVEL, None)),
        capabilities=_capabilities(meta.pop(CLIENT_CAPABILITIES, None)),
        client_info=info if info is not None and is_object(info) else None,
        workspace=_workspace(meta.pop(WORKSPACE, None)),
        crossing={key: value for key, value in meta.items() if key not in HOP_LOCAL} if meta else meta,
    )


def without_hop_local(payload: Payload) -> Payload:
    """A result whose `_meta` holds nothing of the backend's own connection. The same one if there was nothing."""
    if not _META.in_any(payload):
        return payload
    kept = crossing_only(payload.fields())
    return payload if kept is None else Payload(fields=kept)


def crossing_only(fields: Fields) -> Fields | None:
    """The fields with `_meta` reduced to what may cross, or None when it already was."""
    raw = fields.get("_meta")
    if raw is None or not is_object(raw):
        return None
    meta = read_fields(raw)
    if HOP_LOCAL.isdisjoint(meta):
        return None
    crossing = {key: value for key, value in meta.items() if key not in HOP_LOCAL}
    kept = {key: value for key, value in fields.items() if key != "_meta"}
    return {**kept, "_meta": to_raw(crossing)} if crossing else kept


def continue_trace(meta: Fields, span: str) -> Fields:
    """The same trace with us as the parent; `span` is 16 hex digits, new for each call. A broken context is dropped."""
    raw = meta.get("traceparent")
    if raw is None:
        return meta
    found = _TRACEPARENT.fullmatch(read_text(raw) or "")
    if found is None or found[1] == "ff" or (found[5] and found[1] == "00") or not (_nonzero(found[2], found[3])):
        return {key: value for key, value in meta.items() if key not in ("traceparent", "tracestate")}
    return {**meta, "traceparent": to_raw(f"00-{found[2]}-{span}-{found[4]}")}


def _nonzero(*identifiers: str) -> bool:
    return all(identifier.strip("0") for identifier in identifiers)


def _token(raw: Raw | None) -> RequestId | None:
    if raw is None or is_null(raw):
        return None
    try:
        return _token_decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ClientFault(INVALID_PARAMS, "params._meta.progressToken must be a string or an integer") from None


def _workspace(raw: Raw | None) -> str | None:
    if raw is None or is_null(raw):
        return None
    handle = read_text(raw)
    if handle is None:
        raise ClientFault(INVALID_PARAMS, f"params._meta['{WORKSPACE}'] must be a string")
    return handle


def _level(raw: Raw | None) -> LogLevel | None:
    if raw is None:
        return None
    level = read_text(raw)
    if level not in LOG_LEVELS:
        raise ClientFault(INVALID_PARAMS, f"params._meta['{LOG_LEVEL}'] must be one of {', '.join(LOG_LEVELS)}")
    return level


def _capabilities(raw: Raw | None) -> Fields | None:
    if raw is None:
        return None
    try:
        return read_fields(raw)
    except NotThatShape:
        raise ClientFault(INVALID_PARAMS, f"params._meta['{CLIENT_CAPABILITIES}'] must be an object") from None
