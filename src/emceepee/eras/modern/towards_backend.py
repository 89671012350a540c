"""What a modern backend is told, and what it answered, read.

Not here: connections, ids, deadlines, the era probe. The one rule: each request is complete in itself, and a result
that is anything but complete is not taken for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from msgspec import Raw

from emceepee.eras.asks import declare, read_wanted
from emceepee.eras.faults import Incomplete as Incomplete
from emceepee.eras.faults import Violation
from emceepee.eras.faults import read_failed as read_failed
from emceepee.eras.meta import CLIENT_CAPABILITIES, LOG_LEVEL, PROGRESS_TOKEN, VIA, continue_trace, crossing_only
from emceepee.eras.modern import far_tasks
from emceepee.eras.modern.cacheable import CACHEABLE, read_hints
from emceepee.eras.modern.discover import read_discover as read_discover
from emceepee.eras.modern.discover import supported_by as supported_by
from emceepee.eras.modern.discover import write_discover_params as write_discover_params
from emceepee.eras.modern.envelope import NAMING, write_envelope
from emceepee.eras.modern.header_values import encode_value
from emceepee.eras.modern.headers import ANNOTATION, HeaderMap, Invalid
from emceepee.eras.modern.headers import compile_header_map as compile_header_map
from emceepee.eras.modern.listen import listen_id_of as listen_id_of
from emceepee.eras.modern.listen import read_acknowledged as read_acknowledged
from emceepee.eras.modern.listen import write_listen as write_listen
from emceepee.eras.needs_asking import tool_that_asks as tool_that_asks
from emceepee.eras.notices import read_notice as read_notice
from emceepee.eras.notices import read_progress as read_progress
from emceepee.eras.peek import is_array, is_object, may_mention
from emceepee.eras.schemas import positions
from emceepee.vocabulary.calls import MAY_ASK, Call
from emceepee.vocabulary.outcomes import Done, Failed, InputNeeded
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

Header: TypeAlias = tuple[str, str]

_HINTS = ("ttlMs", "cacheScope")


def write_call(
    call: Call, token: str | None, revision: str, client_info: Raw, span: str | None = None, takes_task: bool = False
) -> bytes:
    """The params. `token` is our own progress token, `span` our place in the caller's trace; `takes_task` says that its
    server may make a task of it."""
    meta: dict[str, Any] = {**(call.meta if span is None else continue_trace(call.meta, span))}
    meta.update(write_envelope(revision, client_info))
    if takes_task:
        meta[CLIENT_CAPABILITIES] = far_tasks.capabilities(call.asks)
    elif call.asks:
        meta[CLIENT_CAPABILITIES] = declare(call.asks, "modern")
    if token is not None:
        meta[PROGRESS_TOKEN] = token
    if call.log_level is not None:
        meta[LOG_LEVEL] = call.log_level
    if call.caller.client_info is not None:
        meta[VIA] = call.caller.client_info
    if call.answers is None and call.state is None:
        return write({**call.params, "_meta": meta})
    again: dict[str, Any] = {} if call.answers is None else {"inputResponses": call.answers}
    if call.state is not None:
        again["requestState"] = call.state
    return write({**call.params, **again, "_meta": meta})


def headers(method: str, params: Fields, revision: str, header_map: HeaderMap | None = None) -> list[Header]:
    """What must stand in the headers of this request, made anew from its body."""
    written = [("MCP-Protocol-Version", revision), ("Mcp-Method", method)]
    key = NAMING.get(method)
    named = None if key is None else read_text(params.get(key))
    if named is not None:
        written.append(("Mcp-Name", encode_value(named)))
    if header_map is not None and header_map.params and method == "tools/call":
        written.extend(header_map.headers(params.get("arguments")))
    return written


def read_done(method: str, result: Raw, revision: str, known: Fields | None = None) -> Done:
    """A complete result without what this era adds to it; `known` is its top level, where the message told it. Raises
    `Incomplete` for one of another type, `Violation` for one that is no object."""
    try:
        fields = read_fields(result) if known is None else known.copy()
    except NotThatShape:
        raise Violation(f"its result of {method} is not an object") from None
    kind = "complete" if "resultType" not in fields else read_text(fields["resultType"])
    if kind != "complete":
        raise Incomplete(str(kind), fields)
    hints = None
    if method in CACHEABLE:
        hints = read_hints(fields)
        for key in _HINTS:
            fields.pop(key, None)
    fields.pop("resultType", None)
    kept = crossing_only(fields)
    return Done(Payload(fields=fields if kept is None else kept), hints)


def read_input_needed(call: Call, unfinished: Incomplete) -> InputNeeded:
    """What a server needs before it goes on. Raises `Violation` for what it may not ask."""
    fields = unfinished.fields
    requests, state = fields.get("inputRequests"), fields.get("requestState")
    if call.method not in MAY_ASK or (requests is None and state is None):
        raise unfinished
    asked = {} if requests is None else _requests(requests)
    wants = read_wanted(asked, call.asks)
    if isinstance(wants, Failed):
        raise Violation(f"it asks for what it may not: {wants.message}")
    if state is not None and read_text(state) is None:
        raise Violation("its requestState is no string")
    return InputNeeded(asked, wants, state)


def _requests(raw: Raw) -> Fields:
    if not is_object(raw):
        raise Violation("its inputRequests are no object")
    return read_fields(raw)


@dataclass(slots=True, frozen=True)
class Listing:
    """A page of tools that may be offered, and why others may not, by name."""

    done: Done
    dropped: tuple[tuple[str, str], ...] = ()


def filter_tools(done: Done, transport: Literal["http", "pipe"]) -> Listing:
    """Over HTTP, tools with invalid annotations are dropped; over a pipe they only lose the annotations, which mean
    nothing there. For backends of both eras."""
    if not may_mention(bytes(done.payload.raw()), b'"x-mcp-header"'):
        return Listing(done)
    listed = done.payload.get("tools")
    kept: list[Raw] = []
    dropped: list[tuple[str, str]] = []
    for tool in read_items(listed) if listed is not None and is_array(listed) else ():
        fields = read_fields(tool) if is_object(tool) else {}
        compiled = compile_header_map(fields.get("inputSchema"))
        if not isinstance(compiled, Invalid):
            kept.append(tool)
            continue
        dropped.append((read_text(fields.get("name")) or "", compiled.reason))
        if transport == "pipe":
            kept.append(to_raw({**fields, "inputSchema": _without_annotations(fields["inputSchema"])}))
    if not dropped:
        return Listing(done)
    return Listing(Done(done.payload.changed({"tools": kept}), done.hints, done.wrapped), tuple(dropped))


def _without_annotations(schema: Raw) -> Any:
    root = read_value(schema)
    for _, position in positions(root):
        position.pop(ANNOTATION, None)
    return root
