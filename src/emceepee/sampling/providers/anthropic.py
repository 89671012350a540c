"""Models of Anthropic, by its official client.

The one rule: the client gets the key and nothing else of ours; it tries once, logs nothing, and each of its exceptions
becomes a `ProviderFailed`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from emceepee.sampling.content import Json
from emceepee.sampling.model import Model
from emceepee.sampling.provider import ProviderAnswer, ProviderFailed
from emceepee.sampling.providers.anthropic_words import read_answer, request_body
from emceepee.sampling.providers.failures import failed_with
from emceepee.sampling.providers.libraries import decoded, keep_quiet

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

ADDRESS = "https://api.anthropic.com"


class AnthropicProvider:
    def __init__(self, key: str | None, base_url: str | None = None) -> None:
        self._key = key
        self._address = base_url or ADDRESS
        self._opening = asyncio.Lock()
        self._client: AsyncAnthropic | None = None

    async def ask(self, model: Model, params: Json, seconds: float) -> ProviderAnswer:
        body = request_body(model, params)
        client = await self._open()
        import anthropic

        # What the library's own signature lacks goes the way it has for that.
        more = {"temperature": body.pop("temperature")} if "temperature" in body else None
        try:
            answer = await client.messages.with_raw_response.create(**body, extra_body=more, timeout=seconds)
            read = await answer.read()
        except anthropic.APITimeoutError:
            raise ProviderFailed("timed_out") from None
        except anthropic.APIConnectionError as error:
            raise ProviderFailed("unreachable", type(error.__cause__ or error).__name__) from None
        except anthropic.APIStatusError as error:
            raise failed_with(error.status_code, error.body, error.response.headers) from None
        except anthropic.AnthropicError as error:
            raise ProviderFailed("broken", type(error).__name__) from None
        return read_answer(decoded(read), params)

    async def _open(self) -> AsyncAnthropic:
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


def _make(key: str, address: str) -> AsyncAnthropic:
    from anthropic import AsyncAnthropic

    keep_quiet("anthropic")
    return AsyncAnthropic(api_key=key, base_url=address, max_retries=0)
