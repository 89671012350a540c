"""`execute_tool` without anybody who waits: the result, the task that it becomes, and what is kept for nobody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from emceepee.meta_tools import execution_at_once
from tests.conversations.house import House, LegacyClient, response_of
from tests.support.fake_clock import settle
from tests.support.scripted_backend import ECHO, Answer, ScriptedBackend, Turn

ASKED = {"server": "files", "tool": "echo", "args": {}}


class Scene:
    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.begun = 0
        self.backend = ScriptedBackend("legacy", {"tools/call": self._called}, [ECHO])
        self.house = House({"files": self.backend}, over_wire=True)

    async def _called(self, turn: Turn) -> Answer:
        if turn.params["arguments"].get("wait"):
            await self.go.wait()
        return {"content": [{"type": "text", "text": "here"}]}

    async def client(self) -> LegacyClient:
        client = await self.house.legacy_client("/mcp")
        for _ in range(3):
            await self.run(client)
        self.begun = 0
        return client

    def start(self, client: LegacyClient, **more: Any) -> Any:
        arguments = ASKED | {"args": {"wait": True}} | more
        return client.start("tools/call", {"name": "execute_tool", "arguments": arguments})

    async def run(self, client: LegacyClient, name: str = "execute_tool", **more: Any) -> Any:
        arguments = ASKED | more if name == "execute_tool" else more
        return (await client.result("tools/call", {"name": name, "arguments": arguments}))["content"]


@pytest.fixture
async def scene(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    made = Scene()
    begin = execution_at_once.Execution.begin

    def counting(self: execution_at_once.Execution) -> bool:
        taken = begin(self)
        made.begun += taken
        return taken

    monkeypatch.setattr(execution_at_once.Execution, "begin", counting)
    yield made
    await made.house.close()


async def test_a_result_is_passed_on_as_it_came(scene: Scene) -> None:
    client = await scene.client()
    assert await scene.run(client) == [{"type": "text", "text": "here"}]
    assert scene.begun == 1


async def test_a_call_that_lasts_longer_than_is_waited_goes_on_as_a_task(scene: Scene) -> None:
    client = await scene.client()
    answer = scene.start(client)
    await settle(30)
    await scene.house.clock.advance(119)
    assert "content" not in str(answer.body)
    await scene.house.clock.advance(2)
    await answer.done()
    said = json.loads(response_of(answer)["result"]["content"][0]["text"])
    assert (said["timeout"], said["task"]["status"], scene.begun) == (True, "working", 1)
    scene.go.set()
    await settle(30)
    result = await scene.run(client, "get_task_result", task_id=said["task"]["taskId"])
    assert "here" in str(result)
    assert len(scene.backend.params("tools/call")) == 4


async def test_a_client_that_calls_it_off_has_its_server_told(scene: Scene) -> None:
    client = await scene.client()
    answer = client.start(
        "tools/call", {"name": "execute_tool", "arguments": ASKED | {"args": {"wait": True}}}, request_id="mine"
    )
    await settle(30)
    await client.tell("notifications/cancelled", {"requestId": "mine"})
    await answer.done()
    await settle(30)
    assert len(scene.backend.cancelled) == 1
    assert [one.busy for one in [scene.house.gateway.workspaces.at(client.headers["mcp-session-id"])]] == [False]


async def test_the_end_of_a_session_stops_what_runs_in_it(scene: Scene) -> None:
    client = await scene.client()
    answer = scene.start(client)
    await settle(30)
    assert (await client.delete()).status == 204
    await answer.done()
    await settle(50)
    assert len(scene.backend.cancelled) == 1


@pytest.mark.parametrize("more", [{"timeout_ms": 5_000}, {"timeout_ms": 120_000}])
async def test_who_says_how_long_he_waits_goes_the_ordinary_way(scene: Scene, more: dict[str, Any]) -> None:
    client = await scene.client()
    assert await scene.run(client, **more) == [{"type": "text", "text": "here"}]
    assert scene.begun == 0


async def test_a_refusal_is_looked_into_as_ever(scene: Scene) -> None:
    client = await scene.client()
    said = await scene.run(client, tool="nothing")
    assert "TOOL_ERR" in str(said) or "here" in str(said)
    assert scene.begun == 1
