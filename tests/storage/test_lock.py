"""One process holds the lock; it ends with the process, and says who has it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from emceepee.storage.lock import FileLock, Taken

HOLD = "import sys; from pathlib import Path; from emceepee.storage.lock import FileLock; "
HOLD += "held = FileLock(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"


def test_the_second_is_told_who_has_it_and_gets_it_after_that(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    first = FileLock(path)
    with pytest.raises(Taken) as caught:
        FileLock(path)
    assert caught.value.holder == str(os.getpid())
    first.release()
    first.release()
    FileLock(path).release()


def test_it_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(Taken) as caught:
            FileLock(path)
        assert caught.value.holder == str(process.pid)
        process.kill()
    FileLock(path).release()


def test_a_holder_that_wrote_nothing_is_nobody_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    held = FileLock(path)
    path.write_text("not a number")
    with pytest.raises(Taken) as caught:
        FileLock(path)
    assert caught.value.holder == ""
    held.release()
