"""Where nobody is known: clients are strangers to each other, and what is kept is kept for whoever says where."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from emceepee.config.settings import DEFAULTS
from tests.conversations.house import House
from tests.conversations.meta_client import MetaClient, meta
from tests.support.scripted_backend import ScriptedBackend

ABROAD = dataclasses.replace(DEFAULTS, host="0.0.0.0", insecure_no_auth=True)
ONE_PERSON = dataclasses.replace(ABROAD, tenant="local")
HERE = {"server": "files", "tool": "echo"}


def house_of(settings: object, **options: object) -> House:
    return House({"files": ScriptedBackend("legacy", **options)}, settings=settings)  # type: ignore[arg-type]


def modern(house: House, path: str = "/mcp") -> MetaClient:
    return MetaClient(house.modern_client(path))


@pytest.mark.shows("EB-G15")
async def test_a_stranger_is_told_to_open_a_workspace_first() -> None:
    house = house_of(ABROAD)
    client = modern(house)
    for tool, arguments in (("await_activity", {"timeout_ms": 0}), ("execute_tool", HERE), ("list_tasks", {})):
        told = await client.use(tool, **arguments)
        assert told.is_error
        assert "open_workspace" in told.said["error"]["next"]
        assert "'workspace'" in told.said["error"]["next"]
    assert house.backends["files"].methods() == [], "nothing was begun for it"
    assert house.gateway.workspaces.scopes() == []
    handle = (await client.use("open_workspace")).said["workspace"]
    assert not (await client.use("execute_tool", workspace=handle, **HERE)).is_error
    assert (await client.use("await_activity", timeout_ms=0, workspace=handle)).said["lastEventId"]
    await house.close()


@pytest.mark.shows("EB-G15")
async def test_one_person_has_the_usual_place_also_where_others_could_listen() -> None:
    house = house_of(ONE_PERSON)
    first, second = modern(house), modern(house)
    await first.use("execute_tool", **HERE)
    assert (await second.use("await_activity", timeout_ms=0)).said["lastEventId"]
    await house.close()


async def test_a_handle_of_strangers_lives_an_hour_and_a_name_is_nobodys() -> None:
    house = house_of(ABROAD)
    opened = (await modern(house).use("open_workspace")).said
    assert opened["idleMs"] == 3_600_000
    await house.clock.advance(3_601)
    assert house.gateway.workspaces.sweep() == 1
    assert house.gateway.workspaces.find(opened["workspace"]) is None
    answer = await house.modern_client("/mcp/w/notes").call("tools/call", {"name": "list_tasks", "arguments": {}})
    assert answer["error"]["data"]["reason"] == "session_not_found"
    assert house.gateway.workspaces.scopes() == []
    await house.close()


async def test_what_strangers_call_directly_has_a_session_for_each_call() -> None:
    house = house_of(ABROAD)
    clients = [house.modern_client("/servers/files/mcp") for _ in range(2)]
    answers = await asyncio.gather(*(one.call("tools/call", {"name": "echo", "arguments": {}}) for one in clients))
    assert all("result" in one for one in answers)
    assert house.backends["files"].methods().count("initialize") == 2
    await house.close()


async def test_legacy_sessions_of_strangers_share_no_connection() -> None:
    house = house_of(ABROAD)
    for _ in range(2):
        assert not (await (await meta(house)).use("execute_tool", **HERE)).is_error
    assert house.backends["files"].methods().count("initialize") == 2
    await house.close()
