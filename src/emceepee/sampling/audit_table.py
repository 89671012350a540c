"""Records of sampling as a table of SQLite, with the oldest gone when there are too many.

The one rule: as in `audit_lines`; and a record is whole in its column `entry`, the others only find it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from pathlib import Path

import msgspec

from emceepee.sampling.content import Json

_log = logging.getLogger("emceepee.sampling")

_FORM = """
CREATE TABLE IF NOT EXISTS sampling_audit (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL, timestamp TEXT NOT NULL, workspace TEXT NOT NULL,
    server TEXT NOT NULL, outcome TEXT NOT NULL, model TEXT, entry TEXT NOT NULL
)"""
_INSERT = (
    "INSERT INTO sampling_audit (id, timestamp, workspace, server, outcome, model, entry) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_PATIENCE = 0.1
"""Somebody else may read the file meanwhile; the gateway does not wait for him for long."""
_SPARE = 0.1


class AuditTable:
    """Implements `AuditLog`."""

    def __init__(self, path: Path, max_records: int) -> None:
        self._path = path
        self._most = max_records
        self._base: sqlite3.Connection | None = None
        self._count = 0
        self._broken = False

    def record(self, entry: Json) -> None:
        found = (entry["id"], entry["timestamp"], entry["workspace"], entry["server"], entry["outcome"])
        row = (*found, entry.get("model"), msgspec.json.encode(entry).decode())
        try:
            base = self._open()
            base.execute(_INSERT, row)
            self._count += 1
            if self._count > self._most:
                self._make_room(base)
            self._broken = False
        except (sqlite3.Error, OSError) as error:
            self._failed(error)

    def _open(self) -> sqlite3.Connection:
        if self._base is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
            base = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
            try:
                base.execute("PRAGMA journal_mode=WAL")
                base.execute("PRAGMA synchronous=NORMAL")
                base.execute(_FORM)
                (self._count,) = base.execute("SELECT count(*) FROM sampling_audit").fetchone()
            except sqlite3.Error:
                base.close()
                raise
            self._base = base
        return self._base

    def _make_room(self, base: sqlite3.Connection) -> None:
        """Some more than needed, so that this is done seldom."""
        gone = max(1, int(self._most * _SPARE))
        base.execute(
            "DELETE FROM sampling_audit WHERE number IN (SELECT number FROM sampling_audit ORDER BY number LIMIT ?)",
            (gone,),
        )
        self._count -= gone

    def _failed(self, error: Exception) -> None:
        self.close()
        if not self._broken:
            data = {"file": str(self._path), "error": type(error).__name__}
            _log.error("sampling_audit_not_written", extra={"data": data})
        self._broken = True

    def close(self) -> None:
        base, self._base = self._base, None
        if base is not None:
            with contextlib.suppress(sqlite3.Error):
                base.close()
