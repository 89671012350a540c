"""Sessions, calls, streams and subscriptions that end in every way, in memory, and then a look at every table and at
every object that is left. The sockets and processes of it are in `tests/processes/test_soak.py`.

The rule of the count: after a second round of the same there is no more of anything than after the first.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections import Counter
from typing import Any

import pytest

from emceepee.backends.definition import InProcess, ServerDefinition
from tests.conversations.house import House, LegacyClient, ModernClient, let_run
from tests.support.asgi_client import AsgiAnswer
from tests.support.scripted_backend import ECHO, Answer, ScriptedBackend, Turn

SERVERS = ("old", "new", "shared")
PATHS = ("/mcp", "/direct/mcp", *(f"/servers/{name}/mcp" for name in SERVERS))
ROUND = 60
"""Sessions in a round; each is followed by six calls or so."""
URI = "file:///a"
LONG = 20_030.0
"""After so much time nothing that can end by itself goes on. With the ten seconds of a round it is a multiple of every
interval of ours, so that each round ends as long after a ping as the one before."""
STEPS = ("echo", "echo", "cancel", "leave", "list", "wrong", "modern echo", "modern leave", "listen", "subscribe")


async def called(turn: Turn) -> Answer:
    """`slow` begins, and ends only by being cancelled."""
    if turn.params.get("name") != "slow":
        return {"content": [{"type": "text", "text": str(turn.params.get("arguments"))}]}
    if "progressToken" in turn.meta:
        turn.progress(1)
    await asyncio.Event().wait()
    return "silent"


def server(era: Any) -> ScriptedBackend:
    listed = {"resources": [{"uri": URI, "name": "a"}]}
    answers = {"tools/call": called, "resources/list": listed, "resources/templates/list": {"resourceTemplates": []}}
    offers = {"tools": {"listChanged": True}, "resources": {"subscribe": True, "listChanged": True}}
    return ScriptedBackend(era, answers, [ECHO, ECHO | {"name": "slow"}], offers)


class Wear:
    """One house, and people who use it up."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 -- repeatable, not secret
        self.backends = {"old": server("legacy"), "new": server("modern"), "shared": server("legacy")}
        self.house = House(self.backends, (ServerDefinition("shared", InProcess("shared"), affinity="shared"),))
        self.house.gateway.start()
        self.modern = self.house.modern_client("/mcp")
        self.open: list[AsgiAnswer] = []

    async def round(self) -> None:
        for _ in range(ROUND // 6):
            async with asyncio.TaskGroup() as people:
                for _ in range(6):
                    people.create_task(self._somebody())
            await self.house.clock.advance(1)
        for answer in self.open:
            answer.leave()
        await self.house.clock.advance(LONG)
        await let_run()

    async def _somebody(self) -> None:
        path = self.chance.choice(PATHS)
        client = await self.house.legacy_client(path)
        if self.chance.random() < 0.5:
            self.open.append(await client.get())
        for _ in range(6):
            await self._step(client, self.chance.choice(STEPS))
        if self.chance.random() < 0.7:
            assert (await client.delete()).status == 204

    async def _step(self, client: LegacyClient, step: str) -> None:
        path = client.http.path
        match step:
            case "echo":
                text = str(self.chance.random())
                result = await client.result("tools/call", self._call(path, "echo", {"text": text}))
                assert text in result["content"][0]["text"]
            case "cancel":
                request = f"cancelled-{self.chance.random()}"
                answer = client.start("tools/call", self._call(path, "slow", {}), request)
                await self._begun(answer)
                await client.tell("notifications/cancelled", {"requestId": request})
                assert "result" not in (await answer.done()).body.decode()
            case "leave":
                await self._leave(client.start("tools/call", self._call(path, "slow", {})))
            case "list":
                await client.result("tools/list")
            case "wrong":
                await client.call("prompts/get", {"name": "nobody"})
            case "subscribe" if path != "/mcp":
                await client.call("resources/subscribe", {"uri": URI})
            case _:
                await self._modern_step(step, self.chance.choice(PATHS))

    async def _modern_step(self, step: str, path: str) -> None:
        client: ModernClient = self.modern
        client.http.path = path
        if step == "listen":
            self.open.append(await client.listen(toolsListChanged=True, resourceSubscriptions=[URI]))
        elif step == "modern leave":
            params = self._call(path, "slow", {})
            await self._leave(client.start("tools/call", params, meta=params["_meta"]))
        else:
            await client.result("tools/call", self._call(path, "echo", {}))

    async def _begun(self, answer: AsgiAnswer) -> None:
        await answer.until(lambda: b"progress" in answer.body)

    async def _leave(self, answer: AsgiAnswer) -> None:
        if self.chance.random() < 0.5:
            await self._begun(answer)
        answer.leave()

    def _call(self, path: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        name = self.chance.choice(SERVERS)
        token = {"_meta": {"progressToken": f"t{self.chance.random()}"}}
        if path == "/mcp":
            return {"name": "execute_tool", "arguments": {"server": name, "tool": tool, "arguments": arguments}} | token
        prefix = f"{name}__" if path == "/direct/mcp" else ""
        return {"name": prefix + tool, "arguments": arguments} | token

    def forget(self) -> None:
        """What the test itself has kept."""
        self.open.clear()
        self.house.forget_clients()
        self.modern.http.forget_ended()
        for backend in self.backends.values():
            backend.received.clear()
            backend.cancelled.clear()
            backend.connections.clear()

    def census(self) -> Counter[str]:
        """Everything of ours that is alive, by type."""
        gc.collect()
        kinds = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects())
        return Counter({kind: count for kind, count in kinds.items() if kind.startswith("emceepee.")})


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_second_round_leaves_no_more_than_the_first(seed: int) -> None:
    wear = Wear(seed)
    tables: list[dict[str, int]] = []
    alive: list[Counter[str]] = []
    for _ in range(2):
        await wear.round()
        wear.forget()
        tables.append(wear.house.gateway.load() | {"timers": wear.house.clock.waiting})
        alive.append(wear.census())
    await wear.house.close()
    print(tables)  # noqa: T201
    assert {name: tables[1][name] for name in ("calls", "listens", "cleaning", "listeners", "pending")} == {
        "calls": 0,
        "listens": 0,
        "cleaning": 0,
        "listeners": 0,
        # The modern server's stream of changes, for the workspace that all modern clients share.
        "pending": 1,
    }
    assert tables[1] == tables[0]
    more = {kind: (alive[0][kind], count) for kind, count in alive[1].items() if count > alive[0][kind]}
    assert not more


async def test_a_closed_house_is_empty() -> None:
    wear = Wear(3)
    before = len(asyncio.all_tasks())
    await wear.round()
    await wear.house.close()
    gateway = wear.house.gateway
    assert len(asyncio.all_tasks()) == before
    assert wear.house.clock.waiting == 0
    assert (len(gateway.directory), len(gateway.pool), gateway.pool.handles, gateway.pool.pending) == (0, 0, 0, 0)
    assert (len(gateway.shop.tasks), len(gateway.tasks)) == (0, 0)
