"""Links and a dialer that a test scripts, behind the pool: they come and go when the test says so.

The one rule: nothing happens here unless the test said so; by default everything succeeds at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from emceepee.backends.carried import OnOutcome
from emceepee.backends.connection import Connection, Link, OnDoubt, OnNotice
from emceepee.backends.definition import ServerDefinition
from emceepee.backends.pool import OnLost
from emceepee.backends.recovery import Identity
from emceepee.errors import BackendFault, BackendUnavailable
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.asks import CLOSED, AskDoor
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.names import LogLevel
from emceepee.vocabulary.notices import Interest
from emceepee.vocabulary.outcomes import Begun, Done, Outcome
from emceepee.vocabulary.raw_json import Payload


class FakeLink:
    def __init__(self, on_lost: OnLost) -> None:
        self._on_lost = on_lost
        self.about = About(revision="2025-11-25")
        self.alive = True
        self.on_doubt: OnDoubt = lambda link, fault: None
        self.leased = False
        self.on_asks_beside: Callable[[], None] = lambda: None
        self.identity = Identity("one", "fake", "1", "2025-11-25")
        self.lasting = False
        self.silent_death = False
        self.asked = 0
        self.rubbish = 0
        self.children: tuple[int, ...] = ()
        self.pings: list[BackendFault] = []
        """What the next ones find; after them it answers."""
        self.pinged = 0
        self.closed = 0
        self.voided = 0
        self.wanted: list[Interest] = []
        self.levels: list[LogLevel] = []
        self.pending = 0
        self.left: list[str] = []
        self.told_of_roots = 0

    async def request(self, call: Call, on_notice: OnNotice | None, timeout: float, level: LogLevel | None) -> Outcome:
        return Done(Payload.of({"by": id(self)}))

    def begin(
        self, call: Call, on_notice: OnNotice | None, timeout: float, level: LogLevel | None, ended: OnOutcome
    ) -> Begun | None:
        return None

    async def ping(self, seconds: float) -> None:
        self.asked += 1
        self.pinged += 1
        if self.pings:
            raise self.pings.pop(0)

    async def want(self, who: Connection, interest: Interest) -> Interest:
        self.wanted.append(interest)
        return interest

    async def set_log_level(self, who: Connection, level: LogLevel) -> None:
        self.levels.append(level)

    def void_asks(self) -> None:
        self.voided += 1

    async def roots_changed(self) -> None:
        self.told_of_roots += 1

    async def leave(self, who: Connection) -> None:
        self.left.append(who.scope)

    async def close(self) -> None:
        self.alive = False
        self.closed += 1

    def lose(self, fault: BackendFault | None = None) -> None:
        self.alive = False
        self._on_lost(self, fault or BackendUnavailable("files", "it exited with code 1"))


class FakeDialer:
    """Dials at once, or when the test opens the gate; may fail, and may say that a link serves everyone."""

    def __init__(self) -> None:
        self.links: list[FakeLink] = []
        self.dials = 0
        self.doors: list[AskDoor] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.fault: BackendFault | None = None
        self.for_everyone = False
        self.known = True
        self.old = False
        self.made: Callable[[FakeLink], None] = lambda link: None
        """May change a link before anybody sees it."""

    def knows(self, definition: ServerDefinition) -> bool:
        return self.known

    def outdated(self, definition: ServerDefinition) -> bool:
        return self.old

    def forget(self, server: str) -> None:
        self.known = False

    async def dial(
        self,
        definition: ServerDefinition,
        on_lost: OnLost,
        door: AskDoor = CLOSED,
        on_said: Callable[[str], None] = lambda line: None,
    ) -> tuple[Link, bool]:
        self.dials += 1
        self.on_said = on_said
        self.doors.append(door)
        await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        self.known = True
        link = FakeLink(on_lost)
        self.made(link)
        self.links.append(link)
        return link, self.for_everyone
