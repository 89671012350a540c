"""What a server asks, told to a legacy client in the words of its revision, and its answer read; and the same answers
for legacy servers of older revisions.

Not here: ids, streams and time-outs. The one rule: what a revision can say passes as it came; what a client answered is
passed on only if it is an answer at all.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from emceepee.eras.asks import METHOD_OF
from emceepee.eras.meta import PROGRESS_TOKEN, crossing_only
from emceepee.eras.peek import is_array, is_object
from emceepee.eras.revisions import older
from emceepee.protocol.messages import INTERNAL_ERROR, RequestId, write_notification, write_request
from emceepee.vocabulary.asks import AskKind
from emceepee.vocabulary.outcomes import Done, Failed, Outcome
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

COMPLETE = "notifications/elicitation/complete"

_ACTIONS = ("accept", "decline", "cancel")
_MODES = "2025-11-25"
"""Since when elicitations have modes, and sampling lists of content and tools."""


def write_ask(request_id: RequestId, kind: AskKind, params: Raw, revision: str) -> bytes:
    """The whole request. Its id is its progress token."""
    try:
        fields = dict(read_fields(params))
    except NotThatShape:
        fields = {}
    fields.pop("task", None)
    if kind == "elicitation" and older(revision, _MODES):
        fields = _without_modes(fields)
    elif kind == "sampling" and older(revision, _MODES):
        fields = _without_lists(fields)
    raw = fields.pop("_meta", None)
    meta: dict[str, Any] = dict(read_fields(raw)) if raw is not None and is_object(raw) else {}
    return write_request(request_id, METHOD_OF[kind], write({**fields, "_meta": {**meta, PROGRESS_TOKEN: request_id}}))


def _without_modes(fields: Fields) -> Fields:
    """2025-06-18 knows forms only, a choice with titles under other names, and defaults of truths alone."""
    kept = {key: raw for key, raw in fields.items() if key not in ("mode", "elicitationId")}
    schema = kept.get("requestedSchema")
    if schema is None or not is_object(schema):
        return kept
    value = read_value(schema)
    properties = value.get("properties")
    if not isinstance(properties, dict):
        return kept
    changed = {name: _older_field(rules) for name, rules in properties.items()}
    return kept if changed == properties else {**kept, "requestedSchema": to_raw({**value, "properties": changed})}


def _older_field(rules: Any) -> Any:
    if not isinstance(rules, dict):
        return rules
    kept = {key: value for key, value in rules.items() if key != "default" or rules.get("type") == "boolean"}
    options = kept.get("oneOf")
    if isinstance(options, list) and all(isinstance(one, dict) and "const" in one for one in options):
        del kept["oneOf"]
        kept["enum"] = [one["const"] for one in options]
        kept["enumNames"] = [str(one.get("title", one["const"])) for one in options]
    return kept


def _without_lists(fields: Fields) -> Fields:
    """Older revisions have one block of content in each message, and no tools."""
    kept = {key: raw for key, raw in fields.items() if key not in ("tools", "toolChoice")}
    messages = kept.get("messages")
    if messages is None or not is_array(messages):
        return kept
    told = [to_raw(_single(read_fields(one))) if is_object(one) else one for one in read_items(messages)]
    return {**kept, "messages": to_raw(told)}


def _single(fields: Fields) -> Fields:
    """With its one block in place of a list of one; a longer list stays as it is."""
    content = fields.get("content")
    blocks = read_items(content) if content is not None and is_array(content) else []
    return {**fields, "content": blocks[0]} if len(blocks) == 1 else fields


def read_answer(kind: AskKind, result: Raw) -> Outcome:
    """What a client answered, without what belongs to its connection; an error in place of what is no answer."""
    try:
        fields = read_fields(result)
    except NotThatShape:
        return _malformed("it is no object")
    if kind == "elicitation" and read_text(fields.get("action")) not in _ACTIONS:
        return _malformed(f"'action' must be one of {', '.join(_ACTIONS)}")
    if kind == "roots" and not is_array(fields.get("roots", Raw(b"0"))):
        return _malformed("'roots' must be a list")
    kept = crossing_only(fields)
    return Done(Payload(raw=result) if kept is None else Payload(fields=kept))


def _malformed(what: str) -> Failed:
    return Failed(INTERNAL_ERROR, f"The client's answer cannot be used: {what}")


def answer_for(kind: AskKind, outcome: Outcome, revision: str) -> Outcome:
    """An answer as a server of this revision can read it."""
    if kind != "sampling" or not isinstance(outcome, Done) or not older(revision, _MODES):
        return outcome
    fields = outcome.payload.fields()
    if not is_array(fields.get("content", Raw(b"0"))):
        return outcome
    single = _single(fields)
    if single is fields:
        return Failed(INTERNAL_ERROR, "The answer has several blocks of content, which this revision cannot carry")
    return Done(Payload(fields=single))


def write_complete(elicitation_id: str) -> bytes:
    return write_notification(COMPLETE, write({"elicitationId": elicitation_id}))


def read_complete(params: Raw | None) -> str | None:
    """Which one is done."""
    try:
        return None if params is None else read_text(read_fields(params).get("elicitationId"))
    except NotThatShape:
        return None


def elicitation_id(params: Raw) -> str | None:
    return read_complete(params)


def required_ids(data: Raw | None) -> list[str]:
    """The ids in an error that says which addresses have to be gone to first."""
    return [found for one in required(data) if (found := read_text(one.get("elicitationId"))) is not None]


def required(data: Raw | None) -> list[Fields]:
    """The elicitations in such an error."""
    try:
        listed = None if data is None else read_fields(data).get("elicitations")
        return [] if listed is None else [read_fields(one) for one in read_items(listed)]
    except NotThatShape:
        return []
