"""From a configuration file to a provider's wire and back: a server that asks, a client without a model, a provider on
loopback, and a log that hears everything meanwhile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emceepee.app import Gateway
from emceepee.config.load import load
from emceepee.tools import LocalServer, ToolContext
from tests.sampling.providers.failing import KEY, PROMPT, everything_logged, unloud
from tests.sampling.providers.model_server import Reply, model_server
from tests.sampling.providers.test_anthropic_words import message
from tests.sampling.providers.test_openai_words import completion
from tests.sampling.samples import text

asker = LocalServer("asker")


@asker.tool
async def ask(question: str, ctx: ToolContext) -> str:
    """Asks a model."""
    assert ctx.sampler is not None
    return await ctx.sampler.ask(question)


def gateway(folder: Path, kind: str, url: str) -> Gateway:
    sampling: dict[str, Any] = {
        "providers": {"theirs": {"kind": kind, "base_url": url, "key_env": "MY_KEY"}},
        "models": [{"name": "small-1", "provider": "theirs", "price_in": 1, "price_out": 5}],
        "approve": "always",
        "audit": {"file": str(folder / "audit.jsonl")},
    }
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {}, "emceepee": {"sampling": sampling, "auto_connect": False}}))
    loaded = load([str(file)], {"MY_KEY": KEY}, folder)
    assert loaded.problems == ()
    return Gateway(loaded.settings, environment={"MY_KEY": KEY}, local=[asker])


ANSWERS = {"anthropic": message(text("Low tide.")), "openai": completion("Low tide.")}


@pytest.mark.parametrize("kind", ANSWERS)
async def test_a_configured_provider_answers_and_nothing_of_it_is_logged(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_LOG", "debug")
    monkeypatch.setenv("OPENAI_LOG", "debug")
    with everything_logged() as logged:
        async with model_server(Reply(ANSWERS[kind])) as server:
            house = gateway(tmp_path, kind, server.url)
            house.start()
            result = await house.call_tool("asker", "ask", {"question": PROMPT})
            await house.close()
        assert result["content"] == [text("Low tide.")]
        assert PROMPT in str(server.seen[0].body)
        assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
        unloud(logged())
        assert "sampling_decided" in logged()
    record = (tmp_path / "audit.jsonl").read_text()
    unloud(record)
    assert json.loads(record)["outcome"] == "answered"
    assert "Low tide" not in record


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply({"error": {"message": f"{PROMPT} {KEY}", "code": "invalid_api_key"}}, 401), "refused our key"),
        (Reply({"error": {"message": PROMPT, "code": "context_length_exceeded"}}, 400), "longer than the model takes"),
        (Reply(b"<html>" + KEY.encode(), 500), "the provider failed"),
        (Reply({"choices": [{"message": {"content": [PROMPT]}}]}), "cannot be read"),
    ],
)
async def test_its_failures_reach_the_tool_in_our_words_and_are_logged_without_theirs(
    reply: Reply, reason: str, tmp_path: Path
) -> None:
    with everything_logged() as logged:
        async with model_server(reply) as server:
            house = gateway(tmp_path, "openai", server.url)
            result = await house.call_tool("asker", "ask", {"question": PROMPT})
            await house.close()
        assert result["isError"] is True
        assert reason in result["content"][0]["text"]
        unloud(result["content"][0]["text"])
        unloud(logged())
    unloud((tmp_path / "audit.jsonl").read_text())
