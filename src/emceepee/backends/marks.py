"""Which living processes are of a gateway's making: they carry its mark in their environment.

A child's environment is handed down, so a mark is carried by everything that it starts, also by what leads a process
group of its own or has lost its parent. It names the gateway by its process id, when that was started, and the
namespace in which both mean something, and after a colon which of its children that is. A program that is to outlive
its server on purpose takes the mark out of its environment. Only Linux shows environments (/proc); elsewhere nobody
carries one.

The one rule: a signal goes to a process that was just seen to carry the mark, by a handle on that very process, and
never to a number alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

NAME = "EMCEEPEE_CHILD"

Fits = Callable[[str], bool]

_PROC = Path("/proc")
_PREFIX = f"{NAME}=".encode()
_STATE, _START = 0, 19
"""Where /proc/PID/stat says whether it has ended, and when it began, counted from behind the command."""


def own_mark() -> str:
    """How this process marks its children, up to the colon; empty where marks cannot be seen."""
    began = _began(os.getpid())
    return "" if began is None else f"{os.getpid()}.{began}.{_namespace()}"


def maker_is_gone(mark: str) -> bool:
    """Whether the gateway of a mark lives no more. One of another namespace cannot be judged: it counts as alive."""
    pid, _, rest = mark.partition(":")[0].partition(".")
    began, _, namespace = rest.partition(".")
    if not pid.isdigit() or not began.isdigit() or namespace != _namespace():
        return False
    return _began(int(pid)) != int(began)


def marked(fits: Fits) -> dict[int, str]:
    """Living processes of ours that carry a fitting mark. Looks at every process there is, so not on the loop."""
    if sys.platform != "linux":
        return {}
    own, found = os.geteuid(), {}
    with contextlib.suppress(OSError), os.scandir(_PROC) as entries:
        for entry in entries:
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                mark = mark_of(int(entry.name)) if entry.stat().st_uid == own else None
                if mark is not None and fits(mark):
                    found[int(entry.name)] = mark
    return found


def mark_of(pid: int) -> str | None:
    """What a living process carries; one that has ended carries nothing."""
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    line = next((line for line in environment.split(b"\0") if line.startswith(_PREFIX)), None)
    return None if line is None else line[len(_PREFIX) :].decode("ascii", "replace")


def signal_marked(pid: int, mark: str, number: int) -> bool:
    """Whether it was there to take it, still carrying its mark."""
    if sys.platform != "linux":
        return False
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if mark_of(pid) != mark:
            return False
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _began(pid: int) -> int | None:
    """When it was started, in the machine's ticks; None when it has ended."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[_STATE] in ("Z", "X") else int(fields[_START])


def _namespace() -> str:
    try:
        return os.readlink(_PROC / "self" / "ns" / "pid").strip("pid:[]")
    except OSError:
        return ""
