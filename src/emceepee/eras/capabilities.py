"""What a server may offer through us, in the words of its capabilities; and whether a client takes tasks.

The one rule: what we offer ourselves we say in the words of the era, all other offers cross, known to us or not.
"""

from __future__ import annotations

from typing import Any

from emceepee.eras.peek import is_object
from emceepee.vocabulary.raw_json import Fields, NotThatShape, read_fields

TASKS_EXTENSION = "io.modelcontextprotocol/tasks"


def offered(capabilities: Fields) -> dict[str, Any]:
    """The same without tasks, of which there are two kinds: a former revision's own, and the extension. A server's own
    never cross as they are, since its tasks become ours."""
    kept: dict[str, Any] = {key: value for key, value in capabilities.items() if key != "tasks"}
    extensions = kept.get("extensions")
    if extensions is not None and is_object(extensions):
        kept["extensions"] = {key: raw for key, raw in read_fields(extensions).items() if key != TASKS_EXTENSION}
    return kept


def declares_tasks(capabilities: Fields) -> bool:
    """Whether these name the extension, in a client's or a server's mouth."""
    extensions = capabilities.get("extensions")
    if extensions is None:
        return False
    try:
        return TASKS_EXTENSION in read_fields(extensions)
    except NotThatShape:
        return False
