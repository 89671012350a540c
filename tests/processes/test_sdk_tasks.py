"""The official SDK's client, which knows no tasks, told of them by an extension: a call that goes on is a task to it.

A second opinion on the whole way: its models read what we write, with its own headers and envelope.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import mcp
import mcp_types
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim

from tests.support.real_gateway import serving, stdio_entry, write_config

EXTENSION = "io.modelcontextprotocol/tasks"
SLOW = {"server": "worker", "tool": "slow", "args": {"seconds": 1.5}, "timeout_ms": 100}


class Created(mcp_types.Result):
    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    created_at: str
    ttl_ms: int | None
    poll_interval_ms: int | None = None


class Detailed(mcp_types.Result):
    result_type: Literal["complete"] = "complete"
    task_id: str
    status: str
    result: mcp_types.CallToolResult | None = None


class About(mcp_types.RequestParams):
    task_id: str


class GetTask(mcp_types.Request[About, Literal["tasks/get"]]):
    name_param = "taskId"
    method: Literal["tasks/get"] = "tasks/get"
    params: About


class Tasks(ClientExtension):
    """Resolves a task by asking about it until it has ended."""

    identifier = EXTENSION

    def __init__(self) -> None:
        self.created: list[Created] = []
        self.looked: list[Detailed] = []

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Created, resolve=self.resolve)]

    async def resolve(self, created: Created, context: ClaimContext) -> mcp_types.CallToolResult:
        self.created.append(created)
        while True:
            request = GetTask(params=About(task_id=created.task_id))
            detailed = await context.session.send_request(request, Detailed)
            self.looked.append(detailed)
            if detailed.result is not None:
                return detailed.result
            # As often as it was told to look.
            await asyncio.sleep((created.poll_interval_ms or 1000) / 1000)


async def test_the_sdks_client_sees_a_call_that_goes_on_as_a_task_and_gets_its_result(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"worker": stdio_entry(None, "worker")})
    tasks = Tasks()
    async with serving(config) as gateway:
        url = f"http://127.0.0.1:{gateway.port}/mcp"
        async with mcp.Client(url, mode="auto", extensions=[tasks]) as client:
            # A call that will not wait for long wants a server that is there.
            await client.call_tool("list_tools", {"server": "worker"})
            result = await client.call_tool("execute_tool", SLOW)
        async with mcp.Client(url, mode="auto") as plain:
            told = await plain.call_tool("execute_tool", SLOW)
    (created,) = tasks.created
    assert created.status == "working"
    assert {one.task_id for one in tasks.looked} == {created.task_id}
    assert tasks.looked[0].status == "working"
    assert tasks.looked[-1].status == "completed"
    assert [block.text for block in result.content if block.type == "text"] == ["done"]
    assert '"timeout":true' in "".join(block.text for block in told.content if block.type == "text"), "in words"
