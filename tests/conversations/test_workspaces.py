"""Workspaces on the wire: handles, the `_meta` key, paths, and whose they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.conversations.house import House, Json, ModernClient, response_of
from tests.conversations.meta_client import MetaClient, meta, read_told
from tests.support.scripted_backend import Late, ScriptedBackend

KEY = "dev.emceepee/workspace"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    house = House({"files": ScriptedBackend("legacy")})
    yield house
    await house.close()


def modern(house: House, path: str = "/mcp") -> MetaClient:
    return MetaClient(house.modern_client(path))


def of_another(house: House, name: str = "bob") -> None:
    """From now on whoever calls is somebody else."""
    house.gateway.front._identify = lambda exchange: name


async def use_at(client: ModernClient, handle: str, tool: str, **arguments: object) -> Json:
    return await client.call("tools/call", {"name": tool, "arguments": arguments}, meta={KEY: handle})


def sessions_of(house: House) -> int:
    return house.backends["files"].methods().count("initialize")


@pytest.mark.shows("EB-G18", "A-SES-07")
async def test_two_workspaces_of_one_principal_have_each_their_own_session_at_a_server(house: House) -> None:
    client = modern(house)
    handles = [(await client.use("open_workspace")).said["workspace"] for _ in range(2)]
    for handle in handles:
        told = await client.use("execute_tool", server="files", tool="echo", workspace=handle)
        assert not told.is_error
    assert sessions_of(house) == 2
    assert len(set(handles)) == 2


@pytest.mark.shows("EB-G12")
async def test_without_a_handle_it_is_the_principals_own(house: House) -> None:
    first, second = modern(house), modern(house)
    await first.use("execute_tool", server="files", tool="echo")
    told = await second.use("await_activity", timeout_ms=0)
    assert told.said["lastEventId"]
    assert sessions_of(house) == 1


async def test_the_key_in_meta_names_it_on_every_surface_and_reaches_no_server(house: House) -> None:
    handle = (await modern(house).use("open_workspace")).said["workspace"]
    for path, name in (("/servers/files/mcp", "echo"), ("/direct/mcp", "files__echo")):
        client = house.modern_client(path)
        await client.result("tools/call", {"name": name, "arguments": {}}, meta={KEY: handle})
    # One for calls by our tools, by which a question can be answered, and one for calls where nobody can be asked.
    assert sessions_of(house) == 2
    assert handle not in repr(house.backends["files"].received)
    told = read_told(await use_at(house.modern_client("/mcp"), handle, "list_servers"))
    assert told.said["servers"][0]["connected"] is True
    assert (await modern(house).use("list_servers")).said["servers"][0]["connected"] is False


@pytest.mark.shows("EB-G17")
async def test_a_task_outlives_the_session_that_began_it_for_whoever_has_the_handle(house: House) -> None:
    let_go = asyncio.Event()

    house.backends["files"].answers["tools/call"] = Late({"content": [{"type": "text", "text": "late"}]}, let_go)
    first = await meta(house)
    handle = (await first.use("open_workspace")).said["workspace"]
    begun = await first.use("execute_tool", server="files", tool="slow", timeout_ms=0, workspace=handle)
    task_id = begun.said["task"]["taskId"]
    assert (await first.client.delete()).status == 204
    second = await meta(house)
    tasks = (await second.use("list_tasks", workspace=handle)).said["tasks"]
    assert [task["taskId"] for task in tasks] == [task_id]
    let_go.set()
    result = await second.use("get_task_result", task_id=task_id, timeout_ms=5000, workspace=handle)
    assert result.blocks[0]["text"] == "late"
    assert (await second.use("list_tasks")).said["tasks"] == []


@pytest.mark.shows("EB-G16")
async def test_a_handle_of_another_principal_is_as_unknown_as_one_that_never_was(house: House) -> None:
    handle = (await modern(house).use("open_workspace")).said["workspace"]
    of_another(house)
    theirs = modern(house)
    for tool in ("list_tasks", "close_workspace"):
        refused = await theirs.use(tool, workspace=handle)
        unknown = await theirs.use(tool, workspace="ws_" + "0" * 26)
        assert refused.is_error
        assert unknown.is_error
        assert repr(refused.blocks).replace(handle, "X") == repr(unknown.blocks).replace("ws_" + "0" * 26, "X")
    answer = await use_at(house.modern_client("/servers/files/mcp"), handle, "echo")
    assert answer["error"]["code"] == -32602
    assert answer["error"]["data"] == {"reason": "session_not_found", "sessionId": handle}
    at_path = await house.modern_client(f"/mcp/w/{handle}").call("tools/call", {"name": "list_tasks", "arguments": {}})
    assert at_path["error"]["data"]["reason"] == "session_not_found"


async def test_a_path_names_a_workspace_for_a_client_that_can_only_be_configured(house: House) -> None:
    notes = MetaClient(await house.legacy_client("/mcp/w/notes"))
    await notes.use("execute_tool", server="files", tool="echo")
    again = modern(house, "/mcp/w/notes")
    assert (await again.use("list_servers")).said["servers"][0]["connected"] is True
    assert (await modern(house, "/mcp/w/other").use("list_servers")).said["servers"][0]["connected"] is False
    of_another(house)
    assert (await modern(house, "/mcp/w/notes").use("list_servers")).said["servers"][0]["connected"] is False
    assert sessions_of(house) == 1


@pytest.mark.parametrize("path", ["/mcp/w/", "/mcp/w/a/w/b", "/mcp/w/a b", "/w/a", "/servers/nope/mcp/w/a"])
async def test_a_path_that_names_none_is_not_found(house: House, path: str) -> None:
    answer = await house.modern_client(path).start("tools/list").done()
    assert answer.status == 404


async def test_it_ends_when_nobody_used_it_for_a_day_and_its_connections_with_it(house: House) -> None:
    house.gateway.start()
    client = modern(house)
    handle = (await client.use("open_workspace")).said["workspace"]
    await client.use("execute_tool", server="files", tool="echo", workspace=handle)
    await house.clock.advance(86_000)
    assert not (await client.use("list_tasks", workspace=handle)).is_error
    await house.clock.advance(86_800)
    assert (await client.use("list_tasks", workspace=handle)).is_error
    assert house.gateway.pool.handles == 0


async def test_a_client_that_listens_there_keeps_it(house: House) -> None:
    house.gateway.start()
    handle = (await modern(house).use("open_workspace")).said["workspace"]
    client = house.modern_client("/servers/files/mcp")
    listening = client.start(
        "subscriptions/listen", {"notifications": {"toolsListChanged": True}}, "l", meta={KEY: handle}
    )
    await listening.until(lambda: bool(listening.events))
    await house.clock.advance(100_000)
    assert handle in house.gateway.workspaces.scopes()
    listening.leave()


async def test_a_key_that_is_no_text_is_refused(house: House) -> None:
    client = house.modern_client("/mcp")
    answer = response_of(await client.start("tools/list", meta={KEY: 7}).done())
    assert answer["error"]["code"] == -32602
    assert KEY in answer["error"]["message"]
