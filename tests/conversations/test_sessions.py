"""A session that is none: what its holder is told, and that nothing is done in its name."""

from __future__ import annotations

import pytest

from tests.conversations.house import House
from tests.support.scripted_backend import ScriptedBackend


@pytest.mark.shows("A-CFG-12", "A-SES-13", "A-SES-22")
@pytest.mark.parametrize("ended", [True, False])
async def test_a_server_cannot_be_added_by_a_session_that_is_unknown_or_over(ended: bool) -> None:
    house = House({"files": ScriptedBackend("legacy")})
    client = await house.legacy_client("/mcp")
    if ended:
        assert (await client.delete()).status == 204
    else:
        client.headers["mcp-session-id"] = "nobody.EVER"
    named = client.headers["mcp-session-id"]
    arguments = {"name": "new", "command": "true"}
    answer = await client.start("tools/call", {"name": "add_server", "arguments": arguments}).done()
    assert answer.status == 404
    assert answer.json["error"]["message"].startswith(f"Session '{named}' not found")
    assert not house.gateway.registry.has("new")
    await house.close()
