"""Every published revision on both sides: a call crosses, and so does a question wherever both revisions have words for
it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conversations.asked import HttpAsked
from tests.conversations.house import MODERN, House, Json, let_run, wire
from tests.conversations.test_asks import FORM, asker
from tests.conversations.test_held_calls import ACCEPT, back, sent_away
from tests.support.scripted_backend import ScriptedBackend

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
ELICITS = ("2025-06-18", "2025-11-25", MODERN)
"""Since when there are elicitations."""
CALL: Json = {"name": "paint", "arguments": {"n": 1}}


def backend_of(revision: str, asks: bool) -> ScriptedBackend:
    async def modern(turn: Any) -> Json:
        if "inputResponses" in turn.params:
            return {"content": [], "structuredContent": {"answers": list(turn.params["inputResponses"].values())}}
        request = {"method": "elicitation/create", "params": {"mode": "form"} | FORM}
        return {"resultType": "input_required", "inputRequests": {"k": request}, "requestState": "s"}

    plain: Json = {"content": [{"type": "text", "text": "done"}]}
    if revision == MODERN:
        return ScriptedBackend("modern", answers={"tools/call": modern if asks else plain})
    return ScriptedBackend(answers={"tools/call": asker() if asks else plain}, revision=revision)


@pytest.mark.shows("X-CON-58", "X-GAP-02")
@pytest.mark.parametrize("behind", [*LEGACY, MODERN])
@pytest.mark.parametrize("front", [*LEGACY, MODERN])
async def test_a_call_crosses_between_every_two_revisions(front: str, behind: str) -> None:
    backend = backend_of(behind, asks=False)
    house = House({"shop": backend})
    path = "/servers/shop/mcp"
    client: Any = house.modern_client(path) if front == MODERN else await house.legacy_client(path, front)
    result = await client.result("tools/call", CALL)
    assert result["content"] == [{"type": "text", "text": "done"}]
    assert ("resultType" in result) == (front == MODERN)
    if front != MODERN:
        assert client.welcome["protocolVersion"] == front
    assert wire(backend, "tools/call")["arguments"] == {"n": 1}
    assert ("initialize" in backend.methods()) == (behind != MODERN)
    await house.close()


@pytest.mark.shows("X-CON-58", "X-GAP-02")
@pytest.mark.parametrize("behind", ELICITS)
@pytest.mark.parametrize("front", ELICITS)
async def test_a_question_crosses_between_every_two_revisions_that_have_it(front: str, behind: str) -> None:
    backend = backend_of(behind, asks=True)
    house = House({"shop": backend})
    path = "/servers/shop/mcp"
    if front == MODERN:
        client = house.modern_client(path, {"elicitation": {}})
        told = await sent_away(house, client, CALL)
        (key,) = told["inputRequests"]
        result = await client.result("tools/call", back(told, {key: ACCEPT}, CALL))
    else:
        asked = HttpAsked(await house.legacy_client(path, front, capabilities={"elicitation": {}}))
        call = asked.call("paint", arguments={"n": 1})
        ask = await asked.next_ask(call)
        assert ask["method"] == "elicitation/create"
        await asked.reply(ask, ACCEPT)
        await let_run()
        result = await asked.result(call)
    assert result["structuredContent"] == {"answers": [ACCEPT]}
    await house.close()
