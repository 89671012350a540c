"""A model's answer: who, what, which model, and why it stopped; read strictly, with the sloppy spelling that occurs.

The one rule: an answer that is not of this form is a `MalformedAnswer` that names the field, at once, and never an
empty answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from emceepee.sampling.content import Content, Json, TextContent, read_contents, write_contents, written
from emceepee.sampling.request import Role

END_TURN = "endTurn"
STOP_SEQUENCE = "stopSequence"
MAX_TOKENS = "maxTokens"
TOOL_USE = "toolUse"
CONTENT_FILTER = "contentFilter"
ERROR = "error"
"""Only beside content that was made before it went wrong; a failure without content is an error answer."""

_SLOPPY = {
    "end_turn": END_TURN,
    "stop_sequence": STOP_SEQUENCE,
    "max_tokens": MAX_TOKENS,
    "tool_use": TOOL_USE,
    "content_filter": CONTENT_FILTER,
}


class MalformedAnswer(ValueError):
    """What came back is no answer of a model."""


class UnexpectedContent(ValueError):
    """The answer holds no text, and text was asked for."""


@dataclass(slots=True, frozen=True)
class SamplingResponse:
    """`stop_reason` is an open set: what is not known here stays as it came."""

    role: Role
    content: Content | Sequence[Content]
    model: str
    stop_reason: str | None = None
    rest: Json = field(default_factory=dict, repr=False)

    def as_text(self) -> str:
        """The text, joined where it comes in parts. Raises `UnexpectedContent` when there is none at all."""
        blocks = self.content if isinstance(self.content, Sequence) else (self.content,)
        texts = [block.text for block in blocks if isinstance(block, TextContent)]
        if not texts:
            kinds = ", ".join(block.type for block in blocks) or "nothing"
            raise UnexpectedContent(f"the model answered with {kinds}, where text was asked for")
        return "".join(texts)

    def to_json(self) -> Json:
        known = {
            "role": self.role,
            "content": write_contents(self.content),
            "model": self.model,
            "stopReason": self.stop_reason,
        }
        return written(known, self.rest)


def read_response(given: Any) -> SamplingResponse:
    """Raises `MalformedAnswer`."""
    if not isinstance(given, Mapping):
        raise MalformedAnswer("it is not an object")
    rest = dict(given)
    role, model, stop = rest.pop("role", None), rest.pop("model", None), rest.pop("stopReason", None)
    if role not in ("user", "assistant"):
        raise MalformedAnswer("'role' must be assistant")
    if not isinstance(model, str) or not model:
        raise MalformedAnswer("'model' must name the model that answered")
    if stop is not None and not isinstance(stop, str):
        raise MalformedAnswer("'stopReason' must be a string")
    content = _content(rest.pop("content", None))
    return SamplingResponse(role, content, model, None if stop is None else _SLOPPY.get(stop, stop), rest)


def _content(given: Any) -> Content | tuple[Content, ...]:
    for block in given if isinstance(given, list) else [given]:
        if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
            raise MalformedAnswer('\'content\' must be a content block such as {"type": "text", "text": "..."}')
        if block["type"] == "text" and not isinstance(block.get("text"), str):
            raise MalformedAnswer("'content' of type text must have a 'text' that is a string")
    try:
        return read_contents(given)
    except KeyError as missing:
        raise MalformedAnswer(f"'content' lacks {missing}") from None
