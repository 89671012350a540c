"""The handles of workspaces beyond one run: a client that was given one can go on using it.

What a workspace held is gone, save its tasks; the handle leads to an empty one with these in it.

The one rule: a handle is a secret, so what is kept is only enough to know it again.
"""

from __future__ import annotations

from typing import Protocol


class HandleStore(Protocol):
    """By place (`state.kept_tasks.place_of`), whose it is. Nothing raises."""

    def put(self, place: str, principal: str) -> None: ...

    def remove(self, place: str) -> None:
        """An unknown one is fine."""
        ...

    def all(self) -> dict[str, str]: ...


class InMemoryHandles:
    """For as long as somebody holds on to it: the twin by which a restart can be tried without a file."""

    def __init__(self) -> None:
        self._handles: dict[str, str] = {}

    def put(self, place: str, principal: str) -> None:
        self._handles[place] = principal

    def remove(self, place: str) -> None:
        self._handles.pop(place, None)

    def all(self) -> dict[str, str]:
        return dict(self._handles)
