"""The smallest driver of a peer that waits: an async caller over a write function of the test's choice.

It exists to show that the peer can be driven as its docstring says, alone, before anything else is wired. The product's
driver is `backends.conversation`, with tests of its own.

The one rule: one message is one write, under one lock, whoever sends it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from emceepee.framing.json_text import Limits, read_message
from emceepee.protocol.events import Answer, Ended, Event, Owed
from emceepee.protocol.messages import write_request
from emceepee.protocol.peer import Peer
from emceepee.vocabulary.raw_json import write

Write = Callable[[bytes], Awaitable[None]]


class SmallDriver:
    """`call` waits for the answer; `hear` takes whole messages; `events` is what was left for nobody in particular."""

    def __init__(self, peer: Peer, write_bytes: Write) -> None:
        self.peer = peer
        self.events: list[Event] = []
        self._write_bytes = write_bytes
        self._lock = asyncio.Lock()

    async def call(self, method: str, params: dict[str, Any]) -> Answer:
        asked = self.peer.open(method, None)
        asked.waiter = asyncio.get_running_loop().create_future()
        try:
            async with self._lock:
                self.peer.sent(asked)
                await self._write_bytes(write_request(asked.id, method, write(params)) + b"\n")
            answer: Answer = await asked.waiter
            return answer
        except asyncio.CancelledError:
            await self._last_words(self.peer.abandon(asked, "the caller cancelled"))
            raise
        finally:
            self.peer.failed_to_send(asked)

    async def answer(self, owed: Owed, result: dict[str, Any]) -> None:
        await self.send(self.peer.answer(owed.owed, write(result)))

    async def send(self, message: bytes | None) -> None:
        if message is not None:
            async with self._lock:
                await self._write_bytes(message + b"\n")

    def hear(self, message: bytes) -> None:
        for event in self.peer.receive(read_message(message, Limits()), None):
            self._happened(event)

    def close(self, reason: str) -> None:
        for ended in self.peer.close(reason):
            self._happened(ended)

    def _happened(self, event: Event) -> None:
        if isinstance(event, Ended) and not event.asked.waiter.done():
            event.asked.waiter.set_result(event.answer)
        else:
            self.events.append(event)

    async def _last_words(self, message: bytes | None) -> None:
        """A failing courtesy hides nothing."""
        with contextlib.suppress(OSError):
            await self.send(message)
