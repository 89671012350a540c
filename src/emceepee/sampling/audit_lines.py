"""Records of sampling as lines of JSON in a file that does not grow for ever: full, it is put aside, and the one that
was aside is let go.

The one rule: a record that cannot be written is said in the log, once until one can be again, and never stops anything.
"""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path
from typing import IO

import msgspec

from emceepee.sampling.content import Json

_log = logging.getLogger("emceepee.sampling")


class AuditLines:
    """Implements `AuditLog`. Only its owner can read the file."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._file: IO[bytes] | None = None
        self._size = 0
        self._broken = False

    def record(self, entry: Json) -> None:
        line = msgspec.json.encode(entry) + b"\n"
        try:
            if self._size and self._size + len(line) > self._max_bytes:
                self._put_aside()
            file = self._open()
            file.write(line)
            file.flush()
            self._size += len(line)
            self._broken = False
        except OSError as error:
            self._failed(error)

    def _open(self) -> IO[bytes]:
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")
            self._size = self._file.tell()
        return self._file

    def _put_aside(self) -> None:
        self.close()
        self._path.replace(aside(self._path))

    def _failed(self, error: OSError) -> None:
        self.close()
        if not self._broken:
            data = {"file": str(self._path), "error": error.strerror or type(error).__name__}
            _log.error("sampling_audit_not_written", extra={"data": data})
        self._broken = True

    def close(self) -> None:
        file, self._file, self._size = self._file, None, 0
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()


def aside(path: Path) -> Path:
    """Where the lines before these are."""
    return path.with_name(f"{path.name}.1")
