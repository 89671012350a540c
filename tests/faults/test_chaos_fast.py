"""Half an hour of chaos in seconds: servers crash, stay away, hang and come back at random while 32 clients call them,
in both eras and through the meta-tools, on a clock moved by hand.

Each call ends, with a result, an error, or `outcome_unknown`; a ledger at the servers shows that none that may have had
effects ran twice, and that one which was said not to have been reached ran not at all. Afterwards nothing is left. The
seed is printed; CHAOS_SEED repeats a run.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from emceepee.config.settings import DEFAULTS, Timeouts
from tests.conversations.house import House, LegacyClient, ModernClient, let_run, response_of
from tests.conversations.meta_client import MetaClient, read_told
from tests.faults.cell import outcome_of, outcome_of_told
from tests.support.asgi_client import AsgiAnswer
from tests.support.fake_clock import FakeClock
from tests.support.scripted_backend import ECHO, Answer, ScriptedBackend, ScriptedConnection, Turn

CLIENTS = 32
HALF_AN_HOUR = 1800.0
STEP = 2.5
CALL_LIMIT = 30.0
LONGEST_TASK = 60.0
AT_LONGEST_AWAY = 180.0
"""Between two attempts, where a server was away for long."""
PAY = ECHO | {"name": "pay"}
ASK = ECHO | {"name": "ask"}
FORM = {"message": "Which?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}
LOOK = ECHO | {"name": "look", "annotations": {"readOnlyHint": True}}
ENDINGS = {"ok", "unknown", "unavailable", "timeout", "task"}


class Unsteady(ScriptedBackend):
    """A server that can be away, and that notes what it does."""

    def __init__(self, era: Any, chance: random.Random) -> None:
        super().__init__(era, {"tools/call": self.called}, [PAY, LOOK, ASK])
        self.asked = 0
        self.answered: Counter[str] = Counter()
        self.clock = FakeClock()
        self.chance = chance
        self.ledger: Counter[str] = Counter()
        self.mood: Literal["well", "away", "silent"] = "well"
        self.until = 0.0

    def connection(self) -> ScriptedConnection:
        self.connections = [one for one in self.connections if one.channel is not None]
        connection = Refusing(self) if self.mood == "away" else ScriptedConnection(self)
        self.connections.append(connection)
        return connection

    async def called(self, turn: Turn) -> Answer:
        key = turn.params["arguments"]["text"]
        self.ledger[key] += 1
        if turn.params["name"] == "ask" and self.era == "legacy":
            self.asked += 1
            number = f"ask-{self.asked}"
            await turn.ask("elicitation/create", FORM, number)
            self.answered[number] += 1
        await self.clock.sleep(self.chance.choice((0.0, 0.1, 1.0, 8.0)))
        if self.mood == "silent":
            return "silent"
        return {"content": [{"type": "text", "text": key}]}

    def crash(self) -> None:
        for connection in self.connections:
            if connection.channel is not None:
                connection.exit("exited with code 1")

    def change(self, now: float) -> None:
        if self.mood != "well":
            if now > self.until:
                self.mood = "well"
        elif self.chance.random() < 0.1:
            self.mood = self.chance.choice(("well", "away", "silent"))
            self.until = now + self.chance.choice((1.0, 10.0, 60.0))
            if self.mood != "silent":
                self.crash()
        self.received.clear()


class Refusing(ScriptedConnection):
    def opened(self, channel: Any) -> None:
        super().opened(channel)
        self.exit("exited with code 2")


@dataclass
class Caller:
    client: LegacyClient | ModernClient
    server: str | None
    running: AsgiAnswer | None = None
    key: str = ""
    tool: str = ""
    began: float = 0.0
    tasks: list[tuple[str, str]] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    """What its servers want to know, as it was last told."""


class Chaos:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 -- repeatable, not secret
        times = Timeouts(relay_call=CALL_LIMIT, execute=CALL_LIMIT, task=LONGEST_TASK, ask=LONGEST_TASK)
        eras: dict[str, Any] = {"old": "legacy", "older": "legacy", "new": "modern"}
        self.servers = {name: Unsteady(era, self.chance) for name, era in eras.items()}
        self.house = House(self.servers, settings=dataclasses.replace(DEFAULTS, timeouts=times))
        self.clock = self.house.clock
        self.callers: list[Caller] = []
        self.endings: Counter[str] = Counter()
        self.replies: Counter[str] = Counter()
        self.calls = 0
        self.paid: set[str] = set()
        """Calls that must not run twice."""

    async def arrive(self) -> None:
        for server in self.servers.values():
            server.clock = self.clock
        self.house.gateway.start()
        for number in range(CLIENTS):
            server = (*self.servers, None)[number % 4]
            path = "/mcp" if server is None else f"/servers/{server}/mcp"
            modern = number % 8 >= 4 and server is not None
            client = self.house.modern_client(path) if modern else await self.house.legacy_client(path)
            self.callers.append(Caller(client, server))

    async def rage(self, seconds: float) -> None:
        end = self.clock.now() + seconds
        while self.clock.now() < end:
            for server in self.servers.values():
                server.change(self.clock.now())
            for caller in self.callers:
                self.look_at(caller)
                if caller.running is None and caller.pending and self.chance.random() < 0.3:
                    await self.reply(caller)
                elif caller.running is None and self.chance.random() < 0.25:
                    self.call(caller)
            await self.clock.advance(STEP)
            self.house.forget_clients()

    def call(self, caller: Caller) -> None:
        self.calls += 1
        tools = ("pay", "pay", "look") if caller.server is not None else ("pay", "look", "ask", "ask")
        caller.key, caller.tool = f"call-{self.calls}", self.chance.choice(tools)
        if caller.tool != "look":
            self.paid.add(caller.key)
        server = caller.server or self.chance.choice(list(self.servers))
        asked: dict[str, Any] = {"name": caller.tool, "arguments": {"text": caller.key}}
        if caller.server is None:
            used = {"server": server, "tool": caller.tool, "args": {"text": caller.key}}
            asked = {"name": "execute_tool", "arguments": used}
        caller.running, caller.began = caller.client.start("tools/call", asked), self.clock.now()

    async def reply(self, caller: Caller) -> None:
        """To a question that may be nobody's any more: that is an error, and never an answer to another."""
        given = {"action": "accept", "content": {"name": "x"}}
        told = await MetaClient(caller.client).use("respond_to_elicitation", request_id=caller.pending.pop(0), **given)
        if told.is_error:
            assert told.said["error"]["code"] == "TOOL_ERR_REQUEST_NOT_FOUND", told.said
        self.replies["too late" if told.is_error else "taken"] += 1

    def look_at(self, caller: Caller) -> None:
        answer = caller.running
        if answer is None:
            return
        assert answer.task is not None
        if not answer.task.done():
            waited = self.clock.now() - caller.began
            assert waited <= CALL_LIMIT * 2 + STEP, f"{caller.key} hangs since {waited:.0f} s"
            return
        caller.running = None
        response = response_of(answer)
        ending = outcome_of(response) if caller.server is not None else self.told(caller, response)
        self.endings[ending] += 1
        self.check(caller, ending, response)

    def told(self, caller: Caller, response: Any) -> str:
        told = read_told(response)
        ending = outcome_of_told(told)
        if ending == "task":
            caller.tasks.append((told.said["task"]["taskId"], caller.key))
        asked = [] if told.pending is None else told.pending["elicitations"]
        caller.pending = [one["requestId"] for one in asked]
        return ending

    def check(self, caller: Caller, ending: str, response: Any) -> None:
        ran = sum(server.ledger[caller.key] for server in self.servers.values())
        assert ending in ENDINGS, (caller.key, response)
        if ending == "ok":
            assert response["result"]["content"][0]["text"] == caller.key, "an answer to somebody else"
            assert ran >= 1, caller.key
        if ending == "unavailable" and caller.tool != "look":
            assert ran == 0, f"{caller.key} was said not to have been reached, and ran"

    async def calm_down(self) -> None:
        for server in self.servers.values():
            server.mood = "well"
        await self.clock.advance(AT_LONGEST_AWAY + LONGEST_TASK + CALL_LIMIT)
        for caller in self.callers:
            self.look_at(caller)
            assert caller.running is None, f"{caller.key} has not ended"
            for task, _ in caller.tasks:
                await self.ended(caller, task)
            if caller.server is None:
                left = (await MetaClient(caller.client).use("get_elicitations")).said["elicitations"]
                assert not left, left

    async def ended(self, caller: Caller, task: str) -> None:
        """What became of a call that went on: no task is left working for ever, and one may be gone by now."""
        told = await MetaClient(caller.client).use("get_task", task_id=task)
        assert told.is_error or told.said["task"]["status"] != "working", told.said

    async def each_answers(self) -> None:
        for name in self.servers:
            client = await self.house.legacy_client(f"/servers/{name}/mcp")
            waiting = client.start("tools/call", {"name": "pay", "arguments": {"text": f"at last {name}"}})
            await self.clock.advance(10)
            assert outcome_of(response_of(await waiting.done())) == "ok", name
            await client.delete()

    async def leave(self) -> None:
        for caller in self.callers:
            if isinstance(caller.client, LegacyClient):
                await caller.client.delete()
        await self.clock.advance(AT_LONGEST_AWAY)
        await let_run()


