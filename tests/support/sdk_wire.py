"""The official SDK's client over one of our backend transports, as a second opinion on what lies behind it.

    async with mcp.Client(sdk_over(InMemoryTransport("demo", DemoServer(clock)))) as client: ...

It carries messages both ways and judges none.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from emceepee.backends.transport import Origin, Transport
from emceepee.errors import BackendFault
from emceepee.protocol.messages import Failure, Message, Notification, Request, Result
from emceepee.vocabulary.raw_json import write


def _sdk_message(message: Message) -> SessionMessage:
    fields: dict[str, Any] = {"jsonrpc": "2.0"}
    match message:
        case Request(id=request_id, method=method, params=params):
            fields |= {"id": request_id, "method": method} | ({} if params is None else {"params": params})
        case Notification(method=method, params=params):
            fields |= {"method": method} | ({} if params is None else {"params": params})
        case Result(id=request_id, result=result):
            fields |= {"id": request_id, "result": result}
        case Failure(id=failed, error=error):
            fields |= {"id": failed, "error": error}
    return SessionMessage(jsonrpc_message_adapter.validate_json(write(fields)))


class _Inbox:
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def message(self, message: Message, origin: Origin) -> None:
        self._stream.send_nowait(_sdk_message(message))

    def rubbish(self, detail: str, origin: Origin) -> None:
        self._stream.send_nowait(ValueError(detail))

    def lost(self, fault: BackendFault) -> None:
        self._stream.close()


@asynccontextmanager
async def sdk_over(transport: Transport) -> AsyncIterator[tuple[Any, Any]]:
    to_client, client_reads = anyio.create_memory_object_stream[Any](1000)
    client_writes, from_client = anyio.create_memory_object_stream[Any](1000)

    async def carry() -> None:
        async for said in from_client:
            await transport.send(said.message.model_dump_json(by_alias=True, exclude_unset=True).encode())

    await transport.start(_Inbox(to_client))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(carry)
        try:
            yield client_reads, client_writes
        finally:
            tasks.cancel_scope.cancel()
            for stream in (to_client, client_reads, client_writes, from_client):
                stream.close()
    await transport.close()
