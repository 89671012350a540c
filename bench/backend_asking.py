"""An MCP server over HTTP that asks a question in the middle of a call, and says in it when it was sent. Legacy.

    python -m bench.backend_asking PORT

Its tool `sample` asks the client's model at once, and gives what it said. Its tool `ask` is answered as an event
stream: after a moment a question whose message is the time, in nanoseconds of the clock that all processes of a machine
share; then, when that is answered, the result. The one rule: the time is read immediately before the question is
written.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from contextlib import suppress
from time import monotonic_ns
from typing import Any

import uvloop

from bench.wire import LEGACY_REVISION

QUESTION = "In one word, how does a slow piece in a minor key feel?"

A_MOMENT = 0.02
"""So that whoever waits for the question waits by then."""
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_sessions = itertools.count(1)
_asks = itertools.count(1)
_waiting: dict[str, asyncio.Future[Any]] = {}


async def _serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"), 0
            )
            body = await reader.readexactly(length)
            if head.startswith(b"POST"):
                await _answer(json.loads(body), writer)
            else:
                writer.write(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
    writer.close()


async def _answer(message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    method = message.get("method")
    if method == "tools/call":
        ask = _sample if message["params"]["name"] == "sample" else _ask
        await ask(message["id"], writer)
    elif method is None or "id" not in message:
        waiting = _waiting.pop(str(message.get("id")), None)
        if waiting is not None:
            waiting.set_result(message.get("result"))
        writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
    else:
        said = json.dumps({"jsonrpc": "2.0", "id": message["id"], **_said(method)}).encode()
        session = b"Mcp-Session-Id: asking-%d\r\n" % next(_sessions) if method == "initialize" else b""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%bContent-Length: %d\r\n\r\n"
        writer.write(head % (session, len(said)) + said)


def _said(method: str) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "asking", "version": "1"}
        return {"result": {"protocolVersion": LEGACY_REVISION, "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        return {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("ask", "sample")]}}
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": -32601, "message": "Method not found"}}


async def _ask(request_id: Any, writer: asyncio.StreamWriter) -> None:
    name = f"ask-{next(_asks)}"
    _waiting[name] = asyncio.get_running_loop().create_future()
    writer.write(_HEAD)
    await asyncio.sleep(A_MOMENT)
    schema = {"type": "object", "properties": {"word": {"type": "string"}}}
    params = {"message": str(monotonic_ns()), "requestedSchema": schema}
    writer.write(_event({"id": name, "method": "elicitation/create", "params": params}))
    await _waiting[name]
    writer.write(_event({"id": request_id, "result": {"content": [{"type": "text", "text": name}]}}) + b"0\r\n\r\n")


async def _sample(request_id: Any, writer: asyncio.StreamWriter) -> None:
    name = f"sample-{next(_asks)}"
    _waiting[name] = asyncio.get_running_loop().create_future()
    message = {"role": "user", "content": {"type": "text", "text": QUESTION}}
    params = {"messages": [message], "maxTokens": 500}
    writer.write(_HEAD + _event({"id": name, "method": "sampling/createMessage", "params": params}))
    said = await _waiting[name]
    writer.write(_event({"id": request_id, "result": {"content": [said["content"]]}}) + b"0\r\n\r\n")


def _event(message: dict[str, Any]) -> bytes:
    event = b"data: %b\n\n" % json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"%x\r\n%b\r\n" % (len(event), event)


async def _serve(port: int) -> None:
    server = await asyncio.start_server(_serve_one, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        uvloop.run(_serve(int(sys.argv[1])))
