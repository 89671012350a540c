"""The local model's provider, with an engine that says what a test says. The real one: `make demo-model`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emceepee.runtime.ids import SystemIds
from emceepee.sampling.model import Model
from emceepee.sampling.provider import ProviderFailed
from emceepee.sampling.providers import local
from emceepee.sampling.providers.definition import ProviderDefinition
from emceepee.sampling.providers.local import LocalProvider, find_weights
from tests.sampling.samples import request, text

MODEL = Model("smollm2", "local")
DEFINITION = ProviderDefinition("local", "local")


def chunk(content: str | None, reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": reason}]}


USAGE = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}


class FakeEngine:
    """Says its chunks; those that are None are said again and again until somebody stops it."""

    def __init__(self, *chunks: Any) -> None:
        self.chunks = list(chunks)
        self.asked: list[Any] = []
        self.begun = threading.Event()
        self.stopped = threading.Event()

    def handle_chat_completions(self, body: Any, on_chunk: Callable[[Any], bool]) -> None:
        self.asked.append(body)
        for one in self.chunks:
            self.begun.set()
            while on_chunk(chunk("and ") if one is None else one) is not True and one is None:
                pass
        self.stopped.set()


def provider(engine: FakeEngine) -> LocalProvider:
    return LocalProvider(DEFINITION, SystemIds(), lambda definition, key: engine)


async def test_what_comes_in_pieces_is_one_answer() -> None:
    engine = FakeEngine(chunk(None), chunk(" Blue"), chunk(" and calm."), chunk("", "length"), USAGE)
    given = await provider(engine).ask(MODEL, request(temperature=0.5), 30)
    assert given.answer == {
        "role": "assistant",
        "content": text("Blue and calm."),
        "model": "smollm2",
        "stopReason": "maxTokens",
    }
    assert (given.input_tokens, given.output_tokens) == (7, 2)
    assert (engine.asked[0]["max_tokens"], engine.asked[0]["temperature"]) == (100, 0.5)


async def test_a_request_that_is_too_long_is_told_as_that() -> None:
    engine = FakeEngine({"error": {"code": 400, "type": "exceed_context_size_error", "message": "the context size"}})
    with pytest.raises(ProviderFailed) as caught:
        await provider(engine).ask(MODEL, request(), 30)
    assert (caught.value.kind, caught.value.detail) == ("context_too_long", "status 400, exceed_context_size_error")


async def test_whoever_is_cancelled_stops_the_model() -> None:
    engine = FakeEngine(None)
    asking = asyncio.ensure_future(provider(engine).ask(MODEL, request(), 30))
    await asyncio.to_thread(engine.begun.wait, 30)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(engine.stopped.wait, 30)


async def test_it_is_loaded_once_with_a_key_that_nobody_knows_and_asked_one_by_one() -> None:
    keys: list[str] = []
    engine = FakeEngine(chunk("x", "stop"))

    def load(definition: ProviderDefinition, key: str) -> FakeEngine:
        keys.append(key)
        return engine

    one = LocalProvider(DEFINITION, SystemIds(), load)
    await asyncio.gather(*(one.ask(MODEL, request(), 30) for _ in range(3)))
    assert (len(keys), len(keys[0]), len(engine.asked)) == (1, 26, 3)
    await one.close()
    await one.ask(MODEL, request(), 30)
    assert len(keys) == 2


def test_weights_are_the_file_that_was_named(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF")
    assert find_weights(str(file)) == file
    with pytest.raises(ProviderFailed, match="there is no file gone"):
        find_weights(str(tmp_path / "gone.gguf"))


def test_without_a_file_it_is_the_one_that_the_package_carries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "carrying"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "small.gguf").write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(local, "LOCAL_WEIGHTS", "carrying")
    assert find_weights(None) == package / "small.gguf"
    monkeypatch.setattr(local, "LOCAL_WEIGHTS", "carries_nothing_at_all")
    with pytest.raises(ProviderFailed, match="carries_nothing_at_all is not installed"):
        find_weights(None)
