"""A configured model as a step of the ladder, through the whole gateway: who answers, under which rule, and the exact
error that a server's author receives when nobody does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emceepee.config.settings import Settings
from emceepee.sampling.model import Model
from emceepee.sampling.provider import Provider, ProviderFailed
from emceepee.sampling.settings import (
    AuditSettings,
    BudgetSettings,
    OwnRules,
    RateSettings,
    SamplingOptions,
    SamplingSettings,
)
from emceepee.vocabulary.raw_json import read_value
from tests.conversations.asked import http_client
from tests.conversations.house import House, let_run, wire
from tests.conversations.meta_client import MetaClient, meta
from tests.conversations.test_asks import PAINT, SAMPLE, said_of
from tests.sampling.models import FakeProvider, said
from tests.sampling.samples import request, user
from tests.support.scripted_backend import ScriptedBackend, Turn

MODELS = (Model("small-1", "own", price_in=1.0, price_out=4.0),)


def house_of(backend: ScriptedBackend, provider: Provider, **options: Any) -> House:
    sampling = SamplingOptions(models=MODELS, **({"approve": "always"} | options))
    house = House({"shop": backend}, settings=Settings(sampling=sampling))
    house.gateway.models.add("own", provider)
    return house


def asker(params: Any = None) -> ScriptedBackend:
    """A server with a tool that asks for a text, and returns the answer it got, whole."""

    async def call(turn: Turn) -> Any:
        asked = SAMPLE if params is None else params
        answer = await turn.ask("sampling/createMessage", asked, f"{turn.id}-1", False)
        error = getattr(answer, "error", None)
        told = said_of(answer)
        if error is not None and error.data is not None:
            told["data"] = read_value(error.data)
        return {"content": [], "structuredContent": {"answer": told}}

    paint = {"name": "paint", "description": "Paints it", "inputSchema": {"type": "object"}}
    return ScriptedBackend(tools=[paint], answers={"tools/call": call})


async def painted(house: House) -> Any:
    client = await house.legacy_client("/servers/shop/mcp")
    result = await client.result("tools/call", {"name": "paint", "arguments": {}})
    return result["structuredContent"]["answer"]


@pytest.mark.shows("X-GAP-06", "B-RSP-03")
@pytest.mark.parametrize("path", ["/servers/shop/mcp", "/direct/mcp"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_client_that_cannot_sample_has_its_server_answered_by_the_model(path: str, era: str) -> None:
    backend, provider = asker(), FakeProvider([said("hi")])
    house = house_of(backend, provider)
    client: Any = await house.legacy_client(path) if era == "legacy" else house.modern_client(path)
    name = "shop__paint" if path == "/direct/mcp" else "paint"
    answer = await client.call("tools/call", {"name": name, "arguments": {}})
    assert answer["result"]["structuredContent"]["answer"] == said("hi")
    assert provider.asked == [("small-1", SAMPLE)]
    assert wire(backend, "initialize")["capabilities"]["sampling"] == {}
    await house.close()


@pytest.mark.shows("X-GAP-06")
async def test_without_a_rule_that_lets_it_nothing_is_promised_and_nothing_is_asked() -> None:
    backend, provider = asker(), FakeProvider([said()])
    house = house_of(backend, provider, servers={"shop": OwnRules(answers="never")})
    answer = await painted(house)
    assert answer["code"] == -32601
    assert "sampling" not in wire(backend, "initialize")["capabilities"]
    assert provider.asked == []
    await house.close()


async def test_a_client_of_tools_is_asked_itself_unless_the_rule_says_always() -> None:
    provider = FakeProvider([said("by the model")])
    house = house_of(asker(), provider)
    client = await meta(house)
    told = await client.use("execute_tool", **PAINT)
    assert told.pending is not None
    assert len(told.pending["sampling_requests"]) == 1
    assert provider.asked == []
    await house.close()
    house = house_of(asker(), provider, answers="always")
    client = await meta(house)
    result = await executed(client)
    assert result["answer"]["content"]["text"] == "by the model"
    await house.close()


async def executed(client: MetaClient) -> Any:
    answer = await client.start("execute_tool", **PAINT).done()
    return answer.json["result"]["structuredContent"]


async def test_a_workspace_of_a_name_has_a_rule_of_its_own() -> None:
    provider = FakeProvider([said()])
    house = house_of(asker(), provider, workspaces={"night": OwnRules(answers="never")})
    day = house.modern_client("/servers/shop/mcp/w/day")
    night = house.modern_client("/servers/shop/mcp/w/night")
    params = {"name": "paint", "arguments": {}}
    assert (await day.call("tools/call", params))["result"]["structuredContent"]["answer"] == said()
    refused = (await night.call("tools/call", params))["result"]["structuredContent"]["answer"]
    assert refused["code"] == -32601
    await house.close()


# -- the exact error that a server's author receives


@pytest.mark.shows("B-ERR-03", "B-ERR-06", "B-VAL-14")
async def test_a_request_that_is_wrong() -> None:
    house = house_of(asker(SAMPLE | {"maxTokens": -1}), FakeProvider([said()]))
    assert await painted(house) == {
        "code": -32602,
        "message": "Invalid params",
        "data": {
            "field": "maxTokens",
            "value": -1,
            "expected": "positive integer",
            "reason": "maxTokens must be positive integer",
        },
    }
    await house.close()


@pytest.mark.shows("B-ERR-05", "B-FLOW-08")
async def test_too_many_requests() -> None:
    limits = SamplingSettings(rate=RateSettings(burst=1, per_minute=6.0))
    house = house_of(asker(), FakeProvider([said(), said()]), limits=limits)
    client = await house.legacy_client("/servers/shop/mcp")
    params = {"name": "paint", "arguments": {}}
    await client.result("tools/call", params)
    refused = (await client.result("tools/call", params))["structuredContent"]["answer"]
    assert refused == {
        "code": -32000,
        "message": "Rate limit exceeded",
        "data": {
            "retryAfter": 10,
            "remainingQuota": 0,
            "resetTime": "2026-11-01T00:00:10.000Z",
            "reason": "6 requests a minute, 1 at once, for one server in one workspace",
        },
    }
    await house.clock.advance(10)
    assert (await client.result("tools/call", params))["structuredContent"]["answer"] == said()
    await house.close()


async def test_a_budget_that_is_used_up() -> None:
    limits = SamplingSettings(budget=BudgetSettings(calls=1, tokens=1000, window=3600.0))
    house = house_of(asker(), FakeProvider([said(), said()]), limits=limits)
    client = await house.legacy_client("/servers/shop/mcp")
    params = {"name": "paint", "arguments": {}}
    await client.result("tools/call", params)
    refused = (await client.result("tools/call", params))["structuredContent"]["answer"]
    assert refused == {
        "code": -32000,
        "message": "Rate limit exceeded",
        "data": {
            "retryAfter": 3600,
            "remainingQuota": 0,
            "resetTime": "2026-11-01T01:00:00.000Z",
            "reason": "The budget of server 'shop' is used up: 1 calls in 1 h",
        },
    }
    await house.close()


@pytest.mark.shows("B-ERR-04", "B-PREF-11")
async def test_no_model_that_fits() -> None:
    asked = SAMPLE | {"modelPreferences": {"hints": [{"name": "gpt-5"}]}}
    house = house_of(asker(asked), FakeProvider(), strict_hints=True)
    assert await painted(house) == {
        "code": -32603,
        "message": "No suitable model available",
        "data": {"requestedHints": ["gpt-5"], "availableModels": ["small-1"], "suggestion": "Try 'small-1'"},
    }
    await house.close()


async def test_a_model_that_does_not_answer() -> None:
    house = house_of(asker(), FakeProvider([ProviderFailed("refused_key", "sk-secret")]))
    assert await painted(house) == {
        "code": -32603,
        "message": "The model did not answer: the provider refused our key",
        "data": {
            "model": "small-1",
            "reason": "the provider refused our key",
            "suggestion": "The operator has to check the key of this provider",
        },
    }
    await house.close()


@pytest.mark.shows("B-FLOW-12", "X-CON-50")
async def test_an_approval_that_nobody_can_give() -> None:
    provider = FakeProvider([said()])
    house = house_of(asker(), provider, approve="ask")
    assert await painted(house) == {
        "code": -1,
        "message": "User rejected sampling request",
        "data": {"reason": "Nobody is there who could be asked", "rejectionType": "policy"},
    }
    assert provider.asked == []
    await house.close()


# -- approval by a client that has nothing but tools


async def approving(house: House) -> tuple[MetaClient, Any, str, str]:
    """A call whose server asks the model, and the question that is put to the client first."""
    client = await meta(house)
    told = await client.use("execute_tool", **PAINT)
    assert told.pending is not None
    (question,) = told.pending["elicitations"]
    return client, told, question["requestId"], question["message"]


async def result_of(client: MetaClient, told: Any) -> Any:
    started = client.start("get_task_result", task_id=told.said["task"]["taskId"], timeout_ms=1000)
    return (await started.done()).json["result"]["structuredContent"]["answer"]


async def respond(client: MetaClient, question: str, **content: Any) -> None:
    await client.use("respond_to_elicitation", request_id=question, action="accept", content=content)
    await let_run()


async def next_question(client: MetaClient) -> tuple[str, str]:
    (question,) = (await client.use("get_elicitations")).said["elicitations"]
    return question["requestId"], question["params"]["message"]


@pytest.mark.shows("B-FLOW-01", "B-FLOW-04", "B-FLOW-05", "B-FLOW-06")
async def test_it_is_shown_by_our_tools_edited_approved_and_reviewed() -> None:
    provider = FakeProvider([said("hi there")])
    house = house_of(asker(), provider, approve="ask", answers="always")
    client, told, question, words = await approving(house)
    assert "The server 'shop' wants to ask a language model." in words
    assert "Say hi" in words
    assert provider.asked == []
    await respond(client, question, approve=True, changed="Say hello")
    assert provider.asked == [("small-1", SAMPLE | {"messages": [user("Say hello")]})]
    question, words = await next_question(client)
    assert "hi there" in words
    await respond(client, question, approve=True, changed="Hello.")
    answer = await result_of(client, told)
    assert answer == said("Hello.")
    await house.close()


@pytest.mark.shows("B-ERR-01", "B-FLOW-03", "X-CON-50")
async def test_a_rejection_of_the_request() -> None:
    provider = FakeProvider([said()])
    house = house_of(asker(), provider, approve="ask", answers="always")
    client, told, question, _ = await approving(house)
    await respond(client, question, approve=False)
    assert await result_of(client, told) == {
        "code": -1,
        "message": "User rejected sampling request",
        "data": {"reason": "User declined AI interaction", "rejectionType": "explicit"},
    }
    assert provider.asked == []
    await house.close()


@pytest.mark.shows("B-ERR-02", "B-FLOW-07")
async def test_a_rejection_of_the_answer() -> None:
    house = house_of(asker(), FakeProvider([said("a secret of the model")]), approve="ask", answers="always")
    client, told, question, _ = await approving(house)
    await respond(client, question, approve=True)
    question, _ = await next_question(client)
    await respond(client, question, approve=False)
    assert await result_of(client, told) == {
        "code": -1,
        "message": "User rejected AI response",
        "data": {"reason": "User declined the answer", "rejectionType": "explicit"},
    }
    await house.close()


@pytest.mark.shows("X-CON-50")
async def test_silence_of_the_person() -> None:
    limits = SamplingSettings(approval_timeout=30.0)
    house = house_of(asker(), FakeProvider([said()]), approve="ask", answers="always", limits=limits)
    client, told, _, _ = await approving(house)
    await house.clock.advance(31)
    assert await result_of(client, told) == {
        "code": -1,
        "message": "User rejected sampling request",
        "data": {"reason": "Nobody decided on the request within 30 s", "rejectionType": "timeout"},
    }
    assert (await client.use("get_elicitations")).said["elicitations"] == []
    await house.close()


# -- ends, records, context


@pytest.mark.shows("X-BUG-54")
async def test_a_call_that_is_given_up_gives_up_the_model_too() -> None:
    provider = FakeProvider()
    house = house_of(asker(), provider)
    client = await house.legacy_client("/servers/shop/mcp")
    started = client.start("tools/call", {"name": "paint", "arguments": {}}, 77)
    await let_run()
    assert len(provider.asked) == len(house.gateway.models.answering) == 1
    await client.post({"method": "notifications/cancelled", "params": {"requestId": 77}}).done()
    await let_run()
    assert len(house.gateway.models.answering) == 0
    await started.done()
    await house.close()


@pytest.mark.shows("B-FLOW-09", "X-BUG-61")
async def test_each_request_leaves_a_record_without_a_word_of_it(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    provider = FakeProvider([said("the answer of the model")])
    house = house_of(asker(), provider, audit=AuditSettings(str(file)))
    await painted(house)
    await house.close()
    (record,) = map(json.loads, file.read_text().splitlines())
    assert (record["server"], record["outcome"], record["model"]) == ("shop", "answered", "small-1-2026")
    assert (record["approvedBy"], record["inputTokens"], record["outputTokens"]) == ("policy", 10, 20)
    assert record["cost"] == pytest.approx((10 * 1.0 + 20 * 4.0) / 1e6)
    assert [step["step"] for step in record["steps"]] == [
        "validate",
        "rate",
        "budget",
        "context",
        "approve",
        "choose",
        "ask",
        "review",
    ]
    assert "Say hi" not in file.read_text()
    assert "the answer of the model" not in file.read_text()


@pytest.mark.shows("B-CTX-01", "B-CTX-02", "B-CTX-03")
@pytest.mark.parametrize(
    ("disclose", "asked", "told"),
    [
        ("none", "allServers", set()),
        ("thisServer", "allServers", {"shop"}),
        ("allServers", "thisServer", {"shop"}),
        ("allServers", "allServers", {"shop", "files"}),
        ("allServers", "none", set()),
    ],
)
async def test_context_is_told_as_far_as_the_operator_lets_it(disclose: Any, asked: str, told: set[str]) -> None:
    provider = FakeProvider([said()])
    shop, files = asker(SAMPLE | {"includeContext": asked}), ScriptedBackend()
    sampling = SamplingOptions(models=MODELS, approve="always", limits=SamplingSettings(disclose=disclose))
    house = House({"shop": shop, "files": files}, settings=Settings(sampling=sampling))
    house.gateway.models.add("own", provider)
    client = await house.legacy_client("/direct/mcp")
    await client.result("tools/list", {})
    await client.result("tools/call", {"name": "shop__paint", "arguments": {}})
    system = provider.asked[0][1].get("systemPrompt", "")
    assert {name for name in ("shop", "files") if f"Context of the server '{name}'" in system} == told
    assert ("Tool paint" in system) == ("shop" in told)
    await house.close()


async def test_a_gateway_without_models_is_as_it_was() -> None:
    house = House({"shop": asker()})
    assert house.gateway.middle.asks.model is None
    assert (await painted(house))["code"] == -32601
    await house.close()


def test_the_params_of_the_tests_are_right() -> None:
    assert request().keys() == SAMPLE.keys()


# -- approval by the client's own ways


QUESTION = "The server 'shop' wants to ask a language model."


@pytest.mark.shows("B-FLOW-01", "B-FLOW-04", "B-FLOW-12")
async def test_a_legacy_client_with_forms_is_asked_natively_for_the_request_and_for_the_answer() -> None:
    provider = FakeProvider([said("hi there")])
    house = house_of(asker(), provider, approve="ask")
    client = await http_client(house, "/servers/shop/mcp", elicitation={})
    call = client.call("paint")
    ask = await client.next_ask(call)
    assert ask["method"] == "elicitation/create"
    assert ask["params"]["message"].startswith(QUESTION)
    assert provider.asked == []
    await client.reply(ask, {"action": "accept", "content": {"approve": True}})
    review = await client.next_ask(call)
    assert "hi there" in review["params"]["message"]
    await client.reply(review, {"action": "accept", "content": {"approve": True, "changed": "Hi."}})
    assert (await client.result(call))["structuredContent"]["answer"] == said("Hi.")
    await house.close()


@pytest.mark.shows("B-FLOW-12", "B-ERR-01")
async def test_a_modern_client_with_forms_is_sent_away_with_the_question_of_approval() -> None:
    provider = FakeProvider([said("hi there")])
    house = house_of(asker(), provider, approve="ask", review=False)
    client = house.modern_client("/servers/shop/mcp", {"elicitation": {"form": {}}})
    for approve, code in ((True, None), (False, -1)):
        started = client.start("tools/call", {"name": "paint", "arguments": {}})
        await let_run()
        await house.clock.advance(0.03)
        away = (await started.done()).json["result"]
        ((key, asked),) = away["inputRequests"].items()
        assert asked["method"] == "elicitation/create"
        assert asked["params"]["message"].startswith(QUESTION)
        answers = {key: {"action": "accept", "content": {"approve": approve}}}
        back = {"name": "paint", "arguments": {}, "requestState": away["requestState"], "inputResponses": answers}
        answer = (await client.result("tools/call", back))["structuredContent"]["answer"]
        assert answer.get("code") == code
    assert len(provider.asked) == 1
    await house.close()
