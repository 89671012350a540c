"""A program that is, to its children, what the gateway is: it starts stdio servers, calls one, and waits to be killed.

    python gateway_like.py PIDS MODE FLAG...

It starts two children on `stdio_server.py` with these flags and `--pids PIDS`, sends each a call that takes a minute,
and says "ready". MODE `wait` waits; `close` ends them in order; `die-unwatched` kills itself in the moment between
starting a child and telling the warden of it; `as-init` closes like the first process of a container, to which orphans
fall, and says "no zombies" if none is left.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from pathlib import Path

from emceepee.backends.children import Children
from emceepee.backends.definition import StdioLaunch
from emceepee.backends.stdio import StdioTransport
from emceepee.backends.transport import Origin
from emceepee.backends.warden import Warden
from emceepee.errors import BackendFault
from emceepee.protocol.messages import Message, write_request
from emceepee.runtime.clock import SystemClock

SERVER = str(Path(__file__).with_name("stdio_server.py"))
SLOW = b'{"name":"slow","arguments":{"seconds":60},"_meta":{"progressToken":"t"}}'


class FirstWord:
    """An inbox that knows when the child has begun."""

    def __init__(self) -> None:
        self.heard = asyncio.Event()

    def message(self, message: Message, origin: Origin) -> None:
        self.heard.set()

    def rubbish(self, detail: str, origin: Origin) -> None: ...

    def lost(self, fault: BackendFault) -> None: ...


class SuicidalWarden(Warden):
    def watch(self, group: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def become_reaper() -> None:
    """Linux: PR_SET_CHILD_SUBREAPER."""
    assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0


def zombies() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


async def main() -> None:
    pids, mode, *flags = sys.argv[1:]
    if mode == "as-init":
        become_reaper()
    clock = SystemClock()
    family = Children(clock)
    if mode == "die-unwatched":
        family.warden = SuicidalWarden(clock)
    transports = []
    for _ in range(2):
        launch = StdioLaunch(sys.executable, (SERVER, "--pids", pids, *flags))
        transport = StdioTransport("x", launch, clock, family)
        transports.append(transport)
        inbox = FirstWord()
        await transport.start(inbox)
        await transport.send(write_request("e1", "tools/call", SLOW))
        await inbox.heard.wait()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    if mode == "wait":
        await asyncio.Event().wait()
    for transport in transports:
        await transport.close()
    await family.close()
    if mode == "as-init" and not zombies():
        sys.stdout.write("no zombies\n")


if __name__ == "__main__":
    asyncio.run(main())
