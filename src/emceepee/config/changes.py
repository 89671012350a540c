"""What to do when a configuration is read again: which servers start, stop, or stay as they are.

The one rule: pure; it compares definitions by value, so a file that was merely reformatted changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from emceepee.backends.definition import ServerDefinition


@dataclass(slots=True, frozen=True)
class Changes:
    """`stop` has what is gone and the old form of what changed; `start` what is new and its new form."""

    start: tuple[ServerDefinition, ...]
    stop: tuple[ServerDefinition, ...]
    keep: tuple[ServerDefinition, ...]


def changes(old: Iterable[ServerDefinition], new: Iterable[ServerDefinition]) -> Changes:
    """Stop first, then start; orders are those of the arguments. A disabled server is not running, so becoming enabled
    is a start and becoming disabled a stop."""
    running = {definition.name: definition for definition in old if not definition.disabled}
    wanted = {definition.name: definition for definition in new if not definition.disabled}
    return Changes(
        start=tuple(definition for name, definition in wanted.items() if running.get(name) != definition),
        stop=tuple(definition for name, definition in running.items() if wanted.get(name) != definition),
        keep=tuple(definition for name, definition in wanted.items() if running.get(name) == definition),
    )
