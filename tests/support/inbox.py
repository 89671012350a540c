"""What a transport handed over, in order, for tests that wait for it. Implements `backends.transport.Inbox`."""

from __future__ import annotations

import asyncio

from emceepee.backends.transport import Origin
from emceepee.errors import BackendFault
from emceepee.protocol.messages import Message, RequestId


class RecordingInbox:
    def __init__(self) -> None:
        self.messages: list[tuple[Message, Origin]] = []
        self.rubbish_heard: list[str] = []
        self.failures: list[tuple[RequestId, BackendFault]] = []
        self.faults: list[BackendFault] = []
        self._news = asyncio.Event()
        self._read = 0

    def message(self, message: Message, origin: Origin) -> None:
        self.messages.append((message, origin))
        self._news.set()

    def rubbish(self, detail: str, origin: Origin) -> None:
        self.rubbish_heard.append(detail)
        self._news.set()

    def failed(self, request: RequestId, fault: BackendFault) -> None:
        self.failures.append((request, fault))
        self._news.set()

    def lost(self, fault: BackendFault) -> None:
        self.faults.append(fault)
        self._news.set()

    async def next(self, seconds: float = 10) -> Message:
        """The next message not yet taken."""
        async with asyncio.timeout(seconds):
            while self._read >= len(self.messages):
                self._news.clear()
                await self._news.wait()
        self._read += 1
        return self.messages[self._read - 1][0]

    async def fault(self, seconds: float = 10) -> BackendFault:
        async with asyncio.timeout(seconds):
            while not self.faults:
                self._news.clear()
                await self._news.wait()
        return self.faults[0]
