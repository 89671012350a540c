"""One gateway for one state file, as long as it lives: a lock on a small file beside it.

Not SQLite's own lock: a person may look into the state file while the gateway runs, and whoever comes second is told
which process is there.

The one rule: the lock ends with the process, however it ends; the file stays, because to remove it would let in two.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _try_lock(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Taken(Exception):
    """Somebody else has it; `holder` is the process id that it wrote down, if it can be read."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


class FileLock:
    def __init__(self, path: Path) -> None:
        """Raises `Taken`, and `OSError` where there can be no such file."""
        self._fd: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _try_lock(self._fd)
        except OSError:
            holder = _read(self._fd)
            self.release()
            raise Taken(holder) from None
        os.ftruncate(self._fd, 0)
        os.write(self._fd, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Idempotent."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)


def _read(fd: int) -> str:
    try:
        text = os.read(fd, 20).decode("ascii", "replace").strip()
    except OSError:
        return ""
    return text if text.isdigit() else ""
