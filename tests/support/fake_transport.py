"""A transport that writes into a list and hears what the test says: for whatever drives a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from emceepee.backends.transport import PIPE, SENT, Header, Inbox, Origin, Sending
from emceepee.errors import BackendFault
from emceepee.framing.json_text import Limits, read_message
from emceepee.protocol.messages import RequestId


class FakeTransport:
    """`hold=True` makes a request's `send` last until its answer is said, as over HTTP; `at_once` writes requests
    without waiting."""

    def __init__(self, hold: bool = False, at_once: bool = False) -> None:
        self.hold = hold
        self.at_once = at_once
        self.written: list[dict[str, Any]] = []
        self.fault: BackendFault | None = None
        self.closed = 0
        self.inbox: Inbox | None = None
        self._held: dict[RequestId, asyncio.Future[None]] = {}

    async def start(self, inbox: Inbox) -> None:
        self.inbox = inbox

    def begin(self, message: bytes, request: RequestId, headers: Sequence[Header] = ()) -> Sending | None:
        if not self.at_once:
            return None
        if self.fault is not None:
            raise self.fault
        self.written.append(msgspec.json.decode(message))
        return SENT

    async def send(self, message: bytes, request: RequestId | None = None, headers: Sequence[Header] = ()) -> None:
        if self.fault is not None:
            raise self.fault
        self.written.append(msgspec.json.decode(message))
        if self.hold and request is not None:
            held = self._held[request] = asyncio.get_running_loop().create_future()
            await held

    def say(self, message: dict[str, Any], origin: Origin = PIPE) -> None:
        assert self.inbox is not None
        self.inbox.message(read_message(msgspec.json.encode({"jsonrpc": "2.0"} | message), Limits()), origin)
        held = self._held.get(message.get("id", ""))
        if held is not None and "method" not in message and not held.done():
            held.set_result(None)

    def lose(self, fault: BackendFault) -> None:
        assert self.inbox is not None
        self.inbox.lost(fault)

    async def close(self) -> None:
        self.closed += 1

    def methods(self) -> list[str]:
        return [message.get("method", "") for message in self.written]
