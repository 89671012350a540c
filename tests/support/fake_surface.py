"""A surface without backends: tests say what it answers, and see what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec import Raw

from emceepee.relay.surface import Description, OnEnd, OnNotice, Unknown
from emceepee.relay.task_room import TaskRoom
from emceepee.runtime.ids import Ulids
from emceepee.sessions.workspaces import Workspaces
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.names import LogLevel, Scope
from emceepee.vocabulary.notices import Interest, Notice
from emceepee.vocabulary.outcomes import Begun, Done, Outcome
from emceepee.vocabulary.raw_json import Payload, to_raw
from tests.support.fake_clock import FakeClock

Answering: TypeAlias = Callable[[Call, OnNotice | None], Awaitable[Outcome]]


class FakeListener:
    def __init__(self, surface: FakeSurface, caller: Caller, interest: Interest, on_notice: OnNotice) -> None:
        self.caller = caller
        self.interest = interest
        self.on_notice = on_notice
        self._surface = surface
        self.changes = 0

    @property
    def honoured(self) -> Interest:
        return Interest(self.interest.lists, self.interest.uris - self._surface.unowned)

    async def change(self, interest: Interest) -> None:
        if self._surface.refusal is not None:
            raise self._surface.refusal
        self.interest = interest
        self.changes += 1

    async def close(self) -> None:
        self._surface.listeners.remove(self)


class FakeSurface:
    """Implements `relay.surface.Surface`. By default it echoes the call's params as the result."""

    name = "fake"

    def __init__(self, answering: Answering | None = None) -> None:
        self._answering = answering
        self.beginning: Callable[[Call, OnNotice | None, OnEnd], Begun | None] | None = None
        self.calls: list[Call] = []
        self.running = 0
        self.cancelled: list[Call] = []
        self.listeners: list[FakeListener] = []
        self.unowned: frozenset[str] = frozenset()
        self.refusal: Exception | None = None
        self.levels: list[tuple[Scope, LogLevel]] = []
        self.schemas: dict[str, Raw] = {}
        self.forgotten: list[Scope] = []
        self.roots_told: list[Scope] = []
        self.description = Description({"tools": Raw(b'{"listChanged":true}')}, "Use me")
        self.describing: Callable[[], Awaitable[None]] | None = None
        self.harmless = False
        self.clock = FakeClock()
        self.workspaces = Workspaces(self.clock, Ulids(self.clock, "slot0000"))
        self.tasks = TaskRoom(self.workspaces)

    async def describe(self, caller: Caller) -> Description:
        if self.describing is not None:
            await self.describing()
        return self.description

    async def carry(self, call: Call, on_notice: OnNotice | None) -> Outcome:
        self.calls.append(call)
        if self._answering is None:
            return Done(Payload(fields=dict(call.params)))
        self.running += 1
        try:
            return await self._answering(call, on_notice)
        except asyncio.CancelledError:
            self.cancelled.append(call)
            raise
        finally:
            self.running -= 1

    def repeatable(self, call: Call) -> bool:
        return self.harmless

    def begin(self, call: Call, on_notice: OnNotice | None, ended: OnEnd) -> Begun | None:
        """Not in the ordinary way only where the test says so."""
        return None if self.beginning is None else self.beginning(call, on_notice, ended)

    async def listen(self, caller: Caller, interest: Interest, on_notice: OnNotice) -> FakeListener:
        if self.refusal is not None:
            raise self.refusal
        listener = FakeListener(self, caller, interest, on_notice)
        self.listeners.append(listener)
        return listener

    def tell(self, notice: Notice) -> None:
        """To everybody who listens."""
        for listener in list(self.listeners):
            listener.on_notice(notice)

    async def set_log_level(self, caller: Caller, level: LogLevel) -> None:
        self.levels.append((caller.scope, level))

    async def roots_changed(self, caller: Caller) -> None:
        self.roots_told.append(caller.scope)

    def schema_at_hand(self, caller: Caller, tool: str) -> Raw | Unknown | None:
        return self.schemas.get(tool)

    async def input_schema(self, caller: Caller, tool: str) -> Raw | None:
        return self.schemas.get(tool)

    async def forget(self, scope: Scope) -> None:
        self.forgotten.append(scope)


class Held:
    """An answering that waits until the test lets it go on; `notice` speaks for the calls that wait."""

    def __init__(self, result: dict[str, object] | None = None) -> None:
        self._result = result if result is not None else {"content": []}
        self._go: list[asyncio.Future[None]] = []
        self.tellers: list[OnNotice] = []

    async def __call__(self, call: Call, on_notice: OnNotice | None) -> Outcome:
        waiting = asyncio.get_running_loop().create_future()
        self._go.append(waiting)
        if on_notice is not None:
            self.tellers.append(on_notice)
        await waiting
        return Done(Payload(raw=to_raw(self._result)))

    def go_on(self, which: int = 0) -> None:
        self._go[which].set_result(None)

    def notice(self, notice: Notice, which: int = 0) -> None:
        self.tellers[which](notice)
