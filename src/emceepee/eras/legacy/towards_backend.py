"""What a legacy backend is told, and what it answered, read.

Not here: connections, ids, deadlines. The one rule: a result passes as the bytes it came in, unless it holds something
that is valid on this connection only.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec import Raw

from emceepee.eras.asks import declare
from emceepee.eras.faults import URL_ELICITATION_REQUIRED as URL_ELICITATION_REQUIRED
from emceepee.eras.faults import Violation
from emceepee.eras.faults import read_failed as read_failed
from emceepee.eras.meta import CALL_MARK, continue_trace, without_hop_local
from emceepee.eras.notices import read_notice as read_notice
from emceepee.eras.notices import read_progress as read_progress
from emceepee.eras.peek import is_object
from emceepee.eras.revisions import LATEST_LEGACY, LEGACY, older
from emceepee.eras.schemas import positions
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.asks import NO_ASKS, AskProfile
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import (
    Fields,
    NotThatShape,
    Payload,
    read_fields,
    read_items,
    read_text,
    read_value,
    to_raw,
    write,
)

_DRAFT_07 = "http://json-schema.org/draft-07/schema#"
_BRACE = b"{"[0]
_old_dialect = re.compile(rb'"definitions"|"items"\s*:\s*\[')


def write_hello(client_info: Raw, profile: AskProfile = NO_ASKS) -> bytes:
    """The params of our `initialize`, with what we can be asked."""
    return write({"protocolVersion": LATEST_LEGACY, "capabilities": declare(profile), "clientInfo": client_info})


def read_welcome(result: Raw) -> About:
    """How the backend described itself. Raises `Violation` for rubbish and for a revision we cannot speak."""
    try:
        fields = read_fields(result)
        capabilities = fields.get("capabilities")
        offered = {} if capabilities is None else read_fields(capabilities)
    except NotThatShape:
        raise Violation("its answer to initialize is not of that shape") from None
    revision = read_text(fields.get("protocolVersion"))
    if revision is None:
        raise Violation("its answer to initialize names no protocol version")
    if revision not in LEGACY:
        raise Violation(f"it wants protocol version '{revision[:40]}', which has no handshake that we know")
    info = fields.get("serverInfo")
    return About(
        capabilities=offered,
        server_info=info if info is not None and is_object(info) else None,
        instructions=read_text(fields.get("instructions")),
        revision=revision,
    )


def write_call(
    call: Call, token: str | None, revision: str, span: str | None = None, mark: str | Literal[False] = False
) -> bytes:
    """The params. `token` is our own progress token, `span` our place in the caller's trace; the mark is for a server
    that sends it back with what it asks."""
    params = call.params
    if call.method == "completion/complete" and "context" in params and older(revision, "2025-06-18"):
        params = {key: value for key, value in params.items() if key != "context"}
    if token is None and not call.meta and not mark:
        return write(params)
    meta: dict[str, Any] = dict(call.meta if span is None else continue_trace(call.meta, span))
    if token is not None:
        meta["progressToken"] = token
    if mark:
        meta[CALL_MARK] = mark
    return write({**params, "_meta": meta} if meta else params)


def read_done(method: str, result: Raw, revision: str, fields: Fields | None = None) -> Done:
    """A result, with its top level where that is known. Raises `Violation` when it is no object."""
    view = memoryview(result)
    if not view.nbytes or view[0] != _BRACE:
        raise Violation(f"its result of {method} is not an object")
    payload = without_hop_local(Payload(result, fields))
    if method == "tools/list" and older(revision, "2025-11-25"):
        payload = _with_dialect(payload)
    return Done(payload)


def _with_dialect(payload: Payload) -> Payload:
    """Says "draft-07" in schemas that are plainly of that draft: these revisions had no dialect of their own, and the
    later ones would read them as 2020-12."""
    if _old_dialect.search(payload.raw()) is None:
        return payload
    listed = payload.get("tools")
    try:
        tools = [] if listed is None else [read_fields(tool) for tool in read_items(listed)]
    except NotThatShape:
        return payload
    return payload.changed({"tools": [_tool_with_dialect(tool) for tool in tools]})


def _tool_with_dialect(tool: Fields) -> Fields:
    return {key: _stamped(raw) if key in ("inputSchema", "outputSchema") else raw for key, raw in tool.items()}


def _stamped(schema: Raw) -> Raw:
    if not is_object(schema) or _old_dialect.search(schema) is None or "$schema" in read_fields(schema):
        return schema
    for _, position in positions(read_value(schema)):
        if "definitions" in position or isinstance(position.get("items"), list):
            return to_raw({"$schema": _DRAFT_07, **read_fields(schema)})
    return schema
