"""What the translations to and from providers' wires share: blocks of a message, plain text of a tool's result, base64
as everybody takes it, and blocks of an answer as one content. Pure.

The one rule: what a wire cannot carry is refused by name, never left out silently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from emceepee.sampling.content import Json
from emceepee.sampling.provider import ProviderFailed

_STANDARD = str.maketrans("-_", "+/")


def blocks_of(content: Any) -> list[Json]:
    return content if isinstance(content, list) else [content]


def cannot(what: str) -> ProviderFailed:
    return ProviderFailed("refused_request", f"{what} cannot be sent to this provider")


def standard_base64(data: str) -> str:
    """The usual alphabet, with its padding."""
    plain = data.translate(_STANDARD)
    return plain + "=" * (-len(plain) % 4)


def result_text(block: Mapping[str, Any]) -> str:
    """A tool's result for a wire that has only text for it."""
    said = [_one(part) for part in block.get("content") or ()]
    if not said and block.get("structuredContent") is not None:
        said = [msgspec.json.encode(block["structuredContent"]).decode()]
    return "\n".join(said)


def _one(part: Mapping[str, Any]) -> str:
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource_link", "uri": str(uri)}:
            return uri
        case {"type": str(kind)}:
            return f"[{kind}{', ' + part['mimeType'] if isinstance(part.get('mimeType'), str) else ''}]"
    return ""


def as_content(blocks: Sequence[Json]) -> Json | list[Json]:
    """One block where that says it all: what asked may be of a revision that knows no lists here."""
    if all(block["type"] == "text" for block in blocks):
        return {"type": "text", "text": "".join(block["text"] for block in blocks)}
    return blocks[0] if len(blocks) == 1 else list(blocks)


def count(usage: Any, *names: str) -> int | None:
    """The sum of these figures, of those that are there; None when none is."""
    given = [usage[name] for name in names if isinstance(usage.get(name), int)] if isinstance(usage, dict) else []
    return sum(given) if given else None
