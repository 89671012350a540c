"""A model that runs inside this process, by llama.cpp: no key, no network, and no speed to speak of without a GPU.

llama.cpp brings an HTTP server of its own that cannot be left out. It listens on loopback, on a port that the system
picks, and gets a key that nobody knows, so that only this file can ask.

The one rule: whoever is cancelled stops the model too, at its next token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from emceepee.runtime.ids import Ids
from emceepee.sampling.content import Json
from emceepee.sampling.model import Model
from emceepee.sampling.provider import ProviderAnswer, ProviderFailed
from emceepee.sampling.providers.definition import LOCAL_WEIGHTS, ProviderDefinition
from emceepee.sampling.providers.failures import failed_with
from emceepee.sampling.providers.openai_words import read_answer, request_body

OnChunk: TypeAlias = Callable[[Any], bool]
"""True to have it stop."""


class Engine(Protocol):
    def handle_chat_completions(self, body: Any, on_chunk: OnChunk) -> Any: ...


Load: TypeAlias = Callable[[ProviderDefinition, str], Engine]
"""In a thread: it reads hundreds of megabytes. The text is the key for its server."""


@dataclass(slots=True)
class _Run:
    """One answer as it comes."""

    stopped: bool = False
    text: list[str] = field(default_factory=list)
    reason: str | None = None
    usage: Any = None
    error: Any = None

    def heard(self, chunk: Any) -> bool:
        match chunk:
            case {"error": error}:
                self.error = error
            case {"choices": [{"delta": dict(delta)} as choice, *_]}:
                self.text.append(delta.get("content") or "")
                self.reason = choice.get("finish_reason") or self.reason
        if isinstance(chunk, dict) and "usage" in chunk:
            self.usage = chunk["usage"]
        return self.stopped


class LocalProvider:
    def __init__(self, definition: ProviderDefinition, ids: Ids, load: Load | None = None) -> None:
        self._definition = definition
        self._key = ids.secret()
        self._load = load or load_engine
        self._turn = asyncio.Lock()
        self._engine: Engine | None = None
        self._run: _Run | None = None

    async def ask(self, model: Model, params: Json, seconds: float) -> ProviderAnswer:
        body = request_body(model, params) | {"stream": True, "stream_options": {"include_usage": True}}
        async with self._turn:
            if self._engine is None:
                self._engine = await asyncio.to_thread(self._load, self._definition, self._key)
            run = self._run = _Run()
            try:
                await asyncio.to_thread(self._engine.handle_chat_completions, body, run.heard)
            finally:
                run.stopped = True
        if run.error is not None:
            code = run.error.get("code") if isinstance(run.error, dict) else None
            raise failed_with(code if isinstance(code, int) else 500, run.error, {})
        message = {"role": "assistant", "content": "".join(run.text).strip()}
        said = {"choices": [{"message": message, "finish_reason": run.reason}], "usage": run.usage}
        return read_answer(said, model, params)

    async def close(self) -> None:
        if self._run is not None:
            self._run.stopped = True
        held, self._engine = [self._engine], None
        # Its end waits for its own threads, and is not to be waited for here.
        await asyncio.to_thread(held.clear)


def load_engine(definition: ProviderDefinition, key: str) -> Engine:
    """Raises `ProviderFailed` where there is no engine or there are no weights."""
    weights = find_weights(definition.path)
    try:
        import xllamacpp
    except ImportError:
        raise ProviderFailed("broken", "the package xllamacpp is not installed") from None
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = definition.context
    params.n_parallel = 1
    params.cpuparams.n_threads = definition.threads
    params.api_keys = [key]
    params.verbosity = -1
    try:
        engine: Engine = xllamacpp.Server(params)
    except Exception as error:  # noqa: BLE001 - the wall: whatever a C++ library raises
        raise ProviderFailed("broken", f"{weights.name} cannot be loaded ({type(error).__name__})") from None
    return engine


def find_weights(path: str | None) -> Path:
    """The file given, or the one of the package that carries a small model. Raises `ProviderFailed`."""
    if path is not None:
        file = Path(path).expanduser()
        if not file.is_file():
            raise ProviderFailed("broken", f"there is no file {file.name}")
        return file
    import importlib.util

    found = importlib.util.find_spec(LOCAL_WEIGHTS)
    for place in (found.submodule_search_locations or ()) if found else ():
        for file in sorted(Path(place).glob("*.gguf")):
            return file
    raise ProviderFailed("broken", f"no 'path' is given and the package {LOCAL_WEIGHTS} is not installed")
