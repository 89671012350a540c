"""Looking at real processes: which live, and waiting, bounded, until they do not."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

STDIO_SERVER = str(Path(__file__).with_name("stdio_server.py"))


def alive(pid: int) -> bool:
    """A process that has ended and waits to be reaped is not alive."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    if sys.platform == "linux":
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}
    return True


async def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether it came true in time; it is looked at often, because processes tell nobody."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not condition():
        if loop.time() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True


async def all_gone(pids: Iterable[int], seconds: float) -> bool:
    pids = list(pids)
    return await until(lambda: not any(alive(pid) for pid in pids), seconds)


async def pids_in(path: Path, count: int, seconds: float = 10) -> list[int]:
    """The process ids that programs wrote into a file, once there are enough."""

    def found() -> list[int]:
        return [int(line) for line in path.read_text().splitlines()] if path.exists() else []

    assert await until(lambda: len(found()) >= count, seconds), f"only {found()} started"
    return found()
