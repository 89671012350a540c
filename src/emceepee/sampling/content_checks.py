"""Whether a message's content is what it says: kinds, required fields, media types, base64, annotations. Pure.

The one rule: each kind is one function, listed in `KINDS`; a kind that is not listed there is refused, because a model
cannot be given what nobody here understands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from emceepee.sampling.problem import Problem, Problems, is_unit, optional, wrong_kind

ROLES = ("user", "assistant")

Check: TypeAlias = Callable[[dict[str, Any], str], Problems]

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}(?:==)?|[A-Za-z0-9+/_-]{3}=?)?\Z")


def content_problems(content: Any, where: str) -> Problems:
    """Of one block, or of a list of them."""
    if isinstance(content, list):
        if not content:
            yield wrong_kind(where, content, "a content block, or a list of at least one")
        for index, block in enumerate(content):
            yield from block_problems(block, f"{where}[{index}]", KINDS)
    else:
        yield from block_problems(content, where, KINDS)


def block_problems(block: Any, where: str, kinds: dict[str, Check]) -> Problems:
    if not isinstance(block, dict):
        yield wrong_kind(where, block, "a content block")
        return
    check = kinds.get(block["type"]) if isinstance(block.get("type"), str) else None
    if check is None:
        expected = f"one of {', '.join(kinds)}"
        yield Problem(f"{where}.type", block.get("type"), expected, f"Unknown content type: {block.get('type')!s:.40}")
        return
    yield from check(block, where)
    yield from optional(block, "_meta", dict, "an object", where)
    yield from annotation_problems(block.get("annotations"), f"{where}.annotations")


def annotation_problems(annotations: Any, where: str) -> Problems:
    if annotations is None:
        return
    if not isinstance(annotations, dict):
        yield wrong_kind(where, annotations, "an object")
        return
    audience, priority = annotations.get("audience"), annotations.get("priority")
    if audience is not None and not (isinstance(audience, list) and all(one in ROLES for one in audience)):
        yield wrong_kind(f"{where}.audience", audience, "a list of user and assistant")
    if priority is not None and not is_unit(priority):
        yield wrong_kind(f"{where}.priority", priority, "a number from 0.0 to 1.0")
    yield from optional(annotations, "lastModified", str, "a string", where)


def _text(block: dict[str, Any], where: str) -> Problems:
    text = block.get("text")
    if not isinstance(text, str) or not text.strip():
        yield Problem(f"{where}.text", text, "text that is not empty", "Text content cannot be empty")


def _media(kind: str, article: str) -> Check:
    def check(block: dict[str, Any], where: str) -> Problems:
        data, mime_type = block.get("data"), block.get("mimeType")
        missing = f"{kind.capitalize()} content requires data and mimeType"
        for key, value in (("data", data), ("mimeType", mime_type)):
            if not isinstance(value, str) or not value:
                yield Problem(f"{where}.{key}", value, "data and mimeType", missing)
                return
        assert isinstance(mime_type, str)
        assert isinstance(data, str)
        if not mime_type.lower().startswith(f"{kind}/"):
            expected = f"{article} {kind} type such as {kind}/{'png' if kind == 'image' else 'wav'}"
            yield Problem(f"{where}.mimeType", mime_type, expected, f"Invalid {kind} MIME type")
        elif not _BASE64.match(data):
            yield wrong_kind(f"{where}.data", data, "base64")

    return check


def _tool_use(block: dict[str, Any], where: str) -> Problems:
    for key in ("id", "name"):
        if not isinstance(block.get(key), str) or not block[key]:
            yield wrong_kind(f"{where}.{key}", block.get(key), "a string")
    if not isinstance(block.get("input"), dict):
        yield wrong_kind(f"{where}.input", block.get("input"), "an object")


def _tool_result(block: dict[str, Any], where: str) -> Problems:
    if not isinstance(block.get("toolUseId"), str) or not block["toolUseId"]:
        yield wrong_kind(f"{where}.toolUseId", block.get("toolUseId"), "a string")
    content = block.get("content", [])
    if not isinstance(content, list):
        yield wrong_kind(f"{where}.content", content, "a list of content blocks")
    else:
        for index, one in enumerate(content):
            yield from block_problems(one, f"{where}.content[{index}]", RESULT_KINDS)
    yield from optional(block, "isError", bool, "true or false", where)


def _any_text(block: dict[str, Any], where: str) -> Problems:
    """A tool may well answer with an empty text."""
    if not isinstance(block.get("text"), str):
        yield wrong_kind(f"{where}.text", block.get("text"), "a string")


def _link(block: dict[str, Any], where: str) -> Problems:
    for key in ("uri", "name"):
        if not isinstance(block.get(key), str):
            yield wrong_kind(f"{where}.{key}", block.get(key), "a string")
    for key in ("title", "description", "mimeType"):
        yield from optional(block, key, str, "a string", where)
    size = block.get("size")
    if size is not None and (not isinstance(size, int) or isinstance(size, bool)):
        yield wrong_kind(f"{where}.size", size, "a whole number")


def _resource(block: dict[str, Any], where: str) -> Problems:
    resource = block.get("resource")
    if not isinstance(resource, dict):
        yield wrong_kind(f"{where}.resource", resource, "an object")
        return
    if not isinstance(resource.get("uri"), str):
        yield wrong_kind(f"{where}.resource.uri", resource.get("uri"), "a string")
    if not isinstance(resource.get("text", resource.get("blob")), str):
        yield wrong_kind(f"{where}.resource", resource, "an object with text or blob")
    yield from optional(resource, "mimeType", str, "a string", f"{where}.resource")
    yield from optional(resource, "_meta", dict, "an object", f"{where}.resource")


KINDS: dict[str, Check] = {
    "text": _text,
    "image": _media("image", "an"),
    "audio": _media("audio", "an"),
    "tool_use": _tool_use,
    "tool_result": _tool_result,
}
"""Of a message."""

RESULT_KINDS: dict[str, Check] = {
    "text": _any_text,
    "image": KINDS["image"],
    "audio": KINDS["audio"],
    "resource_link": _link,
    "resource": _resource,
}
"""Of a tool's result inside a message."""
