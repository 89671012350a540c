"""The terminal on which the gateway runs, as the place where somebody approves sampling.

The one rule: it asks only where a person can answer: on a real terminal, and never on streams that carry the protocol.
"""

from __future__ import annotations

import asyncio
import os
import sys

from emceepee.config.settings import Settings
from emceepee.errors import OperatorFault
from emceepee.sampling.approvers.terminal import TerminalApprover

_MOST_BYTES = 65_536


def approver(settings: Settings, serving: bool) -> TerminalApprover | None:
    """None where the settings name another. Raises `OperatorFault` where there is no terminal."""
    if settings.sampling.approver != "terminal":
        return None
    if not serving or sys.stdin is None or not sys.stdin.isatty():
        raise OperatorFault(
            "'sampling.approver' is 'terminal', and nobody can answer there: use 'emceepee serve' in a terminal, or "
            "approve by the client"
        )
    return TerminalApprover(show, read_line)


def show(words: str) -> None:
    print(words, file=sys.stderr, end="", flush=True)


async def read_line(source: int = 0) -> str:
    """The next line, which a terminal hands over whole. Cancelled, it leaves what is typed for the next."""
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()
    loop.add_reader(source, _tell, readable)
    try:
        await readable
    finally:
        loop.remove_reader(source)
    return os.read(source, _MOST_BYTES).decode(errors="replace").rstrip("\r\n")


def _tell(readable: asyncio.Future[None]) -> None:
    if not readable.done():
        readable.set_result(None)
