"""The gate: nothing runs before the byte, nothing at all without it, and the command cannot tell that it was there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from emceepee.backends import gate_program

GATE = gate_program.__file__
SHOW_OPEN_FILES = "import os; print([fd for fd in range(3, 300) if os.path.exists(f'/dev/fd/{fd}')])"
SHOW_SIGNALS = "import signal; print(signal.getsignal(signal.SIGPIPE) == signal.SIG_DFL)"


def through_gate(
    *argv: str, said: bytes = b"\n", locale: str = "keep", **more: object
) -> subprocess.CompletedProcess[bytes]:
    command = (sys.executable, "-I", "-S", GATE, locale, *argv)
    return subprocess.run(command, input=said, capture_output=True, timeout=20, check=False, **more)  # type: ignore[call-overload, no-any-return]


def test_the_command_runs_when_the_byte_comes_and_reads_what_follows_it() -> None:
    assert through_gate("/bin/cat", said=b"\nrest").stdout == b"rest"


def test_nothing_runs_when_the_input_ends_first(tmp_path: Path) -> None:
    ended = through_gate("/usr/bin/touch", str(tmp_path / "ran"), said=b"")
    assert ended.returncode == 0
    assert not (tmp_path / "ran").exists()


def test_a_program_that_cannot_be_executed_is_said_with_the_shells_exit_code() -> None:
    ended = through_gate("/no/such/program")
    assert ended.returncode == 127
    assert ended.stderr == b"cannot execute '/no/such/program': No such file or directory\n"


def test_the_variable_that_python_sets_for_itself_is_taken_back() -> None:
    assert b"LC_CTYPE" not in through_gate("/usr/bin/env", locale="drop", env={"A.B": "1"}).stdout
    assert b"LC_CTYPE=C" in through_gate("/usr/bin/env", locale="keep", env={"LC_CTYPE": "C"}).stdout


def test_a_variable_with_an_unusual_name_goes_through() -> None:
    assert b"A.B-c=1\n" in through_gate("/usr/bin/env", locale="drop", env={"A.B-c": "1"}).stdout


def test_broken_pipes_end_the_command_as_they_would_have() -> None:
    """Python ignores SIGPIPE, and what is ignored is inherited: `yes | head` would never end."""
    ended = through_gate("/bin/sh", "-c", "kill -PIPE $$; echo survived")
    assert ended.returncode == -signal.SIGPIPE


def test_files_the_gateway_was_started_with_are_closed() -> None:
    reading, writing = os.pipe()
    try:
        ended = through_gate(sys.executable, "-c", SHOW_OPEN_FILES, pass_fds=(writing,))
    finally:
        os.close(reading)
        os.close(writing)
    assert ended.stdout.strip() == b"[]"
