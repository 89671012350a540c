"""A client of the meta-tools: calls one, and reads its blocks as a model would.

The one rule: what it returns is what stood in the response, block by block; it remembers nothing for the test.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.conversations.house import House, Json, LegacyClient, ModernClient, response_of
from tests.support.asgi_client import AsgiAnswer


@dataclass
class Told:
    """One response: the tool's own answer, the events beside it, and what waits for the client."""

    blocks: list[Any]
    is_error: bool = False
    own: list[Any] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)
    dropped: Json | None = None
    pending: Json | None = None

    @property
    def said(self) -> Any:
        return self.own[0]

    @property
    def kinds(self) -> list[str]:
        return [event["type"] for event in self.events]


def read_told(response: Json) -> Told:
    result = response["result"]
    blocks = [_decoded(block) for block in result["content"]]
    told = Told(blocks, result.get("isError", False))
    for block in blocks:
        if isinstance(block, dict) and "events_since_last_response" in block:
            told.events, told.dropped = block["events_since_last_response"], block.get("events_dropped")
        elif isinstance(block, dict) and "pending_client_action" in block:
            told.pending = block["pending_client_action"]
        else:
            told.own.append(block)
    return told


def _decoded(block: Json) -> Any:
    try:
        return json.loads(block["text"])
    except (KeyError, ValueError):
        return block


class MetaClient:
    def __init__(self, client: LegacyClient | ModernClient) -> None:
        self.client = client

    @property
    def scope(self) -> str:
        """Its workspace's scope; for a test that does something in there for which no server has a way yet."""
        return self.client.headers["mcp-session-id"] if isinstance(self.client, LegacyClient) else "local"

    def start(self, tool: str, /, **arguments: Any) -> AsgiAnswer:
        return self.client.start("tools/call", {"name": tool, "arguments": arguments})

    async def use(self, tool: str, /, **arguments: Any) -> Told:
        return await self.told(self.start(tool, **arguments))

    async def told(self, answer: AsgiAnswer) -> Told:
        return read_told(response_of(await answer.done()))


async def meta(house: House) -> MetaClient:
    """A legacy session on `/mcp`."""
    return MetaClient(await house.legacy_client("/mcp"))
