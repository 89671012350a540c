"""The client of the official Python SDK, 2.x: `mode` is `legacy`, or `auto` (modern where the server is)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp
from steps import Driver, Plan, run, text_of, texts_of


class Mcp2(Driver):
    def __init__(self, client: mcp.Client) -> None:
        self.client = client

    async def revision(self) -> Any:
        return self.client.protocol_version

    async def tools(self) -> Any:
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, name: str, arguments: dict[str, Any], on_progress: Any = None) -> Any:
        result = await self.client.call_tool(name, arguments, progress_callback=on_progress)
        return {"texts": texts_of(result.content), "error": result.is_error, "structured": result.structured_content}

    async def read(self, uri: str) -> Any:
        return text_of((await self.client.read_resource(uri)).contents)

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return text_of([message.content for message in (await self.client.get_prompt(name, arguments)).messages])


@asynccontextmanager
async def connect(plan: Plan) -> AsyncIterator[Driver]:
    server: Any = plan.get("url")
    if server is None:
        server = mcp.StdioServerParameters(command=plan["command"], args=plan["args"])
    async with mcp.Client(server, mode=plan["mode"]) as client:
        yield Mcp2(client)


if __name__ == "__main__":
    run(connect)
