"""The SDK's own conformance server, narrowed to one era. Run by the interpreter that has that SDK, not by ours.

    python everything.py SOURCE PORT legacy|modern

It serves both eras by itself, so a client could choose; the filter in front of it answers the other era as a server
answers that never heard of it. The one rule: what belongs to its era reaches the server unchanged.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

MODERN = "2026-07-28"

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
App = Callable[[Event, Receive, Send], Awaitable[None]]


class OneEra:
    def __init__(self, app: App, era: str) -> None:
        self._app = app
        self._era = era

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            status, error = refusal
            answer = {"jsonrpc": "2.0", "id": await _id_of(receive), "error": error}
            await _answer(send, status, json.dumps(answer).encode())

    def _refusal(self, scope: Event) -> tuple[int, dict[str, Any]] | None:
        headers = dict(scope["headers"])
        version = headers.get(b"mcp-protocol-version", b"").decode("latin-1")
        modern = version not in ("", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
        if self._era == "legacy":
            if version != MODERN:
                return None
            return 400, {"code": -32000, "message": f"Bad Request: Unsupported protocol version: {version}"}
        if scope["method"] != "POST":
            return 405, {"code": -32600, "message": "Method not allowed"}
        if modern:
            return None
        data = {"supported": [MODERN], "requested": version}
        return 400, {"code": -32022, "message": "Unsupported protocol version", "data": data}


async def _id_of(receive: Receive) -> Any:
    body, more = b"", True
    while more:
        event = await receive()
        body += event.get("body", b"")
        more = event.get("more_body", False)
    try:
        return json.loads(body).get("id")
    except (ValueError, AttributeError):
        return None


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    source, port, era = sys.argv[1:]
    sys.path.insert(0, source)
    import uvicorn

    server = importlib.import_module("mcp_everything_server.server")
    app = server.mcp.streamable_http_app(event_store=server.event_store, retry_interval=100, host="127.0.0.1")
    uvicorn.run(OneEra(app, era), host="127.0.0.1", port=int(port), log_level="warning", timeout_graceful_shutdown=2)


if __name__ == "__main__":
    main()