async def test_after_half_an_hour_of_chaos_every_call_has_ended_none_ran_twice_and_nothing_is_left() -> None:
    seed = int(os.environ.get("CHAOS_SEED", random.randrange(10**6)))  # noqa: S311 -- repeatable, not secret
    print(f"CHAOS_SEED={seed}")  # noqa: T201
    tasks = len(asyncio.all_tasks())
    chaos = Chaos(seed)
    await chaos.arrive()
    await chaos.rage(HALF_AN_HOUR)
    await chaos.calm_down()
    await chaos.each_answers()
    await chaos.leave()
    asked = sum(server.asked for server in chaos.servers.values())
    print(f"{chaos.calls} calls: {dict(chaos.endings)}; {asked} questions: {dict(chaos.replies)}")  # noqa: T201
    assert chaos.replies["taken"], "otherwise nobody was asked"
    assert all(times == 1 for server in chaos.servers.values() for times in server.answered.values())
    assert sum(chaos.endings.values()) == chaos.calls, "each call ended once"
    assert {"ok", "unknown", "unavailable"} <= chaos.endings.keys(), "otherwise it was no chaos"
    twice = [key for server in chaos.servers.values() for key, times in server.ledger.items() if times > 1]
    assert not chaos.paid & set(twice), f"seed {seed}: {sorted(chaos.paid & set(twice))}"
    load = chaos.house.gateway.load()
    left = {name: load[name] for name in ("calls", "listens", "pending", "cleaning", "listeners", "httpConnections")}
    assert not any(left.values()), left
    assert len(chaos.house.gateway.directory) == 0
    await chaos.house.close()
    await let_run()
    assert len(asyncio.all_tasks()) <= tasks, asyncio.all_tasks()
