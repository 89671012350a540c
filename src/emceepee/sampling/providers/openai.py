"""Models of OpenAI, and of all who speak the same, by the official client.

The one rule: as in `anthropic`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from emceepee.sampling.content import Json
from emceepee.sampling.model import Model
from emceepee.sampling.provider import ProviderAnswer, ProviderFailed
from emceepee.sampling.providers.failures import failed_with
from emceepee.sampling.providers.libraries import decoded, keep_quiet
from emceepee.sampling.providers.openai_words import read_answer, request_body

if TYPE_CHECKING:
    from openai import AsyncOpenAI

ADDRESS = "https://api.openai.com/v1"

_NO_KEY = "none"
"""What is sent where a server of one's own asks for none; the library insists on something."""


class OpenAiProvider:
    def __init__(self, key: str | None, base_url: str | None = None) -> None:
        self._key = key or (_NO_KEY if base_url else None)
        self._address = base_url or ADDRESS
        # OpenAI's own newer models take only the newer name, most other servers only the older one.
        self._most_tokens = "max_tokens" if base_url else "max_completion_tokens"
        self._opening = asyncio.Lock()
        self._client: AsyncOpenAI | None = None

    async def ask(self, model: Model, params: Json, seconds: float) -> ProviderAnswer:
        body = request_body(model, params, self._most_tokens)
        client = await self._open()
        import openai

        try:
            answer = await client.chat.completions.with_raw_response.create(**body, timeout=seconds)
        except openai.APITimeoutError:
            raise ProviderFailed("timed_out") from None
        except openai.APIConnectionError as error:
            raise ProviderFailed("unreachable", type(error.__cause__ or error).__name__) from None
        except openai.APIStatusError as error:
            raise failed_with(error.status_code, error.body, error.response.headers) from None
        except openai.OpenAIError as error:
            raise ProviderFailed("broken", type(error).__name__) from None
        return read_answer(decoded(answer.content), model, params)

    async def _open(self) -> AsyncOpenAI:
        async with self._opening:
            if self._client is None:
                if not self._key:
                    raise ProviderFailed("refused_key", "there is none")
                self._client = await asyncio.to_thread(_make, self._key, self._address)
        return self._client

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()


def _make(key: str, address: str) -> AsyncOpenAI:
    from openai import AsyncOpenAI

    keep_quiet("openai")
    return AsyncOpenAI(api_key=key, base_url=address, max_retries=0)
