"""The client of the official Python SDK, 2.x: `mode` is `legacy`, or `auto` (modern where the server is)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp
from mcp import types
from steps import Driver, Plan, color_of, run, text_of, texts_of


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


def answering(plan: Plan) -> dict[str, Any]:
    """Who answers what a server asks."""
    if "asked" not in plan:
        return {}

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content=color_of(params.message))

    async def sample(context: Any, params: Any) -> types.CreateMessageResult:
        text = params.messages[0].content.text.replace("write", "written")
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text=text), model="m", stop_reason="endTurn"
        )

    async def roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///work")])

    return {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}


@asynccontextmanager
async def connect(plan: Plan) -> AsyncIterator[Driver]:
    server: Any = plan.get("url")
    if server is None:
        server = mcp.StdioServerParameters(command=plan["command"], args=plan["args"])
    async with mcp.Client(server, mode=plan["mode"], **answering(plan)) as client:
        yield Mcp2(client)


if __name__ == "__main__":
    run(connect)
