"""The client of the official Python SDK, 1.x. It cancels nothing by itself; its users send the notification."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from steps import Driver, Plan, color_of, run, text_of, texts_of


class Mcp1(Driver):
    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def tools(self) -> Any:
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def call(self, name: str, arguments: dict[str, Any], on_progress: Any = None) -> Any:
        result = await self.session.call_tool(name, arguments, progress_callback=on_progress)
        return {"texts": texts_of(result.content), "error": result.isError, "structured": result.structuredContent}

    async def read(self, uri: str) -> Any:
        return text_of((await self.session.read_resource(types.AnyUrl(uri))).contents)

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return text_of([message.content for message in (await self.session.get_prompt(name, arguments)).messages])

    async def give_up(self, call: "asyncio.Task[Any]") -> None:
        params = types.CancelledNotificationParams(requestId=self.session._request_id - 1, reason="not needed")
        told = types.CancelledNotification(method="notifications/cancelled", params=params)
        await self.session.send_notification(types.ClientNotification(told))
        call.cancel()


def answering(plan: Plan) -> dict[str, Any]:
    """Who answers what a server asks."""
    if "asked" not in plan:
        return {}

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content=color_of(params.message))

    async def sample(context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        text = params.messages[0].content.text.replace("write", "written")  # type: ignore[union-attr]
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text=text), model="m", stopReason="endTurn"
        )

    async def roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=types.FileUrl("file:///work"))])

    return {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}


@asynccontextmanager
async def connect(plan: Plan) -> AsyncIterator[Driver]:
    async with AsyncExitStack() as stack:
        if "url" in plan:
            streams = await stack.enter_async_context(streamable_http_client(plan["url"]))
        else:
            parameters = StdioServerParameters(command=plan["command"], args=plan["args"])
            streams = await stack.enter_async_context(stdio_client(parameters))
        session = await stack.enter_async_context(ClientSession(streams[0], streams[1], **answering(plan)))
        await session.initialize()
        yield Mcp1(session)


if __name__ == "__main__":
    run(connect)
