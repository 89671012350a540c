"""A server in a few lines of text, for a model that may be told about it: its instructions, tools and resources.

It waits for nobody: what is not known or not connected is left out. The one rule: only what the server says of itself
to this scope anyway is in it, and never what anybody did with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Raw

from emceepee.errors import EmceepeeError
from emceepee.relay.middle import Middle
from emceepee.vocabulary.names import Scope, ServerName
from emceepee.vocabulary.raw_json import NotThatShape, read_fields, read_text

_MOST_ENTRIES = 30
_MOST_CHARACTERS = 200


async def server_words(middle: Middle, scope: Scope, server: ServerName | None) -> list[tuple[ServerName, str]]:
    """Of one server, or of all that this scope is connected to (None)."""
    names = [definition.name for definition in middle.registry.enabled()] if server is None else [server]
    return [(name, "\n".join(await _lines(middle, scope, name))) for name in names]


async def _lines(middle: Middle, scope: Scope, server: ServerName) -> list[str]:
    lines: list[str] = []
    if middle.pool.status(server, scope).state != "connected":
        return lines
    try:
        about = (await middle.reach.connection(server, scope)).about
    except EmceepeeError:
        return lines
    if about.instructions:
        lines.append(about.instructions.strip())
    for name, says in (("tools", "Tool"), ("resources", "Resource")):
        listed = middle.listing.known(server, scope, name)  # type: ignore[arg-type]
        lines += (f"{says} {one}" for one in _entries(listed.items if listed is not None else ()))
    return lines


def _entries(items: tuple[Raw, ...]) -> Iterator[str]:
    for item in items[:_MOST_ENTRIES]:
        try:
            fields = read_fields(item)
        except NotThatShape:
            continue
        name = read_text(fields.get("name")) or read_text(fields.get("uri")) or "?"
        about = " ".join((read_text(fields.get("description")) or "").split())
        yield f"{name}: {about}"[:_MOST_CHARACTERS] if about else name[:_MOST_CHARACTERS]
