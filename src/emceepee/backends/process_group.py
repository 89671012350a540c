"""A child and everything it started that stayed in its process group.

The group is the child's own (it leads a new session), so that ending it reaches the real server behind `npx`, `uvx` or
a shell script, also when the first process is gone already. Who left the group is found by his mark (`children`).
On Windows there are no such groups: only the direct child is meant (a known gap).

Where we are the first process of a container, orphans become our children, and would stay as zombies: they are reaped.

The one rule: never a signal to a group of which we do not know that it is ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys


class ProcessGroup:
    def __init__(self, child: asyncio.SubprocessTransport) -> None:
        self._child = child
        self.id = child.get_pid()
        self._gone = False

    def alive(self) -> bool:
        """Whether anybody is left in it. Once gone it stays gone: its number may be given to others."""
        self.reap()
        return self._signal(0)

    def reap(self) -> None:
        """The dead of the group whose parent we have become. The loop reaps the first child itself."""
        if sys.platform == "win32" or self._child.get_returncode() is None:
            return
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-self.id, os.WNOHANG)[0]:
                pass

    def terminate(self) -> bool:
        """Ask everybody in it to end. False when nobody is left."""
        return self._signal(signal.SIGTERM)

    def kill(self) -> bool:
        return self._signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)

    def _signal(self, number: int) -> bool:
        if self._gone:
            return False
        if sys.platform == "win32":
            self._gone = self._child.get_returncode() is not None
            if number and not self._gone:
                self._child.terminate()
            return not self._gone
        try:
            os.killpg(self.id, number)
        except OSError:  # nobody left; macOS says "not permitted" when only the dead are
            self._gone = True
        return not self._gone


def ending_in_words(returncode: int | None) -> str:
    """How a process ended, for people."""
    match returncode:
        case None:
            return "closed its output"
        case code if code >= 0:
            return f"exited with code {code}"
        case code:
            try:
                return f"was ended by {signal.Signals(-code).name}"
            except ValueError:
                return f"was ended by signal {-code}"
