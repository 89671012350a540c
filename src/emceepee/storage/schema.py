"""The tables of the state file, as the steps that lead to them.

A step, once released, is never changed: whoever wants a table or a column adds a step at the end. A file of an older
gateway is led forward when it is opened; one of a newer gateway is left alone.

The one rule: no step loses what was accepted.
"""

from __future__ import annotations

APPLICATION_ID = 0x656D6370
"""Written into the file's head, so that nobody else's database is taken for ours."""

STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE life (one INTEGER PRIMARY KEY CHECK (one = 1), ended INTEGER NOT NULL)",
        "INSERT INTO life VALUES (1, 1)",
        # body: JSON of what nobody searches for.
        "CREATE TABLE server (name TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID",
        """CREATE TABLE task (
            id TEXT PRIMARY KEY, principal TEXT NOT NULL, place TEXT, status TEXT NOT NULL, told INTEGER NOT NULL,
            keep_until REAL NOT NULL, body BLOB NOT NULL) WITHOUT ROWID""",
        """CREATE TABLE shelf (
            shelf TEXT NOT NULL, name TEXT NOT NULL, at REAL NOT NULL, body BLOB NOT NULL,
            PRIMARY KEY (shelf, name)) WITHOUT ROWID""",
    ),
)

VERSION = len(STEPS)
