"""What nobody can add: names and addresses that cannot be, and the gateway itself. Each is refused naming the field,
and what was there before is there afterwards, with the calls that run."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from emceepee.backends.definition import InProcess, ServerDefinition
from tests.conversations.house import House, Json
from tests.support.http_backend import HttpBackend, mcp_modern
from tests.support.neighbour import Neighbour
from tests.support.raw_server import unused_port

PORT = 8080


@pytest.fixture
async def neighbour() -> Neighbour:
    return Neighbour()


@pytest.fixture
async def house(neighbour: Neighbour) -> AsyncIterator[House]:
    """Listening, as the real one does, and busy while the test runs."""
    house = House({"good": neighbour.backend})
    house.gateway.registry.listening_on(f"127.0.0.1:{PORT}")
    async with neighbour.busy(house):
        yield house
    await house.close()


async def add(house: House, **arguments: Any) -> Json:
    """What `add_server` said, as a result or an error."""
    client = house.modern_client("/mcp")
    result = await client.result("tools/call", {"name": "add_server", "arguments": arguments})
    found: Json = json.loads(result["content"][0]["text"])
    assert ("error" in found) == bool(result.get("isError")), result
    return found


async def refused(house: House, field: str, **arguments: Any) -> Json:
    before = house.gateway.registry.list()
    error: Json = (await add(house, **arguments))["error"]
    assert error["code"] == "TOOL_ERR_INVALID_ARGUMENTS", error
    assert error["details"]["field"] == field, error
    assert error["next"], error
    assert house.gateway.registry.list() == before
    return error


NAMES = {
    "empty": "",
    "blank": " ",
    "too long": "x" * 41,
    "far too long": "x" * 100_000,
    "a slash": "a/b",
    "a way up": "..",
    "the separator of merged names": "a__b",
    "a blank within": "a b",
    "a line break": "a\nb",
    "a NUL": "a\0b",
    "a dot in front": ".a",
    "not ASCII": "café",
    "a query": "a?b",
    "an escaped slash": "a%2Fb",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
async def test_a_name_that_cannot_be_in_a_path_or_before_a_tool_is_refused(house: House, name: str) -> None:
    error = await refused(house, "name", name=name, url="http://127.0.0.1:1/mcp")
    assert len(json.dumps(error)) < 1_000, "what was sent is not sent back whole"


@pytest.mark.parametrize("name", [None, 5, ["a"], {"a": 1}, True])
async def test_a_name_of_another_type_is_refused(house: House, name: Any) -> None:
    await refused(house, "name", name=name, url="http://127.0.0.1:1/mcp")


URLS = {
    "empty": "",
    "no scheme": "127.0.0.1:9000/mcp",
    "no host": "http://",
    "no host but a path": "http:///mcp",
    "a file": "file:///etc/passwd",
    "a script": "javascript:alert(1)",
    "ftp": "ftp://files.example/mcp",
    "a web socket": "ws://files.example/mcp",
    "gopher": "gopher://files.example/",
    "data": "data:text/plain,hello",
    "a socket": "unix:///run/docker.sock",
    "a port beyond all": "http://files.example:70000/mcp",
    "the port 0": "http://files.example:0/mcp",
    "a port that is none": "http://files.example:http/mcp",
    "a blank": "http://files.example/a b",
    "a line break": "http://files.example/\r\nx-evil: 1",
    "a broken bracket": "http://[::1/mcp",
    "too long": "http://files.example/" + "x" * 5_000,
}


@pytest.mark.parametrize("url", URLS.values(), ids=URLS.keys())
async def test_a_url_that_leads_nowhere_or_by_another_scheme_is_refused(house: House, url: str) -> None:
    error = await refused(house, "url", name="bad", url=url)
    assert len(json.dumps(error)) < 1_000


ITSELF = (
    "http://localhost:{port}/mcp",
    "http://LOCALHOST.:{port}/mcp",
    "http://127.0.0.1:{port}/mcp",
    "http://127.1:{port}/mcp",
    "http://127.8.8.8:{port}/mcp",
    "http://2130706433:{port}/mcp",
    "http://0x7f000001:{port}/mcp",
    "http://0.0.0.0:{port}/mcp",
    "http://0:{port}/mcp",
    "http://[::1]:{port}/mcp",
    "http://[::]:{port}/mcp",
    "http://[::ffff:127.0.0.1]:{port}/mcp",
    "https://localhost:{port}/mcp",
    "http://me:secret@localhost:{port}/mcp",
    "http://localhost:{port}/direct/mcp",
    "http://localhost:{port}/servers/good/mcp",
    "http://localhost:{port}/",
    "http://app.localhost:{port}/mcp?a=b",
)


@pytest.mark.parametrize("url", ITSELF)
async def test_the_gateway_is_not_added_to_itself_by_any_of_its_names(house: House, url: str) -> None:
    error = await refused(house, "url", name="me", url=url.format(port=PORT))
    assert "this gateway itself" in error["message"]
    assert "secret" not in json.dumps(error)


async def test_another_port_of_this_machine_is_not_the_gateway(house: House) -> None:
    async with HttpBackend(mcp_modern(lambda message: {"tools": []})) as backend:
        assert (await add(house, name="other", url=backend.url))["status"] == "connected"


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("url", {}),
        ("url", {"url": "http://127.0.0.1:1/mcp", "command": "cat"}),
        ("command", {"command": ""}),
        ("command", {"command": "a\0b"}),
        ("headers", {"url": "http://127.0.0.1:1/mcp", "headers": {"x y": "1"}}),
        ("headers", {"url": "http://127.0.0.1:1/mcp", "headers": {"x": "1\r\ny: 2"}}),
        ("env", {"command": "cat", "env": {"A=B": "1"}}),
    ],
)
async def test_what_can_start_nothing_is_refused_naming_the_field(house: House, field: str, arguments: Json) -> None:
    await refused(house, field, name="bad", **arguments)


async def test_a_name_that_is_taken_keeps_its_server_and_its_calls_when_the_new_one_cannot_be_reached(
    house: House, neighbour: Neighbour
) -> None:
    before = house.gateway.registry.get("good")
    error = (await add(house, name="good", url=f"http://127.0.0.1:{unused_port()}/mcp"))["error"]
    assert error["code"] == "TOOL_ERR_EXECUTION_FAILED"
    assert "its former definition is kept" in error["message"]
    assert house.gateway.registry.get("good") == before


async def test_a_name_that_is_taken_is_replaced_by_one_that_can_be_reached() -> None:
    house = House({}, (ServerDefinition("there", InProcess("demo")),))
    client = house.modern_client("/servers/there/mcp")
    assert (await client.result("tools/list"))["tools"]
    listed = {"tools": [{"name": "new", "inputSchema": {"type": "object"}}]}
    async with HttpBackend(mcp_modern(lambda message: listed)) as backend:
        assert (await add(house, name="there", url=backend.url))["result"] == "updated"
        assert [tool["name"] for tool in (await client.result("tools/list"))["tools"]] == ["new"]
        await house.close()
