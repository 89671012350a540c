"""What to do when a configuration is read again: which servers start, stop, or stay as they are.

The one rule: pure; it compares definitions by value, so a file that was merely reformatted changes nothing, and what
somebody has made of a server at run time is theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from emceepee.backends.definition import ServerDefinition


@dataclass(slots=True, frozen=True)
class Changes:
    """`put` has what is new, or another than it was; `remove` what is gone; `left` what the file would change, if it
    had not been added, changed or removed at run time."""

    put: tuple[ServerDefinition, ...]
    remove: tuple[str, ...]
    keep: tuple[str, ...]
    left: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.put or self.remove or self.left)


def changes(
    old: Iterable[ServerDefinition], new: Iterable[ServerDefinition], present: Mapping[str, ServerDefinition]
) -> Changes:
    """`old` and `new` are what the file said before and says now, `present` what there is. Orders are those of the
    arguments."""
    before, after = ({definition.name: definition for definition in each} for each in (old, new))
    put, keep, left = [], [], []
    for name, definition in after.items():
        there = present.get(name)
        if before.get(name) == definition or there == definition:
            keep.append(name)
        elif there is not None and there != before.get(name):
            left.append(name)
        else:
            put.append(definition)
    gone = [name for name in before if name not in after and name in present]
    remove = [name for name in gone if present[name] == before[name]]
    left += [name for name in gone if name not in remove]
    return Changes(tuple(put), tuple(remove), tuple(keep), tuple(left))
