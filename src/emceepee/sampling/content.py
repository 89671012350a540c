"""What a message to or from a model holds: text, image, audio, and the use of tools, and its JSON form.

It checks nothing (that is `content_checks`). The one rule: a field that nobody here knows is kept in `rest` and written
back, and a field that is not set is left out, never null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

Json: TypeAlias = dict[str, Any]


@dataclass(slots=True, frozen=True)
class TextContent:
    text: str
    annotations: Json | None = None
    rest: Json = field(default_factory=dict, repr=False)

    type: ClassVar[str] = "text"

    def to_json(self) -> Json:
        return written({"type": self.type, "text": self.text, "annotations": self.annotations}, self.rest)


@dataclass(slots=True, frozen=True)
class ImageContent:
    """`data` is base64."""

    data: str = field(repr=False)
    mime_type: str
    annotations: Json | None = None
    rest: Json = field(default_factory=dict, repr=False)

    type: ClassVar[str] = "image"

    def to_json(self) -> Json:
        known = {"type": self.type, "data": self.data, "mimeType": self.mime_type, "annotations": self.annotations}
        return written(known, self.rest)


@dataclass(slots=True, frozen=True)
class AudioContent:
    """`data` is base64."""

    data: str = field(repr=False)
    mime_type: str
    annotations: Json | None = None
    rest: Json = field(default_factory=dict, repr=False)

    type: ClassVar[str] = "audio"

    def to_json(self) -> Json:
        known = {"type": self.type, "data": self.data, "mimeType": self.mime_type, "annotations": self.annotations}
        return written(known, self.rest)


@dataclass(slots=True, frozen=True)
class ToolUseContent:
    """The model wants one of the tools that the request offered."""

    id: str
    name: str
    input: Json
    rest: Json = field(default_factory=dict, repr=False)

    type: ClassVar[str] = "tool_use"

    def to_json(self) -> Json:
        return written({"type": self.type, "id": self.id, "name": self.name, "input": self.input}, self.rest)


@dataclass(slots=True, frozen=True)
class ToolResultContent:
    """What that tool gave. `content` are blocks as `tools/call` has them, in their JSON form."""

    tool_use_id: str
    content: Sequence[Json] = ()
    structured_content: Any = None
    is_error: bool | None = None
    rest: Json = field(default_factory=dict, repr=False)

    type: ClassVar[str] = "tool_result"

    def to_json(self) -> Json:
        known = {
            "type": self.type,
            "toolUseId": self.tool_use_id,
            "content": list(self.content),
            "structuredContent": self.structured_content,
            "isError": self.is_error,
        }
        return written(known, self.rest)


@dataclass(slots=True, frozen=True)
class UnknownContent:
    """A kind that is younger than this gateway; it crosses as it came."""

    type: str
    rest: Json = field(default_factory=dict, repr=False)

    def to_json(self) -> Json:
        return {"type": self.type, **self.rest}


Content: TypeAlias = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent | UnknownContent


def read_content(block: Mapping[str, Any]) -> Content:
    """Raises `KeyError` for a field that has to be there."""
    rest = dict(block)
    kind = rest.pop("type")
    match kind:
        case "text":
            return TextContent(rest.pop("text"), rest.pop("annotations", None), rest)
        case "image":
            return ImageContent(rest.pop("data"), rest.pop("mimeType"), rest.pop("annotations", None), rest)
        case "audio":
            return AudioContent(rest.pop("data"), rest.pop("mimeType"), rest.pop("annotations", None), rest)
        case "tool_use":
            return ToolUseContent(rest.pop("id"), rest.pop("name"), rest.pop("input"), rest)
        case "tool_result":
            tool_use_id, content = rest.pop("toolUseId"), tuple(rest.pop("content", ()))
            return ToolResultContent(
                tool_use_id, content, rest.pop("structuredContent", None), rest.pop("isError", None), rest
            )
        case _:
            return UnknownContent(kind, rest)


def read_contents(given: Any) -> Content | tuple[Content, ...]:
    """One block, or several where they come as a list."""
    return tuple(read_content(block) for block in given) if isinstance(given, list) else read_content(given)


def write_contents(content: Content | Sequence[Content]) -> Json | list[Json]:
    return [block.to_json() for block in content] if isinstance(content, Sequence) else content.to_json()


def written(known: Mapping[str, Any], rest: Mapping[str, Any]) -> Json:
    """The fields that are set, then those that are not ours."""
    return {**{key: value for key, value in known.items() if value is not None}, **rest}
