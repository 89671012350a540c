"""Servers that a test scripts, behind the relay's two ports: a pool and its connections.

They keep what the ports promise (shared handles, faults, honoured wishes) and record everything that was asked of them.
They know no wire and no era.

The one rule: nothing happens here unless the test said so; a hanging server hangs until the test lets it go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from emceepee.backends.carried import OnOutcome
from emceepee.backends.definition import HttpEndpoint, ServerDefinition
from emceepee.backends.lifecycle import State, Status
from emceepee.backends.registry import Registry
from emceepee.errors import BackendUnavailable, EmceepeeError
from emceepee.relay.middle import Middle
from emceepee.relay.settings import RelaySettings
from emceepee.relay.surface import OnNotice
from emceepee.runtime.spawn import TaskScope
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.asks import AskProfile
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.notices import Interest, Notice
from emceepee.vocabulary.outcomes import Begun, CacheHints, Done, Failed, Outcome
from emceepee.vocabulary.raw_json import Fields, Payload, read_value, to_raw
from tests.support.fake_clock import FakeClock

LIST_KEYS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
EVERYTHING: Fields = {
    "tools": to_raw({"listChanged": True}),
    "prompts": to_raw({"listChanged": True}),
    "resources": to_raw({"subscribe": True, "listChanged": True}),
    "completions": to_raw({}),
    "logging": to_raw({}),
}
Answer = Callable[[Call, OnNotice | None], Awaitable[Outcome]]


@dataclass
class FakeServer:
    """What one server is and does. `lists` holds plain entries by key; `pages` cuts them."""

    lists: dict[str, list[Any]] = field(default_factory=dict)
    about: About = field(default_factory=lambda: About(EVERYTHING, instructions=None, revision="2025-11-25"))
    hints: CacheHints | None = None
    page_size: int = 1000
    answer: Answer | None = None
    at_once: Callable[[Call, OnOutcome], Begun | None] | None = None
    fault: EmceepeeError | None = None
    hangs: bool = False
    deliverable: Interest | None = None
    asked: list[Call] = field(default_factory=list)
    timeouts: list[float] = field(default_factory=list)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)

    def release(self) -> None:
        """It hangs no more; what it owes is answered."""
        self.hangs = False
        self.let_go.set()

    def methods(self) -> list[str]:
        return [call.method for call in self.asked]


class FakeConnection:
    def __init__(self, server: FakeServer) -> None:
        self.server = server
        self.on_notice: OnNotice | None = None
        self.alive = True
        self.wants: list[Interest] = []
        self.levels: list[str] = []

    @property
    def about(self) -> About:
        return self.server.about

    async def request(self, call: Call, on_notice: OnNotice | None, timeout: float) -> Outcome:
        self.server.asked.append(call)
        self.server.timeouts.append(timeout)
        if self.server.hangs:
            await self.server.let_go.wait()
        if call.method in LIST_KEYS:
            return self._list(call)
        if self.server.answer is None:
            return Done(Payload.of({"content": [{"type": "text", "text": "ok"}]}))
        return await self.server.answer(call, on_notice)

    def begin(self, call: Call, on_notice: OnNotice | None, timeout: float, ended: OnOutcome) -> Begun | None:
        if self.server.at_once is None:
            return None
        self.server.asked.append(call)
        return self.server.at_once(call, ended)

    def _list(self, call: Call) -> Outcome:
        key = LIST_KEYS[call.method]
        entries = self.server.lists.get(key, [])
        start = int(read_value(call.params["cursor"]) or 0) if "cursor" in call.params else 0
        end = start + self.server.page_size
        result: dict[str, Any] = {key: entries[start:end]}
        if end < len(entries):
            result["nextCursor"] = str(end)
        return Done(Payload.of(result), self.server.hints)

    async def want(self, interest: Interest) -> Interest:
        self.wants.append(interest)
        can = self.server.deliverable
        return interest if can is None else Interest(interest.lists & can.lists, interest.uris & can.uris)

    async def set_log_level(self, level: str) -> None:
        self.levels.append(level)

    def tell(self, notice: Notice) -> None:
        """As if the server had said it."""
        assert self.on_notice is not None, "nobody has introduced itself to this connection"
        self.on_notice(notice)


class FakePool:
    """`servers` by name; whoever is not there cannot be reached."""

    def __init__(self, servers: dict[str, FakeServer]) -> None:
        self.servers = servers
        self.connections: dict[tuple[str, str], FakeConnection] = {}
        self.connects: dict[tuple[str, str], int] = {}
        self.errors: dict[tuple[str, str], str] = {}
        self.dropped: list[str] = []
        self.released: list[str] = []
        self.connecting: dict[str, asyncio.Event] = {}
        self.dropping: dict[str, asyncio.Event] = {}
        self.profiles: dict[tuple[str, str], AskProfile] = {}
        """What the last call that needed just that let its server ask."""
        self.told_of_roots: list[str] = []

    async def connection(
        self, server: str, scope: str, profile: AskProfile | None = None, call: Call | None = None
    ) -> FakeConnection:
        key = server, scope
        if profile is not None:
            self.profiles[key] = profile
        if key in self.connections:
            return self.connections[key]
        if server in self.connecting:
            await self.connecting[server].wait()
        fake = self.servers.get(server)
        if fake is None or fake.fault is not None:
            fault = fake.fault if fake and fake.fault else BackendUnavailable(server, "connection refused")
            self.errors[key] = str(fault)
            raise fault
        self.connects[key] = self.connects.get(key, 0) + 1
        self.errors.pop(key, None)
        return self.connections.setdefault(key, FakeConnection(fake))

    def ready(self, server: str, scope: str, profile: AskProfile | None = None) -> FakeConnection | None:
        return self.connections.get((server, scope))

    def status(self, server: str, scope: str) -> Status:
        key = server, scope
        state: State = "connected" if key in self.connections else "error" if key in self.errors else "not_connected"
        at = "2026-11-01T00:00:00.000Z" if state == "connected" else None
        return Status(state, at, self.errors.get(key), "2025-11-25" if at else None, self.connects.get(key, 0))

    def opening(self, server: str, scopes: Collection[str]) -> list[Call]:
        return []

    async def roots_changed(self, scope: str) -> None:
        self.told_of_roots.append(scope)

    def waits(self, scope: str) -> bool:
        return False

    def has_live(self, server: str, scope: str) -> bool:
        """Each scope has one here: the one that was lost."""
        return False

    async def try_out(self, definition: ServerDefinition) -> None:
        fake = self.servers.get(definition.name)
        if fake is None or fake.fault is not None:
            raise fake.fault if fake and fake.fault else BackendUnavailable(definition.name, "connection refused")

    async def reconnect(self, server: str, scope: str) -> FakeConnection:
        self.connections.pop((server, scope), None)
        return await self.connection(server, scope)

    async def release(self, scope: str) -> None:
        self.released.append(scope)
        for key in [key for key in self.connections if key[1] == scope]:
            del self.connections[key]

    async def drop(self, server: str) -> None:
        self.dropped.append(server)
        for key in [key for key in self.connections if key[0] == server]:
            del self.connections[key]
        if server in self.dropping:
            await self.dropping[server].wait()

    def lose(self, server: str, scope: str = "s") -> None:
        """The link is gone; the next use connects again."""
        del self.connections[server, scope]


@dataclass
class House:
    """A middle over fake servers, all of them configured, and what holds it up."""

    middle: Middle
    pool: FakePool
    registry: Registry
    clock: FakeClock
    tasks: TaskScope


def make_house(settings: RelaySettings | None = None, **servers: FakeServer) -> House:
    clock = FakeClock()
    registry = Registry(clock)
    for name in servers:
        registry.add(definition(name))
    pool = FakePool(dict(servers))
    tasks = TaskScope("test")
    return House(Middle(pool, registry, tasks, clock, settings), pool, registry, clock, tasks)


def definition(name: str, url: str | None = None) -> ServerDefinition:
    return ServerDefinition(name, HttpEndpoint(url or f"http://{name}.example/mcp"))


def caller(scope: str = "s") -> Caller:
    return Caller(scope=scope)


def call(method: str, scope: str = "s", **params: Any) -> Call:
    return Call(method, {key: to_raw(value) for key, value in params.items()}, caller(scope))


def plain(outcome: Outcome) -> Any:
    """A result as plain values."""
    assert isinstance(outcome, Done), outcome
    return read_value(outcome.payload.raw())


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}} | more


def text_result(text: str, **more: Any) -> Done:
    return Done(Payload.of({"content": [{"type": "text", "text": text}]} | more))


def answers(outcome: Outcome) -> Answer:
    async def answer(call: Call, on_notice: OnNotice | None) -> Outcome:
        return outcome

    return answer


def raises(*faults: EmceepeeError, then: Outcome | None = None) -> Answer:
    """The faults one call after the other, then an outcome."""
    left = list(faults)

    async def answer(call: Call, on_notice: OnNotice | None) -> Outcome:
        if left:
            raise left.pop(0)
        return then or Failed(-1, "nothing left")

    return answer
