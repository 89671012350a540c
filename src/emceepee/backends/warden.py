"""The gateway's side of the warden: one small process that ends our children when we cannot.

It is not what ends a child in the ordinary way (`stdio.StdioTransport.close` does); it is what holds when the gateway
is killed, crashes, or is cut short. `warden_program` says what the other side does. One per gateway, started when the
first child is. Windows has no process groups: there is no warden, and a killed gateway leaves its children their closed
stdin (a known gap).

The one rule: a group is noted before its command runs, and struck out only when nobody is left in it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
from pathlib import Path

from emceepee.backends.marks import NAME
from emceepee.runtime.clock import Clock

_log = logging.getLogger("emceepee.backends")

_PROGRAM = Path(__file__).with_name("warden_program.py")
_MOST_RESTARTS = 5
_LAST_WAIT = 3.0


def interpreter() -> str | None:
    """A Python that can run our little programs, or None where there is none (Windows, or a frozen application)."""
    if sys.platform == "win32" or getattr(sys, "frozen", False):
        return None
    return sys.executable or None


class Warden:
    """Told of process groups; does nothing for as long as we live."""

    def __init__(self, clock: Clock, mark: str = "") -> None:
        """`mark` is how the marks of our children begin, and of what they start (`marks`)."""
        self._clock = clock
        self._mark = mark
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._starts = 0

    def watch(self, group: int) -> None:
        """Never raises: a child without a warden is better than none, and it is said in the log."""
        self._groups.add(group)
        if self._process is None:
            self._start()
        else:
            self._tell(b"+%d\n" % group)

    def forget(self, group: int) -> None:
        if group in self._groups:
            self._groups.discard(group)
            self._tell(b"-%d\n" % group)

    def _start(self) -> None:
        python = interpreter()
        if python is None or self._starts > _MOST_RESTARTS:
            return
        self._starts += 1
        try:
            self._process = subprocess.Popen(
                (python, "-I", "-S", str(_PROGRAM), self._mark),
                # It must not carry the mark of a gateway whose child we are: it has to outlive us by a moment.
                env={name: value for name, value in os.environ.items() if name != NAME},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            _log.warning("warden_unavailable", extra={"data": {"error": str(error)}})
            return
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
        for group in self._groups:
            self._tell(b"+%d\n" % group)

    def _tell(self, line: bytes) -> None:
        """One short write, which a pipe takes whole or not at all."""
        process = self._process
        if process is None or process.stdin is None:
            return
        try:
            os.write(process.stdin.fileno(), line)
        except BrokenPipeError:
            self._replace(process)
        except OSError as error:
            _log.warning("warden_unavailable", extra={"data": {"error": str(error)}})

    def _replace(self, dead: subprocess.Popen[bytes]) -> None:
        """Somebody ended the warden: a new one is told everything again."""
        self._process = None
        _drop(dead)
        _log.warning("warden_lost", extra={"data": {"restarted": self._starts <= _MOST_RESTARTS}})
        self._start()

    async def close(self) -> None:
        """Let it go. Groups still noted are ended by it now. Idempotent, bounded."""
        process, self._process = self._process, None
        self._groups.clear()
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        deadline = self._clock.now() + _LAST_WAIT
        while process.poll() is None and self._clock.now() < deadline:
            await self._clock.sleep(0.01)
        if process.poll() is None:
            _drop(process)


def _drop(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
        process.kill()
        process.wait(timeout=1)
