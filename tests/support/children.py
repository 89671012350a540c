"""Programs that a runner starts beside itself: started with their output in a file, waited for, and surely ended.

It is for whole programs on real ports (`make conformance`, `make interop`), and no fixture of the fast tests. The one
rule: a child has its own process group, and leaving the block ends all of it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

STOP_SECONDS = 5.0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def running(
    command: Sequence[str],
    log: Path,
    port: int | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float = 60.0,
) -> Iterator[subprocess.Popen[bytes]]:
    """A program, from when it listens on its port (if it has one) to the end of the block."""
    with open(log, "ab") as out:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env, start_new_session=True
        )
    try:
        if port is not None:
            _wait_for(child, port, log, seconds)
        yield child
    finally:
        _end(child)


def _wait_for(child: subprocess.Popen[bytes], port: int, log: Path, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not _listens(port):
        if child.poll() is not None or time.monotonic() > deadline:
            ended = "ended" if child.poll() is not None else f"did not listen within {seconds:g} s"
            raise RuntimeError(f"{log.stem} {ended}:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)


def _listens(port: int) -> bool:
    with socket.socket() as one:
        one.settimeout(0.5)
        return one.connect_ex(("127.0.0.1", port)) == 0


def _end(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(STOP_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait(STOP_SECONDS)
