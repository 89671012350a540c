"""One SQLite file, opened safely and written a statement at a time, from the loop's own thread.

A write takes some microseconds and waits for no disk: what was accepted survives the death of the process, and after
the power failed the file is whole but may be some moments old.

The one rule: what goes wrong here stops nothing. A file that cannot be used is a sentence for the operator; a write
that fails later (the disk is full) is told once, leaves the file as it was, and the gateway goes on from memory.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from emceepee.errors import OperatorFault
from emceepee.storage.lock import FileLock, Taken
from emceepee.storage.schema import APPLICATION_ID, STEPS, VERSION

_log = logging.getLogger("emceepee.storage")

Statement: TypeAlias = tuple[str, Sequence[Any]]

BUSY_SECONDS = 2.0
"""For a person's own program that reads the file. Nobody else writes into it."""


class Unusable(OperatorFault):
    """Why a state file is not used, and what to do; the file itself has not been touched."""

    def __init__(self, path: Path, why: str, cure: str) -> None:
        super().__init__(f"the state file {path} is not used: {why}; {cure}")
        self.why = why


class Database:
    def __init__(self, path: Path) -> None:
        """Opens it, and makes it if there is none. Raises `Unusable`."""
        self.path = path
        self.failing: str | None = None
        """Why the last write was lost, until one succeeds again."""
        self._connection: sqlite3.Connection | None = None
        self._lock = _locked(path)
        try:
            self._connection = _opened(path)
            _led_forward(self._connection, path)
        except Unusable:
            self._let_go()
            raise
        except (OSError, sqlite3.Error) as error:
            self._let_go()
            raise Unusable(path, _reason(error), _CURES.get(type(error), _CURE)) from None

    # -- using it

    def write(self, sql: str, values: Sequence[Any] = ()) -> bool:
        """Whether it is written; then it is committed."""
        if self._connection is None:
            return False
        try:
            self._connection.execute(sql, values)
        except sqlite3.Error as error:
            self._failed(error)
            return False
        self._worked()
        return True

    def write_all(self, statements: Iterable[Statement]) -> bool:
        """All of them or none."""
        if self._connection is None:
            return False
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for sql, values in statements:
                self._connection.execute(sql, values)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            # A full disk has rolled it back already.
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            self._failed(error)
            return False
        self._worked()
        return True

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What cannot be read is as if it were not there, and is told."""
        if self._connection is None:
            return []
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            self._failed(error)
            return []

    def _failed(self, error: sqlite3.Error) -> None:
        why = _reason(error)
        if why != self.failing:
            self.failing = why
            _log.error("state_write_failed", extra={"data": {"file": str(self.path), "error": why}})

    def _worked(self) -> None:
        if self.failing is not None:
            self.failing = None
            _log.info("state_written_again", extra={"data": {"file": str(self.path)}})

    def close(self) -> None:
        """Idempotent; what is written afterwards is lost."""
        if self._connection is not None:
            self.write("UPDATE life SET ended = 1")
        self._let_go()

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()
        self._lock.release()


def _locked(path: Path) -> FileLock:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return FileLock(path.with_name(path.name + ".lock"))
    except Taken as taken:
        who = f" (process {taken.holder})" if taken.holder else ""
        cure = "stop that one, or give this one a file of its own with --state FILE"
        raise Unusable(path, f"another gateway{who} uses it", cure) from None
    except OSError as error:
        raise Unusable(path, _reason(error), _CURE) from None


def _opened(path: Path) -> sqlite3.Connection:
    # SQLite gives its other files the mode of this one. Definitions of servers hold secrets.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    with contextlib.suppress(OSError):
        path.chmod(0o600)
    connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECONDS)
    try:
        _refuse_strangers(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_strangers(connection: sqlite3.Connection, path: Path) -> None:
    """Before anything is written into it."""
    application, version = _number(connection, "application_id"), _number(connection, "user_version")
    empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if application != APPLICATION_ID and not (empty and application == 0):
        raise Unusable(path, "it is a database of another program", "give another file with --state FILE")
    if version > VERSION:
        why = f"a newer emceepee wrote it (format {version}, this one knows {VERSION})"
        raise Unusable(path, why, "start that version, or give another file with --state FILE")


def _led_forward(connection: sqlite3.Connection, path: Path) -> None:
    version = _number(connection, "user_version")
    if version and connection.execute("SELECT ended FROM life").fetchone() != (1,):
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise Unusable(path, f"it is damaged ({found})", _CURE_DAMAGED)
    connection.execute("BEGIN IMMEDIATE")
    for step in STEPS[version:]:
        for sql in step:
            connection.execute(sql)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("UPDATE life SET ended = 0")
    connection.execute("COMMIT")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    number: int = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    return number


def _reason(error: OSError | sqlite3.Error) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


_CURE = "make it writable, or give another file with --state FILE"
_CURE_DAMAGED = "move it away; the next start makes a new one"
_CURES: dict[type[Exception], str] = {sqlite3.DatabaseError: _CURE_DAMAGED}
"""`DatabaseError` itself is what SQLite says of a file that is none; its children mean the surroundings."""
