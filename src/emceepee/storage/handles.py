"""Implements `sessions.kept_handles.HandleStore` on a shelf of the state file.

The one rule: no handle is written down, only what it is known again by.
"""

from __future__ import annotations

from emceepee.runtime.clock import Clock
from emceepee.storage.database import Database
from emceepee.storage.shelf import Shelf


class SqliteHandles:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._shelf = Shelf(database, "handles", clock)

    def put(self, place: str, principal: str) -> None:
        self._shelf.put(place, principal.encode())

    def remove(self, place: str) -> None:
        self._shelf.remove(place)

    def all(self) -> dict[str, str]:
        return {place: body.decode(errors="replace") for place, body in self._shelf.all().items()}
