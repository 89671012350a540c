"""One cell of the matrix: a gateway, a server that breaks in one way, and a client in the middle of something.

    seen = await Cell("stdio", "SIGKILL", "call running", folder, speed=12).run()

Outcomes are words, because that is what a client is told: `ok`, the `reason` of a fault in short, how a task ended, or
what became of an answer to a question. The one rule: a cell judges nothing; what should be stands in `expected`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from emceepee.app import Gateway
from emceepee.backends.definition import ServerDefinition
from emceepee.backends.http_endpoint import HttpSettings
from emceepee.config.settings import DEFAULTS, Timeouts
from emceepee.framing.json_text import Limits
from tests.conversations.house import Json, LegacyClient
from tests.conversations.meta_client import MetaClient, Told
from tests.faults.backends import backend_for
from tests.faults.fast_clock import FastClock
from tests.faults.http_server import URI
from tests.support.asgi_client import AsgiClient
from tests.support.processes import until

LARGEST = 2**17
"""What a message of a server may have here, so that too much is soon said."""
CALL_LIMIT = 8.0
"""Seconds of the fast clock that a call may take (`relay_call`, `execute`)."""
TASK_LIMIT = 15.0
CONNECT_SECONDS = 48.0
"""Of the fast clock: whoever waits for an attempt waits so long, which is some seconds for a process to start in."""
MENDED = 40.0
"""Longer than anything takes to heal."""

QUIET = ("hang", "slow loris", "500", "401", "rubbish", "oversized", "SIGSTOP")
"""What nobody notices who does not ask."""
NOTICED = 2.0
NOT_NOTICED = 0.25
"""Of the wall: how long something may take to be noticed, and how long it is seen that nothing is."""

SHORT = {
    "backend_unavailable": "unavailable",
    "backend_timeout": "timeout",
    "backend_auth": "auth",
    "backend_violation": "violation",
    "outcome_unknown": "unknown",
}


@dataclass
class Seen:
    """What the client saw, and how long it took: seconds of the fast clock, the longest wait of any one call."""

    running: str = "-"
    """What became of what was under way."""
    during: str = "-"
    """What a call was told that was made while the server was broken."""
    after: str = "-"
    """What the first call was told that was made once it was whole again."""
    again: str = "-"
    """What of the subscription, or of the new tools, was there again."""
    alone: float = 0.0
    """From the server being whole to a connection, without any call."""
    mended: float = 0.0
    """And to the first call that was answered."""
    longest: float = 0.0
    twice: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


class Cell:
    def __init__(self, transport: str, fault: str, state: str, folder: Path, speed: float) -> None:
        self.transport, self.fault, self.state = transport, fault, state
        folder.mkdir(parents=True)
        self.backend = backend_for(transport, fault, folder)
        self.clock = FastClock(speed)
        self.seen = Seen()
        self._keys = itertools.count(1)
        self._clients: list[AsgiClient] = []

    async def run(self) -> Seen:
        launch = await self.backend.start()
        definition = ServerDefinition("bad", launch, connect_timeout=CONNECT_SECONDS)
        times = Timeouts(relay_call=CALL_LIMIT, execute=CALL_LIMIT, task=TASK_LIMIT, ask=TASK_LIMIT)
        settings = dataclasses.replace(DEFAULTS, auto_connect=False, timeouts=times)
        self.gateway = Gateway(settings, (definition,), environment={}, clock=self.clock)
        dialer = self.gateway.backends.dialer
        http, pipes = HttpSettings(max_body_bytes=LARGEST, max_event_bytes=LARGEST), Limits(max_bytes=LARGEST)
        dialer._doors = dataclasses.replace(dialer._doors, over_http=http, over_pipes=pipes)
        try:
            await {"ask pending": self._with_an_ask}.get(self.state, self._with_a_call)()
            await self._nothing_left()
        finally:
            await self.gateway.close()
            for client in self._clients:
                await client.close()
            self.seen.left += await self.backend.left()
            await self.backend.close()
        taken = self.backend.taken()
        self.seen.twice = sorted(key for key, times in taken.items() if times > 1)
        return self.seen

    @property
    def _patience(self) -> float:
        return NOT_NOTICED if self.fault in QUIET else NOTICED

    # -- what clients do

    async def _client(self, path: str) -> LegacyClient:
        http = AsgiClient(self.gateway.front, path)
        self._clients.append(http)
        client = LegacyClient(http, "2025-11-25")
        await client.hello()
        return client

    def _key(self) -> str:
        return f"key-{next(self._keys)}"

    async def _timed(self, work: Any) -> Any:
        began = self.clock.now()
        try:
            return await work
        finally:
            self.seen.longest = max(self.seen.longest, self.clock.now() - began)

    async def _with_a_call(self) -> None:
        client = await self._client("/servers/bad/mcp")

        async def call(tool: str = "echo") -> str:
            asked = {"name": tool, "arguments": {"key": self._key()}}
            return outcome_of(await self._timed(client.call("tools/call", asked)))

        assert await call() == "ok"
        stream = None
        if self.state == "subscribed":
            stream = await client.get()
            assert await client.result("resources/subscribe", {"uri": URI}) == {}
            assert await self._heard(stream)
        if self.state == "call running":
            working = asyncio.create_task(call("work"))
            assert await until(lambda: sum(self.backend.taken().values()) == 2, 5)
            await self.backend.break_(self.fault)
            self.seen.running = await working
            # So that it is known whether the server is there at all.
            await self.clock.sleep(1.0)
        else:
            await self.backend.break_(self.fault)
            await until(self._noticed, self._patience)
        self.seen.during = await call()
        await self.backend.heal()
        began = self.clock.now()
        self.seen.after = await self._mended(call, began)
        if stream is not None:
            self.seen.again = "heard" if await self._heard(stream) else "not heard"
        if self.fault == "other tools":
            tools = (await client.result("tools/list"))["tools"]
            self.seen.again = await call("new") if "new" in [tool["name"] for tool in tools] else "not listed"
        await client.delete()

    def _noticed(self) -> bool:
        """Whether the gateway knows of it without anybody having called."""
        return any(one.connects != 1 or one.current_link is None for one in self.gateway.pool._each())

    def _connected(self) -> bool:
        return any(one.current_link is not None and one.current_link.alive for one in self.gateway.pool._each())

    async def _mended(self, call: Any, began: float) -> str:
        """What the first call is told. Before it, the connection has time to be made anew without any call."""
        await until(self._connected, MENDED / self.clock.speed)
        self.seen.alone = self.clock.now() - began
        first = found = await call()
        while found != "ok" and self.clock.now() - began < MENDED:
            await self.clock.sleep(0.5)
            found = await call()
        self.seen.mended = self.clock.now() - began
        return first if found == "ok" else f"never ({first})"

    async def _heard(self, stream: Any) -> bool:
        """Whether a change at the server arrives now. Said again until it does: the wish may be on its way."""
        began = self.clock.now()
        while self.clock.now() - began < MENDED:
            await self.clock.sleep(0.5)
            before = updates(stream.events)
            self.backend.update()
            if await until(partial(lambda seen: updates(stream.events) > seen, before), 0.2):
                return True
        return False

    async def _with_an_ask(self) -> None:
        legacy = await self._client("/mcp")
        client = MetaClient(legacy)

        async def use(tool: str, /, **arguments: Any) -> Told:
            told: Told = await self._timed(client.use(tool, **arguments))
            return told

        async def call(tool: str = "echo") -> str:
            told = await use("execute_tool", server="bad", tool=tool, args={"key": self._key()})
            return outcome_of_told(told)

        told = await use("execute_tool", server="bad", tool="ask", args={"key": self._key()})
        assert told.pending is not None, told
        (pending,) = told.pending["elicitations"]
        task = told.said["task"]["taskId"]
        await self.backend.break_(self.fault)
        await self._ended(use, task, self._patience * self.clock.speed)
        answered = await use(
            "respond_to_elicitation", request_id=pending["requestId"], action="accept", content={"name": "x"}
        )
        taken = "gone" if answered.is_error else "taken"
        self.seen.during = await call()
        status = await self._ended(use, task, TASK_LIMIT + 3)
        self.seen.running = f"{taken}, {status}"
        await self.backend.heal()
        self.seen.after = await self._mended(call, self.clock.now())
        left = (await use("get_elicitations")).said["elicitations"]
        self.seen.again = "none pending" if not left else f"{len(left)} pending"
        await legacy.delete()

    async def _ended(self, use: Any, task: str, seconds: float) -> str:
        """How the task ended, or `working` when it has not within that time."""
        until_when = self.clock.now() + seconds
        while True:
            status: str = (await use("get_task", task_id=task)).said["task"]["status"]
            if status != "working" or self.clock.now() > until_when:
                return status
            await self.clock.sleep(0.5)

    # -- what is left

    async def _nothing_left(self) -> None:
        names = ("calls", "listens", "handles", "pending", "listeners", "lists", "cleaning")

        def left() -> list[str]:
            load = self.gateway.load()
            return [f"{name}: {load[name]}" for name in names if load[name]]

        if not await until(lambda: not left(), 3):
            self.seen.left += left()


def updates(events: list[Json]) -> int:
    return sum(event.get("method") == "notifications/resources/updated" for event in events)


def outcome_of(response: Json) -> str:
    if "result" in response:
        return "ok" if not response["result"].get("isError") else "tool error"
    reason = (response["error"].get("data") or {}).get("reason", str(response["error"]["code"]))
    return SHORT.get(reason, reason)


def outcome_of_told(told: Told) -> str:
    if not told.is_error:
        return "task" if isinstance(told.said, dict) and "task" in told.said else "ok"
    error = told.said["error"]
    reason = (error.get("details") or {}).get("reason", "refused")
    return SHORT.get(reason, reason)
