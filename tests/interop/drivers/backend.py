"""A small server on the official SDK, of whichever version its interpreter has: 1.x speaks legacy, 2.x both eras.

    NAME=legacy LEFT=/some/file python backend.py              on stdio
    NAME=modern LEFT=/some/file python backend.py http PORT    Streamable HTTP
    NAME=old    LEFT=/some/file python backend.py sse PORT     HTTP+SSE (1.x only)

The one rule: a call that is cancelled writes its label into the file LEFT, so that a test sees it arrive.
"""

import asyncio
import os
import sys
from typing import Any

try:
    from mcp.server.mcpserver import Context, MCPServer

    two = True
except ImportError:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer

    two = False

NAME = os.environ["NAME"]
server = MCPServer(NAME)


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
def add(a: float, b: float) -> dict[str, float]:
    return {"sum": a + b}


@server.tool()
async def countdown(steps: int, seconds: float, label: str, ctx: Context) -> str:  # type: ignore[type-arg]
    try:
        for step in range(1, steps + 1):
            await asyncio.sleep(seconds)
            await ctx.report_progress(step, steps, f"{steps - step} to go")
        # The TypeScript clients drop progress that arrives in one chunk with the answer, also without a gateway.
        await asyncio.sleep(0.2)
    except asyncio.CancelledError:
        note_down(label)
        raise
    return f"counted down from {steps}"


def note_down(label: str) -> None:
    with open(os.environ["LEFT"], "a", encoding="utf-8") as left:
        left.write(f"{label}\n")


@server.resource(f"note://{NAME}/one")
def note() -> str:
    return f"a note of {NAME}"


@server.prompt()
def introduce(who: str) -> str:
    return f"Introduce {who}, says {NAME}."


def run(transport: str = "stdio", port: str = "0") -> None:
    if transport == "stdio":
        server.run("stdio")
        return
    import uvicorn

    app: Any
    if transport == "sse":
        app = server.sse_app()
    elif two:
        app = server.streamable_http_app(host="127.0.0.1")
    else:
        app = server.streamable_http_app()
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning", timeout_graceful_shutdown=2)


if __name__ == "__main__":
    run(*sys.argv[1:])
