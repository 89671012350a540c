"""The client of FastMCP 4, as it comes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from steps import Driver, Plan, run, text_of, texts_of


class FastMcp(Driver):
    def __init__(self, client: Any) -> None:
        self.client = client

    async def revision(self) -> Any:
        return self.client.protocol_version

    async def tools(self) -> Any:
        return [tool.name for tool in await self.client.list_tools()]

    async def call(self, name: str, arguments: dict[str, Any], on_progress: Any = None) -> Any:
        result = await self.client.call_tool(name, arguments, progress_handler=on_progress, raise_on_error=False)
        return {
            "texts": texts_of(result.content),
            "error": result.is_error,
            "structured": result.structured_content,
        }

    async def read(self, uri: str) -> Any:
        return text_of(await self.client.read_resource(uri))

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return text_of([message.content for message in (await self.client.get_prompt(name, arguments)).messages])


@asynccontextmanager
async def connect(plan: Plan) -> AsyncIterator[Driver]:
    server: Any = plan.get("url")
    if server is None:
        server = StdioTransport(plan["command"], plan["args"], keep_alive=False)
    async with Client(server, mode=plan["mode"]) as client:
        yield FastMcp(client)


if __name__ == "__main__":
    run(connect)
