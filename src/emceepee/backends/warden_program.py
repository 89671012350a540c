"""The process that outlives the gateway by a moment, and ends the children it left.

It reads lines from stdin, which only the gateway holds: `+PGID` when a child's process group exists, `-PGID` when it is
gone. End of input means that the gateway is gone, however it died: the groups still noted get SIGTERM, and what is left
of them after a short grace SIGKILL; so do processes that left their group and carry the gateway's mark (`marks`). Where
the gateway ended its children itself, none is left and this just exits.

It is not imported by the gateway: it runs as `python -I -S warden_program.py MARK`, in a session of its own, with only
what the interpreter has loaded anyway, so that it costs little memory.

The one rule: nothing but the end of input ends it; signals meant for the gateway do not.
"""

from __future__ import annotations

import os
import select
import sys

_signals = __import__("_signal")  # the public module would double the time this takes to start

ROUNDS = 30
ROUND_SECONDS = 0.05


def follow(fd: int) -> set[int]:
    """Read until the end; the groups that were never said to be gone."""
    groups: set[int] = set()
    rest = b""
    while chunk := os.read(fd, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            group = int(line[1:])
            if line.startswith(b"+"):
                groups.add(group)
            else:
                groups.discard(group)
    return groups


def signal_group(group: int, number: int) -> bool:
    """Whether anybody is left in the group to take it."""
    try:
        os.killpg(group, number)
    except OSError:
        return False
    return True


def strays(mark: str) -> set[int]:
    """Living processes whose mark begins so; it is at the beginning of their environment or behind a NUL."""
    found: set[int] = set()
    sought = f"\0EMCEEPEE_CHILD={mark}".encode()
    for name in os.listdir("/proc") if mark else ():
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if name.isdigit() and sought in b"\0" + file.read():
                    found.add(int(name))
        except OSError:
            continue
    return found


def signal_stray(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except OSError:
        return


def end(groups: set[int], mark: str = "") -> None:
    left = {group for group in groups if signal_group(group, _signals.SIGTERM)}
    for process in strays(mark):
        signal_stray(process, _signals.SIGTERM)
    for _ in range(ROUNDS):
        left = {group for group in left if signal_group(group, 0)}
        if not left and not strays(mark):
            return
        select.select((), (), (), ROUND_SECONDS)
    for group in left:
        signal_group(group, _signals.SIGKILL)
    for process in strays(mark):
        signal_stray(process, _signals.SIGKILL)


def main() -> int:
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
        _signals.signal(getattr(_signals, name), _signals.SIG_IGN)
    end(follow(0), *sys.argv[1:2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
