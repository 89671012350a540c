"""What a question to a configured model leaves is freed by its references, however it ended; as `test_no_circles`."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import pytest

from emceepee.sampling.model import Model
from emceepee.sampling.provider import ProviderAnswer, ProviderFailed
from tests.conversations.test_asks import SAMPLE
from tests.conversations.test_model_step import asker, house_of
from tests.sampling.models import said
from tests.support.fake_clock import settle


class Ending:
    """A provider whose every answer ends alike; what it raises is new each time."""

    def __init__(self, ends: str) -> None:
        self._ends = ends

    async def ask(self, model: Model, params: Any, seconds: float) -> ProviderAnswer:
        match self._ends:
            case "answered":
                return ProviderAnswer(said())
            case "failed":
                raise ProviderFailed("broken")
            case "foreign":
                raise ValueError("of somebody else's library")
        return ProviderAnswer({"role": "nobody"})

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("ends", "changes", "options"),
    [
        ("answered", {}, {}),
        ("failed", {}, {}),
        ("foreign", {}, {}),
        ("malformed", {}, {}),
        ("answered", {"maxTokens": 0}, {}),
        ("answered", {}, {"approve": "ask"}),
        ("answered", {"modelPreferences": {"hints": [{"name": "x"}]}}, {"strict_hints": True}),
    ],
)
async def test_nothing_of_it_waits_for_the_collector(ends: str, changes: Any, options: Any) -> None:
    house = house_of(asker(SAMPLE | changes), Ending(ends), **options)
    client = await house.legacy_client("/servers/shop/mcp")

    async def asked(times: int) -> None:
        for _ in range(times):
            await client.start("tools/call", {"name": "paint", "arguments": {}}).done()
            house.forget_clients()
        await settle()

    await asked(2)
    gc.collect()
    gc.disable()
    try:
        await asked(4)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = Counter(type(one).__name__ for one in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left
    await house.close()
