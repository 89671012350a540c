"""A server on the official SDK whose one tool asks before it answers: 1.x in the middle of the call, 2.x by a result
that wants input. It wants to know `what` (form, sampling or roots) about a number, and answers with what it was told.

    python asker.py                    on stdio
    python asker.py http PORT          Streamable HTTP

The one rule: it waits a random moment before and after it asks, so that calls overtake each other.
"""

import asyncio
import random
import sys
from typing import Any

from mcp import types
from pydantic import BaseModel

try:
    from mcp.server.mcpserver import Context, MCPServer

    two = True
except ImportError:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer

    two = False

server = MCPServer("asker")
SCHEMA = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}


class Color(BaseModel):
    color: str


async def pause() -> None:
    await asyncio.sleep(random.random() * 0.004)  # noqa: S311 -- not secret


def messages(number: int) -> list[Any]:
    content = types.TextContent(type="text", text=f"write {number}")
    return [types.SamplingMessage(role="user", content=content)]


if two:

    @server.tool()
    async def ask(what: str, number: int, ctx: Context) -> Any:  # type: ignore[type-arg]
        given = (ctx.input_responses or {}).get("k")
        await pause()
        if given is None:
            return types.InputRequiredResult(
                input_requests={"k": wanted(what, number)}, request_state=f"state {number}"
            )
        if what == "form":
            return f"{given.action}: {(given.content or {}).get('color')}"
        return given.content.text if what == "sampling" else ", ".join(str(root.uri) for root in given.roots)

    def wanted(what: str, number: int) -> Any:
        if what == "form":
            params = types.ElicitRequestFormParams(message=f"color {number}?", requested_schema=SCHEMA)
            return types.ElicitRequest(params=params)
        if what == "roots":
            return types.ListRootsRequest()
        return types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(messages=messages(number), max_tokens=20)
        )

else:

    @server.tool()
    async def ask(what: str, number: int, ctx: Context) -> str:  # type: ignore[type-arg]
        await pause()
        told = await asked(what, number, ctx)
        await pause()
        return told

    async def asked(what: str, number: int, ctx: Any) -> str:
        if what == "form":
            result = await ctx.elicit(message=f"color {number}?", schema=Color)
            return f"{result.action}: {result.data.color}"
        if what == "roots":
            return ", ".join(str(root.uri) for root in (await ctx.session.list_roots()).roots)
        related = ctx.request_context.request_id
        written = await ctx.session.create_message(messages(number), max_tokens=20, related_request_id=related)
        return str(written.content.text)


def run(transport: str = "stdio", port: str = "0") -> None:
    if transport == "stdio":
        server.run("stdio")
        return
    import uvicorn

    app = server.streamable_http_app(host="127.0.0.1") if two else server.streamable_http_app()
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning", timeout_graceful_shutdown=2)


if __name__ == "__main__":
    run(*sys.argv[1:])
