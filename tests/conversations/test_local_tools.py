"""Tools in Python behind the whole gateway: on each surface, for clients of both eras."""

from __future__ import annotations

import pytest

from emceepee.app import Gateway
from emceepee.errors import ClientFault
from examples.local_tools import poems
from tests.conversations.house import House
from tests.conversations.meta_client import meta


def house() -> House:
    made = House({})
    made.gateway = Gateway(environment={}, clock=made.clock, local=[poems])
    return made


async def test_a_legacy_client_calls_one_on_its_own_path_and_among_the_others() -> None:
    made = house()
    own = await made.legacy_client("/servers/poems/mcp")
    answer = await own.call("tools/call", {"name": "read", "arguments": {"text": "Old pond"}})
    assert answer["result"]["structuredContent"] == {"text": "Old pond", "mood": None}
    merged = await made.legacy_client("/direct/mcp")
    tools = (await merged.call("tools/list", {}))["result"]["tools"]
    assert {tool["name"] for tool in tools} == {"poems__read", "poems__sign"}
    await made.close()


async def test_a_modern_client_is_told_what_is_wrong_with_its_arguments() -> None:
    made = house()
    modern = made.modern_client("/servers/poems/mcp")
    answer = await modern.call("tools/call", {"name": "read", "arguments": {"text": " "}})
    result = answer["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"] == "there is no poem in 'text'"
    await made.close()


async def test_what_it_asks_is_answered_through_the_meta_tools_and_its_call_ends() -> None:
    made = house()
    client = await meta(made)
    told = await client.use("execute_tool", server="poems", tool="sign", args={"text": "Old pond"})
    assert (told.said["input_required"], told.said["task"]["status"]) == (True, "working")
    assert told.pending is not None
    (question,) = told.pending["elicitations"]
    assert (question["server"], question["message"]) == ("poems", "Whose poem is it?")
    answer = {"request_id": question["requestId"], "action": "accept", "content": {"name": "Basho"}}
    await client.use("respond_to_elicitation", **answer)
    ended = await client.use("get_task_result", task_id=told.said["task"]["taskId"], timeout_ms=1000)
    assert ended.said["text"] == "Old pond\n  Basho"
    await made.close()


async def test_the_program_around_the_gateway_calls_one_itself() -> None:
    made = house()
    result = await made.gateway.call_tool("poems", "read", {"text": "Old pond"})
    assert result["structuredContent"] == {"text": "Old pond", "mood": None}
    with pytest.raises(ClientFault, match="Server 'songs' not found"):
        await made.gateway.call_tool("songs", "read", {})
    with pytest.raises(ClientFault, match="Unknown tool: sing"):
        await made.gateway.call_tool("poems", "sing", {})
    await made.close()
