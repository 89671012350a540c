"""Careless and hostile use of the meta-tools that change which servers there are, and of execute_tool."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from emceepee.config.settings import DEFAULTS
from tests.conversations.house import House, LegacyClient, ModernClient, let_run, response_of
from tests.support.scripted_backend import ECHO, ScriptedBackend, Turn

Json = dict[str, Any]


async def used(client: LegacyClient | ModernClient, tool: str, arguments: Any) -> Json:
    """The result of a meta-tool; a wrong use is a result that says so, never a protocol error."""
    found: Json = await client.result("tools/call", {"name": tool, "arguments": arguments})
    return found


def text(result: Json) -> str:
    return "".join(str(block.get("text", "")) for block in result["content"])


async def refused(client: LegacyClient | ModernClient, tool: str, arguments: Any) -> Json:
    result = await used(client, tool, arguments)
    assert result.get("isError") is True, result
    found: Json = json.loads(text(result))["error"]
    assert found["message"]
    assert found["next"]
    return found


@pytest.fixture(params=["legacy", "modern"])
async def met(request: pytest.FixtureRequest) -> Any:
    """A house and a client of either era at the meta-tools."""
    house = House({"files": ScriptedBackend(answers={"tools/call": lambda turn: {"content": [], "saw": turn.params}})})
    client = house.modern_client("/mcp") if request.param == "modern" else await house.legacy_client("/mcp")
    yield house, client
    await house.close()


NAMES = ("", " ", "a/b", "../x", "a__b", "*", ">", "x" * 300, "a.b\0", "emoji😀", "a\u202eb", "ａ", "a\nb", "_", "-")


@pytest.mark.parametrize("name", NAMES)
async def test_a_name_that_could_be_mistaken_is_refused_with_the_rule(met: Any, name: str) -> None:
    house, client = met
    before = len(house.gateway.registry.list())
    result = await used(client, "add_server", {"name": name, "command": "no-such-program"})
    assert result["isError"] is True
    assert len(house.gateway.registry.list()) == before


URLS = (
    "file:///etc/passwd",
    "ftp://h/",
    "gopher://h/",
    "javascript:alert(1)",
    "unix:///x",
    "//h/x",
    "h:80/x",
    "",
    "http://",
    "http:///x",
    "http://h:0/",
    "http://h:99999/",
    "http://h:x/",
    "http://[::1",
    "http://h /",
    "http://h/\r\nX: y",
    "http://h/" + "x" * 5000,
    "http://\u0000/",
)


@pytest.mark.parametrize("url", URLS)
async def test_a_url_that_is_none_or_has_another_scheme_leaves_no_trace(met: Any, url: str) -> None:
    house, client = met
    await refused(client, "add_server", {"name": "new", "url": url})
    assert house.gateway.registry.get("new") is None


OWN = (
    "http://127.0.0.1:{}/mcp",
    "http://LOCALHOST:{}/direct/mcp",
    "http://localhost.:{}/mcp",
    "http://[::1]:{}/mcp",
    "http://[::ffff:127.0.0.1]:{}/mcp",
    "http://127.1:{}/mcp",
    "http://2130706433:{}/mcp",
    "http://0x7f.0.0.1:{}/mcp",
    "http://0:{}/mcp",
    "http://0.0.0.0:{}/mcp",
    "http://user:word@127.0.0.1:{}/mcp",
    "http://a.localhost:{}/mcp",
    "http://%6cocalhost:{}/mcp",
    "http://１２７.0.0.1:{}/mcp",
    "http://ⓛocalhost:{}/mcp",
    "http://127。0。0。1:{}/mcp",
)


@pytest.mark.parametrize("url", OWN)
async def test_the_gateway_is_not_added_to_itself_however_it_is_spelt(met: Any, url: str) -> None:
    house, client = met
    house.gateway.registry.listening_on("127.0.0.1:1")
    error = await refused(client, "add_server", {"name": "me", "url": url.format(1)})
    assert "itself" in error["message"] or "this gateway" in error["message"], error["message"]


@pytest.mark.parametrize(
    "more",
    [
        {"headers": {"X": "a\r\nInjected: b"}},
        {"headers": {"X\r\nInjected": "b"}},
        {"headers": {"X": "a\0"}},
        {"headers": {"X": "\u2028"}},
        {"headers": {"": "a"}},
        {"headers": {"X": 5}},
        {"headers": "X: y"},
        {"headers": ["X"]},
        {"command": "x"},
        {"unknown": 1},
    ],
)
async def test_a_header_that_would_break_out_is_refused(met: Any, more: Json) -> None:
    house, client = met
    await refused(client, "add_server", {"name": "new", "url": "http://127.0.0.1:1/"} | more)
    assert house.gateway.registry.get("new") is None


@pytest.mark.parametrize(
    "launch",
    [
        {"command": "a\0b"},
        {"command": ""},
        {"command": "  "},
        {"command": "true", "args": ["a\0"]},
        {"command": "true", "args": "a b"},
        {"command": "true", "args": [1]},
        {"command": "true", "env": {"A=B": "c"}},
        {"command": "true", "env": {"": "c"}},
        {"command": "true", "env": {"A": "b\0"}},
        {"command": "true", "cwd": "\0"},
        {"command": "true", "cwd": "/no/such/folder"},
        {"command": ["true"]},
        {"command": "/"},
        {},
    ],
)
async def test_a_program_that_cannot_be_started_leaves_no_trace(met: Any, launch: Json) -> None:
    house, client = met
    result = await used(client, "add_server", {"name": "new"} | launch)
    assert result["isError"] is True
    assert house.gateway.registry.get("new") is None


@pytest.mark.parametrize("value", [-1, 1.5, True, 10**30, "soon", [], {}, "-5", "1e400"])
async def test_a_time_limit_that_is_none_is_refused(met: Any, value: Any) -> None:
    _, client = met
    error = await refused(client, "execute_tool", {"server": "files", "tool": "echo", "timeout_ms": value})
    assert error["details"]["field"] == "timeout_ms"


@pytest.mark.parametrize("value", ["{bad", "[1]", "5", '"x"', "null", "tru", '{"a":' + "[" * 5000, 5, [1], True])
async def test_arguments_that_are_no_object_are_refused_before_anything_is_called(met: Any, value: Any) -> None:
    house, client = met
    error = await refused(client, "execute_tool", {"server": "files", "tool": "echo", "args": value})
    assert error["details"]["field"] == "args"
    assert "tools/call" not in house.backends["files"].methods()


async def test_large_arguments_in_a_string_reach_the_tool_as_they_are(met: Any) -> None:
    house, client = met
    large = {"text": "x" * 1_000_000}
    await used(client, "execute_tool", {"server": "files", "tool": "echo", "args": json.dumps(large)})
    assert house.backends["files"].params("tools/call")[-1]["arguments"] == large


@pytest.mark.parametrize("arguments", ["x", 5, [1], True])
async def test_arguments_of_a_call_are_an_object_or_nothing(met: Any, arguments: Any) -> None:
    _, client = met
    response = await client.call("tools/call", {"name": "list_servers", "arguments": arguments})
    assert response.get("error", {}).get("code") == -32602 or response["result"]["isError"] is True


async def test_servers_are_bounded_and_what_could_not_be_reached_takes_no_room() -> None:
    house = House({"files": ScriptedBackend()})
    client = await house.legacy_client("/mcp")
    for number in range(1_000):
        await refused(client, "add_server", {"name": f"s{number}", "command": "no-such-program-anywhere"})
    assert [one.name for one in house.gateway.registry.list()] == ["files"]
    assert len(house.gateway.pool) == 0
    assert house.gateway.pool.handles == 0
    assert DEFAULTS.limits.max_servers < 1_000_000
    await house.close()


async def test_a_server_removed_during_calls_ends_each_of_them_once() -> None:
    begun = 0

    async def hang(turn: Turn) -> Any:
        nonlocal begun
        begun += 1
        await asyncio.Event().wait()

    house = House({"files": ScriptedBackend(answers={"tools/call": hang}, tools=[ECHO])})
    client, other = await house.legacy_client("/servers/files/mcp"), await house.legacy_client("/mcp")
    calls = [client.start("tools/call", {"name": "echo", "arguments": {}}) for _ in range(100)]
    async with asyncio.timeout(5):
        while begun < 100:
            await let_run()
    assert "isError" not in await used(other, "remove_server", {"name": "files"})
    for answer in calls:
        response = response_of(await answer.done())
        assert response["error"]["data"]["reason"] == "outcome_unknown", response
    assert (await client.start("ping").done()).status == 404
    assert len(house.gateway.pool) == 0
    await house.close()


async def test_two_sessions_that_add_the_same_name_at_once_leave_one_whole_record_or_none() -> None:
    house = House({"files": ScriptedBackend()})
    clients = [await house.legacy_client("/mcp") for _ in range(2)]
    programs = ("no-such-program-a", "no-such-program-b")
    await asyncio.gather(
        *(
            used(client, "add_server", {"name": "new", "command": program})
            for client, program in zip(clients, programs, strict=True)
        )
    )
    await let_run()
    assert house.gateway.registry.get("new") is None
    await house.close()
