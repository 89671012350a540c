"""The OpenAI client against a server that speaks its wire."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.sampling.model import Model
from emceepee.sampling.provider import Provider, ProviderFailed
from emceepee.sampling.providers.openai import OpenAiProvider
from tests.sampling.providers.conversation import CALL, IMAGE, with_tools
from tests.sampling.providers.failing import KEY, PROMPT, each_failure, everything_logged, failure, unloud
from tests.sampling.providers.model_server import Reply, model_server
from tests.sampling.providers.test_openai_words import USE, completion
from tests.sampling.samples import request, text, user

MODEL = Model("small-1", "openai")


def make(url: str) -> Provider:
    return OpenAiProvider(KEY, f"{url}/v1")


def error(kind: str, said: str = f"{PROMPT} {KEY}") -> dict[str, object]:
    return {"error": {"message": said, "type": "invalid_request_error", "param": None, "code": kind}}


async def test_a_question_is_sent_with_the_key_and_its_answer_is_read() -> None:
    async with model_server(Reply(completion())) as server:
        provider = make(server.url)
        given = await provider.ask(MODEL, request(temperature=0.2), 30)
        await provider.close()
    (seen,) = server.seen
    assert (seen.path, seen.headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert (seen.body["model"], seen.body["temperature"], seen.body["max_tokens"]) == ("small-1", 0.2, 100)
    assert given.answer["content"] == text("Tides.")
    assert (given.input_tokens, given.output_tokens) == (12, 5)


async def test_a_server_of_ones_own_is_asked_without_a_key() -> None:
    async with model_server(Reply(completion())) as server:
        provider = OpenAiProvider(None, f"{server.url}/v1")
        await provider.ask(MODEL, request(), 30)
        await provider.close()
    assert server.seen[0].headers["authorization"] == "Bearer none"


async def test_images_and_tools_cross_the_wire() -> None:
    use = Reply(completion(None, "tool_calls", {"tool_calls": [USE]}))
    async with model_server(Reply(completion("A cat.")), use) as server:
        provider = make(server.url)
        seen_image = await provider.ask(MODEL, request(messages=[user([text("What?"), IMAGE])]), 30)
        used = await provider.ask(MODEL, with_tools(), 30)
        await provider.close()
    assert server.seen[0].body["messages"][0]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert server.seen[1].body["tools"][0]["function"]["name"] == "tempo"
    assert seen_image.answer["content"] == text("A cat.")
    assert (used.answer["content"], used.answer["stopReason"]) == (CALL, "toolUse")


async def test_each_way_to_fail_is_one_kind() -> None:
    await each_failure(
        make,
        MODEL,
        {
            "refused_key": Reply(error("invalid_api_key"), 401),
            "overloaded": Reply(error("server_overloaded"), 503),
            "context_too_long": Reply(error("context_length_exceeded"), 400),
            "refused_request": Reply(error("unknown_parameter"), 400),
            "broken": Reply(b"<html>oops</html>", 500),
            "malformed": Reply({"choices": []}),
        },
    )


async def test_an_answer_that_is_no_json_is_malformed() -> None:
    failed = await failure(make, MODEL, Reply(b"<html>", 200, {"content-type": "text/html"}))
    assert failed.kind == "malformed"


async def test_an_overloaded_provider_says_when_and_is_not_asked_again_here() -> None:
    failed = await failure(make, MODEL, Reply(error("rate_limit_exceeded"), 429, {"retry-after": "7"}))
    assert (failed.kind, failed.retry_after) == ("overloaded", 7.0)


async def test_silence_ends_with_the_time_that_was_given() -> None:
    assert (await failure(make, MODEL, Reply(silent=True), seconds=0.2)).kind == "timed_out"


async def test_nobody_listening_is_unreachable() -> None:
    provider = make("http://127.0.0.1:9")
    with pytest.raises(ProviderFailed) as caught:
        await provider.ask(MODEL, request(), 30)
    await provider.close()
    assert caught.value.kind == "unreachable"


async def test_without_a_key_nothing_is_sent() -> None:
    async with model_server() as server:
        with pytest.raises(ProviderFailed) as caught:
            await OpenAiProvider(None).ask(MODEL, request(), 30)
    assert (caught.value.kind, server.seen) == ("refused_key", [])


async def test_whoever_is_cancelled_leaves_the_server() -> None:
    async with model_server(Reply(silent=True)) as server:
        provider = make(server.url)
        asking = asyncio.ensure_future(provider.ask(MODEL, request(), 30))
        await asyncio.wait_for(server.asked.wait(), 30)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await provider.close()


async def test_no_log_line_of_anybody_holds_the_key_or_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_LOG", "debug")
    with everything_logged() as said:
        for reply in (Reply(completion(PROMPT)), Reply(error("server_overloaded"), 503), Reply(b"{", 200)):
            async with model_server(reply) as server:
                provider = make(server.url)
                try:
                    await provider.ask(MODEL, request(messages=[user(PROMPT)]), 30)
                except ProviderFailed:
                    pass
                finally:
                    await provider.close()
        unloud(said())
