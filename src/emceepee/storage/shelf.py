"""Bytes under names, for a part that wants to find again what it knew, and needs no table of its own for that.

The one rule: a shelf has its bound; when it is full, what was put there longest ago goes.
"""

from __future__ import annotations

from emceepee.runtime.clock import Clock
from emceepee.storage.database import Database

MAX_BYTES = 8 * 1024 * 1024
"""Of one item. A larger one is not put there."""


class Shelf:
    def __init__(self, database: Database, name: str, clock: Clock, limit: int = 10_000) -> None:
        self._database = database
        self._name = name
        self._clock = clock
        self._limit = limit

    def get(self, name: str) -> bytes | None:
        rows = self._database.rows("SELECT body FROM shelf WHERE shelf = ? AND name = ?", (self._name, name))
        return bytes(rows[0][0]) if rows else None

    def all(self) -> dict[str, bytes]:
        """In the order in which they were put there."""
        rows = self._database.rows("SELECT name, body FROM shelf WHERE shelf = ? ORDER BY at, name", (self._name,))
        return {name: bytes(body) for name, body in rows}

    def put(self, name: str, body: bytes) -> bool:
        """Whether it is there now; what was there under this name is gone then."""
        if len(body) > MAX_BYTES:
            return False
        at = self._clock.wall().timestamp()
        put = ("INSERT OR REPLACE INTO shelf VALUES (?, ?, ?, ?)", (self._name, name, at, body))
        trim = (
            "DELETE FROM shelf WHERE shelf = ? AND name IN "
            "(SELECT name FROM shelf WHERE shelf = ? ORDER BY at DESC, name LIMIT -1 OFFSET ?)",
            (self._name, self._name, self._limit),
        )
        return self._database.write_all((put, trim))

    def remove(self, name: str) -> None:
        self._database.write("DELETE FROM shelf WHERE shelf = ? AND name = ?", (self._name, name))
