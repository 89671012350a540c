"""A session for each call, for servers that mix up what runs side by side; also where a client can be asked nothing."""

from __future__ import annotations

import asyncio

from tests.conversations.house import House, let_run, response_of
from tests.support.scripted_backend import Answer, ScriptedBackend, Turn

CALL = {"name": "echo", "arguments": {}}
DONE: Answer = {"content": []}


async def test_calls_side_by_side_have_a_session_each_and_later_ones_take_these() -> None:
    go_on = asyncio.Event()

    async def slow(turn: Turn) -> Answer:
        await go_on.wait()
        return DONE

    backend = ScriptedBackend("legacy", {"tools/call": slow})
    house = House({"files": backend}, affinity="call")
    client = await house.legacy_client("/servers/files/mcp")
    calls = [client.start("tools/call", CALL) for _ in range(3)]
    await backend.saw("tools/call", 3)
    assert backend.methods().count("initialize") == 3
    go_on.set()
    for call in calls:
        assert "result" in response_of(await call.done())
    assert "result" in await client.call("tools/call", CALL)
    assert backend.methods().count("initialize") == 3
    await house.close()


async def test_a_session_that_dies_takes_only_its_own_call_with_it() -> None:
    go_on = asyncio.Event()
    seen: list[Turn] = []

    async def slow(turn: Turn) -> Answer:
        seen.append(turn)
        await go_on.wait()
        return DONE

    backend = ScriptedBackend("legacy", {"tools/call": slow})
    house = House({"files": backend}, affinity="call")
    client = await house.legacy_client("/servers/files/mcp")
    calls = [client.start("tools/call", CALL) for _ in range(3)]
    await backend.saw("tools/call", 3)
    seen[2].connection.exit("exited with code 1")
    await let_run()
    go_on.set()
    outcomes = [response_of(await call.done()) for call in calls]
    reasons = [outcome.get("error", {}).get("data", {}).get("reason") for outcome in outcomes]
    assert sorted(reasons, key=str) == [None, None, "outcome_unknown"]
    assert "result" in await client.call("tools/call", CALL)
    await house.close()
