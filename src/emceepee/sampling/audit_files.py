"""Which kind of record a file is, by its name, and what is in it, for whoever reads records.

The one rule: reading changes nothing, and a line that cannot be read is counted, not hidden.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from emceepee.sampling.audit import AuditLog, NoAudit
from emceepee.sampling.audit_lines import AuditLines, aside
from emceepee.sampling.audit_table import AuditTable
from emceepee.sampling.content import Json
from emceepee.sampling.settings import AuditSettings

_TABLES = (".db", ".sqlite", ".sqlite3")


def open_audit(settings: AuditSettings) -> AuditLog:
    if settings.file is None:
        return NoAudit()
    path = Path(settings.file).expanduser()
    if path.suffix in _TABLES:
        return AuditTable(path, settings.max_records)
    return AuditLines(path, settings.max_bytes)


@dataclass(slots=True, frozen=True)
class Wanted:
    """Of which records; None where it does not matter."""

    server: str | None = None
    outcome: str | None = None
    workspace: str | None = None

    def has(self, entry: Json) -> bool:
        asked = {"server": self.server, "outcome": self.outcome, "workspace": self.workspace}
        return all(value is None or entry.get(key) == value for key, value in asked.items())


@dataclass(slots=True, frozen=True)
class Found:
    """The newest records, the oldest of them first; `unread` lines were none."""

    entries: tuple[Json, ...]
    unread: int = 0


def read_audit(path: Path, wanted: Wanted, limit: int) -> Found:
    """Raises `OSError` where there is no such file, and `sqlite3.Error` where it is no table."""
    unread = 0
    kept: deque[Json] = deque(maxlen=limit)
    reading: Generator[str | bytes, None, None] = _rows(path) if path.suffix in _TABLES else _lines(path)
    with contextlib.closing(reading) as texts:
        for text in texts:
            try:
                entry = msgspec.json.decode(text)
            except msgspec.DecodeError:
                entry = None
            if not isinstance(entry, dict):
                unread += 1
            elif wanted.has(entry):
                kept.append(entry)
    return Found(tuple(kept), unread)


def _lines(path: Path) -> Generator[str | bytes, None, None]:
    for one in (aside(path), path):
        if one != path and not one.exists():
            continue
        with one.open("rb") as file:
            yield from file


def _rows(path: Path) -> Generator[str | bytes, None, None]:
    if not path.exists():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as base:
        for (entry,) in base.execute("SELECT entry FROM sampling_audit ORDER BY number"):
            yield entry
