"""FastMCP's proxy at its best, as a program of its own; it runs with the Python that has FastMCP.

    python bench/fastmcp_proxy.py legacy|modern BACKEND_URL PORT

As it comes it makes a new backend client for each call. Here a legacy session keeps one (`StatefulProxyClient`), and
modern requests, which belong to no session, share one; answers are JSON, and uvicorn has httptools and uvloop. The one
rule: whatever its documents offer that makes it cheaper is switched on.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastmcp import Client, FastMCP
from fastmcp.server.providers.proxy import FastMCPProxy, StatefulProxyClient


def _per_session(url: str) -> FastMCPProxy:
    return FastMCPProxy(client_factory=StatefulProxyClient(url, mode="legacy").new_stateful, name="proxy")


def _shared(url: str) -> FastMCPProxy:
    client: Client[Any] = Client(url)

    @asynccontextmanager
    async def connected(_server: FastMCP) -> AsyncIterator[None]:
        async with client:
            yield

    return FastMCPProxy(client_factory=lambda: client, name="proxy", lifespan=connected)


def main(era: str, url: str, port: int) -> None:
    proxy = _per_session(url) if era == "legacy" else _shared(url)
    app = proxy.http_app(path="/mcp", json_response=True)
    uvicorn.run(
        app, host="127.0.0.1", port=port, log_level="warning", loop="uvloop", http="httptools", access_log=False
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
