"""`sample_llm`: a question to whoever has a model, and a clear error where nobody has."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.config.settings import Settings
from emceepee.meta_tools.table import OFFERS
from emceepee.sampling.model import Model
from emceepee.sampling.settings import SamplingOptions
from tests.conversations.asked import HttpAsked, http_client
from tests.conversations.house import House, let_run
from tests.conversations.meta_client import MetaClient, meta
from tests.sampling.models import FakeProvider, said
from tests.support.scripted_backend import ScriptedBackend

ASKED = {"name": "sample_llm", "arguments": {"prompt": "What is the tide?"}}
ANSWER = {"text": "fine", "model": "small-1-2026", "stop_reason": "endTurn"}


def house_of(**options: Any) -> tuple[House, FakeProvider]:
    sampling = SamplingOptions(models=(Model("small-1", "own"),), approve="always", **options)
    house, provider = House({"shop": ScriptedBackend()}, settings=Settings(sampling=sampling)), FakeProvider([said()])
    house.gateway.models.add("own", provider)
    return house, provider


async def asking(house: House) -> tuple[HttpAsked, Any]:
    client = await http_client(house, "/mcp", sampling={})
    return client, client.call("sample_llm", arguments={"prompt": "What is the tide?"})


@pytest.mark.shows("D-TOOL-01", "X-GAP-19")
def test_it_is_listed_with_what_it_takes_and_what_it_gives() -> None:
    entry = OFFERS["full"].tools["sample_llm"].entry()
    assert entry["description"].startswith("Request LLM inference from the connected client")
    assert set(entry["inputSchema"]["properties"]) == {
        "prompt",
        "messages",
        "system_prompt",
        "max_tokens",
        "temperature",
        "model_hints",
    }
    assert set(entry["outputSchema"]["properties"]) == {"text", "model", "stop_reason"}
    assert "sample_llm" not in OFFERS["core"].tools


@pytest.mark.shows("D-TOOL-02", "X-GAP-19", "X-CON-56")
async def test_a_client_with_a_model_is_asked_once_and_its_answer_comes_back() -> None:
    house = House({})
    client, call = await asking(house)
    ask = await client.next_ask(call)
    assert ask["method"] == "sampling/createMessage"
    ask["params"].pop("_meta", None)
    assert ask["params"] == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "What is the tide?"}}],
        "maxTokens": 500,
    }
    await client.reply(ask, said())
    result = await client.result(call)
    assert result["structuredContent"] == ANSWER
    assert len(client.asks(call)) == 1
    await house.close()


async def test_a_modern_client_is_sent_away_with_the_question_and_comes_back() -> None:
    house = House({})
    client = house.modern_client("/mcp", {"sampling": {}})
    started = client.start("tools/call", ASKED)
    await let_run()
    await house.clock.advance(0.03)
    told = (await started.done()).json["result"]
    ((key, asked),) = told["inputRequests"].items()
    assert asked["method"] == "sampling/createMessage"
    back = ASKED | {"requestState": told["requestState"], "inputResponses": {key: said()}}
    assert (await client.result("tools/call", back))["structuredContent"] == ANSWER
    await house.close()


async def test_everything_that_is_given_is_asked() -> None:
    house, provider = house_of()
    client = await meta(house)
    messages = [{"role": "user", "content": {"type": "text", "text": "Hi"}}]
    told = await client.use(
        "sample_llm",
        messages=messages,
        systemPrompt="Be brief",
        max_tokens=9,
        temperature=0.5,
        model_hints=["small", "x"],
    )
    assert told.said == ANSWER
    assert provider.asked == [
        (
            "small-1",
            {
                "messages": messages,
                "maxTokens": 9,
                "systemPrompt": "Be brief",
                "temperature": 0.5,
                "modelPreferences": {"hints": [{"name": "small"}, {"name": "x"}]},
            },
        )
    ]
    await house.close()


@pytest.mark.shows("D-TOOL-03")
async def test_a_client_that_cannot_sample_is_told_so_at_once() -> None:
    house = House({})
    client = await meta(house)
    told = await client.use("sample_llm", prompt="x")
    assert told.is_error
    assert "did not declare the capability 'sampling'" in told.said["error"]["message"]
    assert told.pending is None
    await house.close()


@pytest.mark.shows("D-TOOL-03")
async def test_a_refusal_of_the_client_is_an_error_with_its_words() -> None:
    house = House({})
    client, call = await asking(house)
    await client.refuse(await client.next_ask(call), -1, "User rejected sampling request")
    result = await client.result(call)
    assert result["isError"] is True
    assert "User rejected sampling request" in result["content"][0]["text"]
    await house.close()


@pytest.mark.shows("D-TOOL-03")
async def test_a_client_that_never_answers_is_waited_for_a_minute() -> None:
    house = House({})
    client, call = await asking(house)
    ask = await client.next_ask(call)
    await house.clock.advance(61)
    result = await client.result(call)
    assert (result["isError"], "within 60 s" in result["content"][0]["text"]) == (True, True)
    cancelled = [event for event in call.events if event.get("method") == "notifications/cancelled"]
    assert [event["params"]["requestId"] for event in cancelled] == [ask["id"]]
    await house.close()


@pytest.mark.parametrize("arguments", [{}, {"prompt": "x", "messages": []}, {"prompt": "x", "max_tokens": 0}])
async def test_a_question_that_is_none_is_refused_with_what_to_send(arguments: dict[str, Any]) -> None:
    house, provider = house_of()
    client = await meta(house)
    told = await client.use("sample_llm", **arguments)
    assert (told.is_error, told.said["error"]["code"]) == (True, "TOOL_ERR_INVALID_ARGUMENTS")
    assert provider.asked == []
    await house.close()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"role": "assistant", "content": {"type": "text", "text": "x"}}, "'model'"),
        (said(content={"type": "image", "data": "AAAA", "mimeType": "image/png"}), "answered with image"),
    ],
)
async def test_an_answer_without_text_is_an_error_that_says_what_came(answer: Any, problem: str) -> None:
    house = House({})
    client, call = await asking(house)
    ask = await client.next_ask(call)
    await client.client.post({"id": ask["id"], "result": answer}).done()
    result = await client.result(call)
    assert (result["isError"], problem in result["content"][0]["text"]) == (True, True)
    await house.close()


async def test_a_rule_that_puts_the_model_first_asks_it_and_not_the_client() -> None:
    house, provider = house_of(answers="always")
    client, call = await asking(house)
    assert (await client.result(call))["structuredContent"] == ANSWER
    assert (client.asks(call), len(provider.asked)) == ([], 1)
    await house.close()


async def test_a_client_that_goes_away_leaves_no_question_behind() -> None:
    house, provider = house_of()
    provider.answers.clear()
    client = MetaClient(await house.legacy_client("/mcp"))
    started = client.start("sample_llm", prompt="x")
    await let_run()
    assert len(house.gateway.models.answering) == 1
    await client.client.post({"method": "notifications/cancelled", "params": {"requestId": 1}}).done()
    await let_run()
    assert len(house.gateway.models.answering) == 0
    await started.done()
    await house.close()
