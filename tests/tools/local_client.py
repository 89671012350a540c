"""A client of a local server, as small as can be. It declares what a test says, and answers as a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from emceepee.backends.in_memory import InMemoryTransport
from emceepee.protocol.messages import (
    Failure,
    Message,
    Notification,
    Request,
    Result,
    write_failure,
    write_notification,
    write_request,
    write_result,
)
from emceepee.tools.conversation import LocalConversation
from emceepee.tools.local_server import LocalServer
from tests.support.fake_clock import settle
from tests.support.inbox import RecordingInbox

Json = dict[str, Any]
SAMPLING: Json = {"sampling": {}}

Answering = Callable[[Json], Any]
"""Params to a result, or to (code, message, data) for an error, or to None for silence."""


class LocalClient:
    def __init__(self, server: LocalServer, capabilities: Json | None = None, **answering: Answering) -> None:
        """`answering` is by the method's last part: `createMessage`, `create`, `list`."""
        self.server = LocalConversation(server)
        self.transport = InMemoryTransport(server.name, self.server)
        self.inbox = RecordingInbox()
        self.capabilities = SAMPLING if capabilities is None else capabilities
        self.answering = answering
        self.asked: list[Request] = []
        self.told: list[tuple[str, Json]] = []
        self._last_id = 0
        self._news = asyncio.Event()
        self._waiting: dict[Any, asyncio.Future[Json]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> LocalClient:
        await self.transport.start(self.inbox)
        self._reading = asyncio.ensure_future(self._read())
        await self.request(
            "initialize",
            protocolVersion="2025-11-25",
            capabilities=self.capabilities,
            clientInfo={"name": "t", "version": "1"},
        )
        await self.transport.send(write_notification("notifications/initialized", None))
        await settle()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._reading is not None
        self._reading.cancel()
        await asyncio.wait([self._reading])
        await self.transport.close()

    def begin(self, method: str, **params: Any) -> asyncio.Task[Json]:
        return asyncio.ensure_future(self.request(method, **params))

    async def request(self, method: str, **params: Any) -> Json:
        """The result, or `{"error": …}`."""
        self._last_id += 1
        waiting = self._waiting[self._last_id] = asyncio.get_running_loop().create_future()
        await self.transport.send(write_request(self._last_id, method, json.dumps(params).encode()))
        async with asyncio.timeout(30):
            return await waiting

    async def call(self, tool: str, /, **arguments: Any) -> Json:
        return await self.request("tools/call", name=tool, arguments=arguments)

    async def tell(self, method: str, **params: Any) -> None:
        await self.transport.send(write_notification(method, json.dumps(params).encode()))

    async def reply(self, request: Request, answer: Any) -> None:
        match answer:
            case None:
                return
            case (int() as code, str() as message, data):
                await self.transport.send(write_failure(request.id, code, message, data))
            case _:
                await self.transport.send(write_result(request.id, json.dumps(answer).encode()))

    async def _read(self) -> None:
        while True:
            await self._heard(await self.inbox.next(60))

    async def _heard(self, message: Message) -> None:
        match message:
            case Request(method=method, params=params):
                self.asked.append(message)
                self._news.set()
                answering = self.answering.get(method.rpartition("/")[2], lambda _: None)
                await self.reply(message, answering(json.loads(bytes(params or b"{}"))))
            case Notification(method=method, params=params):
                self.told.append((method, json.loads(bytes(params or b"{}"))))
            case Result(id=request_id, result=result):
                self._waiting.pop(request_id).set_result(json.loads(bytes(result)))
            case Failure(id=request_id, error=error):
                self._waiting.pop(request_id).set_result({"error": {"code": error.code, "message": error.message}})

    async def question(self, number: int = 0) -> Request:
        """The server's question of that number, when it has come."""
        async with asyncio.timeout(30):
            while len(self.asked) <= number:
                self._news.clear()
                await self._news.wait()
        return self.asked[number]


def text_of(result: Json) -> str:
    return "".join(block["text"] for block in result["content"])


def answered(text: str = "calm, dark", **more: Any) -> Json:
    return {
        "role": "assistant",
        "content": {"type": "text", "text": text},
        "model": "m-1",
        "stopReason": "endTurn",
    } | more
