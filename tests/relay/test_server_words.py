"""A server in words: what it says of itself, as far as it is known and connected."""

from __future__ import annotations

from emceepee.relay.server_words import server_words
from tests.conversations.house import House
from tests.support.scripted_backend import ScriptedBackend

LONG = {"name": "long", "description": "word " * 100, "inputSchema": {"type": "object"}}


async def test_a_connected_server_is_told_by_its_instructions_and_lists() -> None:
    files = ScriptedBackend(tools=[LONG], instructions="Keeps files.")
    house = House({"files": files, "down": ScriptedBackend()})
    client = await house.legacy_client("/servers/files/mcp")
    scope = client.headers["mcp-session-id"]
    middle = house.gateway.middle
    assert await server_words(middle, scope, "down") == [("down", "")]
    await client.result("tools/list", {})
    ((name, words), (other, nothing)) = await server_words(middle, scope, None)
    assert (name, other, nothing) == ("files", "down", "")
    instructions, tool = words.splitlines()
    assert instructions == "Keeps files."
    assert tool.startswith("Tool long: word word")
    assert len(tool) <= 210
    assert (await server_words(middle, "somebody else", "files")) == [("files", "")]
    await house.close()
