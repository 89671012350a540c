"""Results rewritten for revisions that cannot say them.

Not here: errors, and anything for modern clients. The one rule: what a revision can say is never touched, fields and
content types that we do not know survive, and what must go leaves its meaning behind as text where it had one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Raw

from emceepee.eras.legacy.wrapping import wrapped_schema
from emceepee.eras.peek import TopLevel, is_array, is_object, may_mention
from emceepee.eras.revisions import older
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import Fields, Payload, read_fields, read_items, read_text, to_raw

Change: TypeAlias = Callable[[Fields], Fields | None]
"""Gives the changed fields, or None when there is nothing to change."""

_STRUCTURED = TopLevel("structuredContent")
_LISTED = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


def reshaped(method: str, done: Done, revision: str) -> Raw:
    """The result for a client of this revision."""
    untyped = older(revision, "2025-06-18")
    if method == "tools/call":
        if untyped:
            return _apply(done.payload, lambda fields: _untyped_result(fields, older(revision, "2025-03-26")))
        return _object_result(done)
    if method == "prompts/get" and untyped:
        return _apply(done.payload, lambda fields: _prompt(fields, older(revision, "2025-03-26")))
    if method == "tools/list":
        return _tools(done.payload, revision)
    if untyped and method in _LISTED:
        return _apply(done.payload, lambda fields: _entries(fields, _LISTED[method], lambda e: _less(e, ("title",))))
    return done.payload.raw()


def _apply(payload: Payload, change: Change) -> Raw:
    changed = change(payload.fields())
    return payload.raw() if changed is None else Payload(fields=changed).raw()


def _tools(payload: Payload, revision: str) -> Raw:
    if not older(revision, "2025-06-18"):
        if not may_mention(bytes(payload.raw()), b'"outputSchema"'):
            return payload.raw()
        return _apply(payload, lambda fields: _entries(fields, "tools", _object_schema))
    gone = ("outputSchema", "title", "annotations") if older(revision, "2025-03-26") else ("outputSchema", "title")
    return _apply(payload, lambda fields: _entries(fields, "tools", lambda entry: _less(entry, gone)))


def _object_schema(tool: Fields) -> Fields | None:
    schema = tool.get("outputSchema")
    if schema is None:
        return None
    wrapped = wrapped_schema(schema)
    if wrapped is schema:
        return None
    return _less(tool, ("outputSchema",)) if wrapped is None else {**tool, "outputSchema": wrapped}


def _object_result(done: Done) -> Raw:
    """Structured content is an object in these revisions; anything else travels under `result`."""
    payload = done.payload
    value = payload.get("structuredContent") if _STRUCTURED.in_any(payload) else None
    if value is None or (is_object(value) and not done.wrapped):
        return payload.raw()
    fields = payload.fields()
    changed = {**fields, "structuredContent": to_raw({"result": value})}
    return Payload(fields=_with_text_of(changed, value)).raw()


def _untyped_result(fields: Fields, oldest: bool) -> Fields | None:
    value = fields.get("structuredContent")
    changed = _content(fields, oldest) or fields
    if value is not None:
        changed = {key: raw for key, raw in _with_text_of(changed, value).items() if key != "structuredContent"}
    return None if changed is fields else changed


def _with_text_of(fields: Fields, value: Raw) -> Fields:
    """The same, with the value as JSON text in the content if nothing there is text."""
    content = fields.get("content")
    blocks = read_items(content) if content is not None and is_array(content) else []
    if any(_block_type(block) == "text" for block in blocks):
        return fields
    text = {"type": "text", "text": bytes(value).decode()}
    return {**fields, "content": to_raw([*blocks, text])}


def _content(fields: Fields, oldest: bool) -> Fields | None:
    content = fields.get("content")
    if content is None or not is_array(content):
        return None
    blocks = read_items(content)
    told = [_told(block, oldest) for block in blocks]
    if all(new is old for new, old in zip(told, blocks, strict=True)):
        return None
    return {**fields, "content": to_raw(told)}


def _prompt(fields: Fields, oldest: bool) -> Fields | None:
    return _entries(fields, "messages", lambda message: _prompt_message(message, oldest))


def _prompt_message(message: Fields, oldest: bool) -> Fields | None:
    block = message.get("content")
    told = None if block is None else _told(block, oldest)
    return None if told is None or told is block else {**message, "content": told}


def _told(block: Raw, oldest: bool) -> Raw:
    """The block, or a text block in its place where the revision has no such type."""
    match _block_type(block):
        case "resource_link":
            return _link_as_text(read_fields(block))
        case "audio" if oldest:
            return _audio_as_text(read_fields(block))
        case _:
            return block


def _link_as_text(link: Fields) -> Raw:
    name = read_text(link.get("title")) or read_text(link.get("name"))
    uri = read_text(link.get("uri")) or ""
    lines = [f"{name}: {uri}" if name else uri, read_text(link.get("description")) or ""]
    return to_raw({**link, "type": "text", "text": "\n".join(line for line in lines if line)})


def _audio_as_text(audio: Fields) -> Raw:
    kept: dict[str, Any] = {key: raw for key, raw in audio.items() if key != "data"}
    kind = read_text(audio.get("mimeType")) or "unknown type"
    return to_raw({**kept, "type": "text", "text": f"[audio, {kind}, which this client's revision cannot carry]"})


def _block_type(block: Raw) -> str | None:
    return read_text(read_fields(block).get("type")) if is_object(block) else None


def _entries(fields: Fields, key: str, change: Change) -> Fields | None:
    """Applies a change to each object of a list."""
    listed = fields.get(key)
    if listed is None or not is_array(listed):
        return None
    entries = read_items(listed)
    changed = [_entry(entry, change) for entry in entries]
    if all(new is old for new, old in zip(changed, entries, strict=True)):
        return None
    return {**fields, key: to_raw(changed)}


def _entry(entry: Raw, change: Change) -> Raw:
    changed = change(read_fields(entry)) if is_object(entry) else None
    return entry if changed is None else to_raw(changed)


def _less(fields: Fields, gone: tuple[str, ...]) -> Fields | None:
    if not any(key in fields for key in gone):
        return None
    return {key: raw for key, raw in fields.items() if key not in gone}
