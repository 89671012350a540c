"""A sampling request crosses between every revision of a client and every revision of a server, and comes back."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from emceepee.config.settings import Settings
from emceepee.sampling.model import Model
from emceepee.sampling.settings import SamplingOptions
from tests.conversations.asked import http_client
from tests.conversations.house import House, Json, let_run, wire
from tests.conversations.meta_client import meta
from tests.conversations.test_asks import FORM, SAMPLE, said_of
from tests.sampling.models import FakeProvider, said
from tests.support.scripted_backend import ScriptedBackend, Turn

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
SAID = said("hi")
ACCEPT: Json = {"action": "accept", "content": {"color": "red"}}


def told(answers: Any) -> Json:
    return {"content": [{"type": "text", "text": json.dumps(answers)}]}


def answers_of(result: Json) -> Any:
    return json.loads(result["content"][0]["text"])


async def asks(turn: Turn) -> Any:
    """A tool of a legacy server that asks, and returns what it was answered."""
    return told([said_of(await turn.ask("sampling/createMessage", SAMPLE, f"{turn.id}-1", False))])


async def answered_by_client(house: House, revision: str) -> Json:
    """The result of a call whose server asks, with the answer that its client gave."""
    if revision in LEGACY:
        client = await http_client(house, "/servers/shop/mcp", revision, sampling={})
        call = client.call("paint")
        ask = await client.next_ask(call)
        assert ask["method"] == "sampling/createMessage"
        ask["params"].pop("_meta", None)
        assert ask["params"] == SAMPLE
        await client.reply(ask, SAID)
        return await client.result(call)
    modern = house.modern_client("/servers/shop/mcp", {"sampling": {}})
    params: Json = {"name": "paint", "arguments": {}}
    started = modern.start("tools/call", params)
    await let_run()
    await house.clock.advance(0.03)
    away = (await started.done()).json["result"]
    ((key, asked),) = away["inputRequests"].items()
    assert asked == {"method": "sampling/createMessage", "params": SAMPLE}
    back = params | {"requestState": away["requestState"], "inputResponses": {key: SAID}}
    return await modern.result("tools/call", back)


def needs(**requests: Json) -> ScriptedBackend:
    """A modern server that needs something before it goes on, and returns what it was given."""

    def call(turn: Turn) -> Any:
        given = turn.params.get("inputResponses")
        if given is None:
            return {"resultType": "input_required", "inputRequests": requests, "requestState": "s1"}
        return told([given[key] for key in requests])

    return ScriptedBackend("modern", answers={"tools/call": call})


A_TEXT = {"method": "sampling/createMessage", "params": SAMPLE}
A_FORM = {"method": "elicitation/create", "params": {"mode": "form"} | FORM}


@pytest.mark.shows("B-REQ-02", "X-CON-58", "X-GAP-02")
@pytest.mark.parametrize("server", [*LEGACY, "2026-07-28"])
@pytest.mark.parametrize("client", [*LEGACY, "2026-07-28"])
async def test_it_reaches_the_clients_model_and_its_answer_the_server(client: str, server: str) -> None:
    legacy = ScriptedBackend(revision=server, answers={"tools/call": asks})
    backend = legacy if server in LEGACY else needs(a=A_TEXT)
    house = House({"shop": backend})
    result = await answered_by_client(house, client)
    assert answers_of(result) == [SAID]
    if server in LEGACY:
        assert wire(backend, "initialize")["capabilities"] == {"sampling": {}}
    await house.close()


# -- a modern server, a modern client that can answer one of two things, and a model for the other


def with_model(backend: ScriptedBackend, **options: Any) -> tuple[House, FakeProvider]:
    sampling = SamplingOptions(models=(Model("small-1", "own"),), approve="always", **options)
    house, provider = House({"shop": backend}, settings=Settings(sampling=sampling)), FakeProvider([SAID])
    house.gateway.models.add("own", provider)
    return house, provider


@pytest.mark.parametrize("path", ["/servers/shop/mcp", "/direct/mcp"])
async def test_what_a_modern_server_needs_of_a_model_is_given_by_the_configured_one(path: str) -> None:
    backend = needs(a=A_TEXT)
    backend.tools = [{"name": "paint", "inputSchema": {"type": "object"}}]
    house, provider = with_model(backend)
    modern = house.modern_client(path, {})
    name = "shop__paint" if path == "/direct/mcp" else "paint"
    result = await modern.result("tools/call", {"name": name, "arguments": {}})
    assert answers_of(result) == [SAID]
    assert len(provider.asked) == 1
    await house.close()


async def test_a_modern_client_answers_the_form_and_the_model_the_rest() -> None:
    house, provider = with_model(needs(a=A_TEXT, b=A_FORM))
    modern = house.modern_client("/servers/shop/mcp", {"elicitation": {"form": {}}})
    params: Json = {"name": "paint", "arguments": {}}
    started = modern.start("tools/call", params)
    await let_run()
    await house.clock.advance(0.03)
    away = (await started.done()).json["result"]
    ((key, asked),) = away["inputRequests"].items()
    assert asked["method"] == "elicitation/create"
    back = params | {"requestState": away["requestState"], "inputResponses": {key: ACCEPT}}
    result = await modern.result("tools/call", back)
    assert answers_of(result) == [SAID, ACCEPT]
    assert len(provider.asked) == 1
    await house.close()


async def test_a_rule_that_puts_the_model_first_asks_no_client_that_could_sample() -> None:
    house, provider = with_model(needs(a=A_TEXT), answers="always")
    modern = house.modern_client("/servers/shop/mcp", {"sampling": {}})
    result = await modern.result("tools/call", {"name": "paint", "arguments": {}})
    assert answers_of(result) == [SAID]
    assert len(provider.asked) == 1
    await house.close()


@pytest.mark.shows("X-CON-55")
async def test_what_a_server_may_ask_is_shown_and_logged_and_no_capability_is_made_up_for_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "emceepee")
    house, _ = with_model(ScriptedBackend(answers={"tools/call": asks}))
    plain = await house.legacy_client("/servers/shop/mcp")
    await plain.result("tools/call", {"name": "paint", "arguments": {}})
    assert "sampling" not in plain.welcome["capabilities"]
    client = await meta(house)
    assert (await client.use("get_server_status", server="shop")).said["mayAsk"] == ["form", "sampling", "url"]
    lines = [record.data for record in caplog.records if record.message == "server_connected"]
    assert [line["asks"] for line in lines] == ["s"]
    await house.close()
