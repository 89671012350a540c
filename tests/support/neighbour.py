"""A healthy server beside a bad one, with a call on its way to it: whatever the bad one does, this one must go on.

    neighbour = Neighbour()
    house = House({"good": neighbour.backend, "bad": ...})
    async with neighbour.busy(house):
        ... what the bad one does ...

The one rule: leaving the block shows three things: a call that was begun before is answered, a new one too, and nothing
was said twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.support.scripted_backend import Answer, ScriptedBackend, Turn

if TYPE_CHECKING:
    from tests.conversations.house import House

PATH = "/servers/good/mcp"


class Neighbour:
    def __init__(self) -> None:
        self._release = asyncio.Event()
        self.backend = ScriptedBackend("legacy", {"tools/call": self._answer})

    async def _answer(self, turn: Turn) -> Answer:
        name = turn.params["name"]
        if name == "held":
            await self._release.wait()
        return {"content": [{"type": "text", "text": name}]}

    @asynccontextmanager
    async def busy(self, house: House) -> AsyncIterator[None]:
        client = await house.legacy_client(PATH)
        held = client.start("tools/call", {"name": "held"})
        await self.backend.saw("tools/call")
        yield
        assert not held.complete
        found = await client.result("tools/call", {"name": "new"})
        assert found["content"][0]["text"] == "new"
        self._release.set()
        await held.done()
        assert held.body.count(b'"text":"held"') + held.body.count(b'"text": "held"') == 1
        assert self.backend.methods().count("tools/call") == 2
