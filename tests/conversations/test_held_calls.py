"""A modern client in front of a legacy server that asks: it is sent away with the question, and its call is held."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.protocol.messages import Failure, Result
from tests.conversations.house import House, Json, ModernClient, let_run, wire
from tests.conversations.test_asks import FORM, asker, said_of
from tests.support.scripted_backend import ScriptedBackend

ABLE: Json = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
CALL: Json = {"name": "paint", "arguments": {"n": 1}}
ACCEPT: Json = {"action": "accept", "content": {"color": "red"}}


def shop(call: Any = None) -> ScriptedBackend:
    return ScriptedBackend(answers={"tools/call": call or asker()})


def house_of(backend: ScriptedBackend) -> tuple[House, ModernClient]:
    house = House({"shop": backend})
    return house, house.modern_client("/servers/shop/mcp", ABLE)


async def sent_away(house: House, client: ModernClient, params: Json = CALL) -> Json:
    """A call whose server asks, and what its client was told."""
    started = client.start("tools/call", params)
    await let_run()
    await house.clock.advance(0.03)
    found: Json = (await started.done()).json["result"]
    assert found["resultType"] == "input_required", found
    return found


def back(told: Json, answers: Json, params: Json = CALL) -> Json:
    return params | {"requestState": told["requestState"], "inputResponses": answers}


def heard(backend: ScriptedBackend) -> list[Any]:
    return [(m.id, said_of(m)) for m in backend.received if isinstance(m, Result | Failure)]


@pytest.mark.shows("EB-C1")
async def test_a_question_is_answered_by_calling_again() -> None:
    backend = shop(asker(params=FORM | {"elicitationId": "e", "_meta": {"progressToken": "t"}}))
    house, client = house_of(backend)
    told = await sent_away(house, client)
    assert told["requestState"].startswith("g1.")
    ((key, request),) = told["inputRequests"].items()
    assert request == {"method": "elicitation/create", "params": {"mode": "form"} | FORM}
    result = await client.result("tools/call", back(told, {key: ACCEPT}))
    assert result["resultType"] == "complete"
    assert result["structuredContent"] == {"answers": [ACCEPT]}
    assert backend.methods().count("tools/call") == 1
    assert [answer for _, answer in heard(backend)] == [ACCEPT]
    assert wire(backend, "tools/call")["arguments"] == {"n": 1}
    assert not wire(backend, "tools/call").keys() & {"requestState", "inputResponses"}
    await house.close()
