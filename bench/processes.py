"""Programs started for a run: waited for, measured from outside through /proc, and stopped.

Linux only. The one rule: what is started here is stopped here, and the output of a program that fails is shown.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0
_KIBI = 1024


class CannotMeasure(RuntimeError):
    """A program did not start, or ended by itself. The text says which, and shows its last words."""


class Program:
    """A process of ours, with the processes it started."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name = name
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                list(command), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_for_port(self, port: int) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            self.must_be_running()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.05)
        raise CannotMeasure(f"{self.name} does not listen on port {port}:\n{self.last_words()}")

    def must_be_running(self) -> None:
        if self._process.poll() is not None:
            raise CannotMeasure(f"{self.name} ended with code {self._process.returncode}:\n{self.last_words()}")

    def last_words(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-15:])

    def cpu(self, without: str = "") -> float:
        """Seconds of user and system time so far, children included save those whose command line has that text."""
        return sum(_cpu_of(pid) for pid in family(self.pid) if not without or without not in _command_of(pid))

    def memory(self) -> int:
        """Bytes (PSS), children included."""
        return sum(_pss_of(pid) for pid in family(self.pid))

    def stop(self) -> None:
        """Politely, then with force, the whole process group of what is left."""
        if self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def family(pid: int) -> list[int]:
    """The process and all below it."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                after_name = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(after_name[1]), []).append(int(entry))
    found = [pid]
    for one in found:
        found.extend(children.get(one, ()))
    return found


def confine(pid: int, cores: Iterable[int]) -> None:
    """Lets the process, all below it and all their threads run on these cores only."""
    allowed = frozenset(cores)
    for member in family(pid):
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{member}/task"):
                os.sched_setaffinity(int(thread), allowed)


def _cpu_of(pid: int) -> float:
    """The process's own clock, to the nanosecond; /proc/PID/stat counts hundredths of a second."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def _pss_of(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * _KIBI
    except OSError:
        pass
    return 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def allow_many_files() -> None:
    """For thousands of open streams, here and in what is started from here."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
