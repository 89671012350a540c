"""How much of a long list a model gets at once. Pure.

The one rule: an answer is bounded in entries and in bytes, says how many there are in all, and where to go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Raw

from emceepee.meta_tools.tool import Arguments, Param
from emceepee.vocabulary.names import ServerName
from emceepee.vocabulary.raw_json import Fields, to_raw

DEFAULT_LIMIT = 100
MAX_BYTES = 48_000
"""About twelve thousand tokens; the first entry is always given."""

PAGE_PARAMS: dict[str, Param] = {
    "limit": Param("integer", least=1, most=1000),
    "offset": Param("integer", least=0),
}


def page(key: str, entries: Sequence[Raw], arguments: Arguments) -> dict[str, Any]:
    """The part that was asked for, under `key`, with `total` and, if there is more, `next_offset`."""
    start = arguments.get("offset", 0)
    end = min(len(entries), start + arguments.get("limit", DEFAULT_LIMIT))
    shown: list[Raw] = []
    size = 0
    for entry in entries[start:end]:
        size += len(bytes(entry))
        if shown and size > MAX_BYTES:
            break
        shown.append(entry)
    part: dict[str, Any] = {key: shown, "total": len(entries)}
    if start + len(shown) < len(entries):
        part["next_offset"] = start + len(shown)
    return part


def with_server(server: ServerName, entry: Fields) -> Raw:
    """An entry that says whose it is, otherwise as it came."""
    return to_raw({"server": server} | {key: value for key, value in entry.items() if key != "server"})
