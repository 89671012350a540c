"""What a receiver of an HTTP exchange heard, for tests that wait for it. Implements `http_connection.Receiver`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from emceepee.backends.http_connection import Exchange, Headers, HttpFault


class Heard:
    def __init__(self, on_data: Callable[[bytes], None] | None = None) -> None:
        self.status = 0
        self.headers: Headers = {}
        self.body = bytearray()
        self.parts = 0
        self.ends = 0
        self.fault: HttpFault | None = None
        self.exchange: Exchange | None = None
        self._on_data = on_data
        self._news = asyncio.Event()

    def on_head(self, status: int, headers: Headers) -> None:
        assert not self.status, "one head"
        self.status = status
        self.headers = headers
        self._news.set()

    def on_data(self, data: bytes) -> None:
        assert not self.ends, "nothing after the end"
        self.body += data
        self.parts += 1
        self._news.set()
        if self._on_data is not None:
            self._on_data(data)

    def on_end(self) -> None:
        self.ends += 1
        self._news.set()

    def on_fault(self, fault: HttpFault) -> None:
        self.fault = fault
        self.ends += 1
        self._news.set()

    async def until(self, condition: Callable[[], bool], seconds: float = 10) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def end(self) -> Heard:
        """Until it is over; there was one end."""
        await self.until(lambda: bool(self.ends))
        assert self.ends == 1
        return self
