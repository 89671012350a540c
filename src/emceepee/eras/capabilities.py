"""What a server may offer through us, in the words of its capabilities.

Not here: capabilities of clients. The one rule: an offer that we know we cannot carry is taken out, all others cross,
known to us or not.
"""

from __future__ import annotations

from typing import Any

from emceepee.eras.peek import is_object
from emceepee.vocabulary.raw_json import Fields, read_fields

TASKS_EXTENSION = "io.modelcontextprotocol/tasks"


def offered(capabilities: Fields) -> dict[str, Any]:
    """The same without tasks, of which there are two kinds: a former revision's own, and the extension."""
    kept: dict[str, Any] = {key: value for key, value in capabilities.items() if key != "tasks"}
    extensions = kept.get("extensions")
    if extensions is not None and is_object(extensions):
        kept["extensions"] = {key: raw for key, raw in read_fields(extensions).items() if key != TASKS_EXTENSION}
    return kept
