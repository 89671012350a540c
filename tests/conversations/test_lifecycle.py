"""The life of a session on the meta-tools, phase by phase as the seeds tell it, seen from its client."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from emceepee.app import Gateway
from emceepee.config.gateway_settings import build_settings
from emceepee.relay.auto_connect import MOMENT
from tests.conversations.house import House, let_run
from tests.conversations.meta_client import MetaClient, meta
from tests.support.fake_clock import FakeClock
from tests.support.scripted_backend import EXIT, Late, ScriptedBackend


async def states(client: MetaClient) -> dict[str, tuple[str, bool]]:
    servers = (await client.use("list_servers")).said["servers"]
    return {server["name"]: (server["status"], server["connected"]) for server in servers}


@pytest.mark.shows("A-SES-05", "A-SES-06", "A-SES-10", "A-SES-11", "X-CON-41")
async def test_a_new_session_is_welcomed_at_once_and_connected_to_every_server_behind_it() -> None:
    silent = ScriptedBackend("legacy", {"server/discover": "silent", "initialize": "silent"})
    broken = ScriptedBackend("legacy", {"server/discover": EXIT, "initialize": EXIT})
    good, other = ScriptedBackend("legacy"), ScriptedBackend("modern")
    house = House({"silent": silent, "broken": broken, "good": good, "other": other}, auto_connect=True)
    client = await meta(house)
    await house.clock.advance(MOMENT)
    await let_run()
    assert client.client.welcome["serverInfo"]["name"] == "emceepee"
    told = await client.use("list_servers")
    found = {server["name"]: (server["status"], server["connected"]) for server in told.said["servers"]}
    assert found == {
        "silent": ("connecting", False),
        "broken": ("error", False),
        "good": ("connected", True),
        "other": ("connected", True),
    }
    assert sorted(event["server"] for event in told.events) == ["good", "other"]
    assert set(told.kinds) == {"server_connected"}
    unknown = await client.use("get_server_status", server="nobody")
    assert unknown.said["error"]["code"] == "TOOL_ERR_SERVER_NOT_FOUND"
    await house.close()


@pytest.mark.shows("A-SES-07")
async def test_two_sessions_shake_hands_twice_with_a_server_that_keeps_sessions() -> None:
    house = House({"files": ScriptedBackend("legacy")}, auto_connect=True)
    for _ in range(2):
        await meta(house)
    await house.clock.advance(MOMENT)
    await let_run()
    assert house.backends["files"].methods().count("initialize") == 2
    await house.close()


async def test_a_first_call_joins_the_attempt_that_its_session_began() -> None:
    house = House({"files": ScriptedBackend("legacy")}, auto_connect=True)
    client = await meta(house)
    assert not (await client.use("execute_tool", server="files", tool="echo")).is_error
    assert house.backends["files"].methods().count("initialize") == 1
    await house.close()


async def test_a_server_added_by_another_is_connected_when_it_is_first_used() -> None:
    house = House({"files": ScriptedBackend("legacy")}, auto_connect=True)
    first, second = await meta(house), await meta(house)
    definition = house.gateway.registry.get("files")
    assert definition is not None
    house.gateway.registry.add(dataclasses.replace(definition, name="late"))
    assert (await states(second))["late"] == ("not_connected", False)
    assert not (await second.use("execute_tool", server="late", tool="echo")).is_error
    assert (await states(first))["late"] == ("not_connected", False)
    await house.close()


@pytest.mark.shows("X-BUG-50")
async def test_a_session_that_ends_while_it_is_being_connected_leaves_nothing_open() -> None:
    silent = ScriptedBackend("legacy", {"server/discover": "silent", "initialize": "silent"})
    house = House({"silent": silent}, auto_connect=True)
    client = await meta(house)
    await house.clock.advance(MOMENT)
    await let_run()
    assert len(house.gateway.pool) == 1
    assert (await client.client.delete()).status == 204
    await let_run()
    assert len(house.gateway.pool) == 0
    await house.close()


async def test_nothing_is_connected_before_it_is_used_where_that_was_asked_for() -> None:
    house = House({"files": ScriptedBackend("legacy")}, auto_connect=False)
    client = await meta(house)
    await let_run()
    assert await states(client) == {"files": ("not_connected", False)}
    await house.close()


@pytest.mark.shows("A-SES-28", "X-BUG-18")
def test_whatever_is_set_for_workspaces_reaches_them() -> None:
    given: dict[str, Any] = {
        "timeouts.session_idle": 7.0,
        "timeouts.session_sweep": 3.0,
        "timeouts.workspace_idle": 9.0,
        "timeouts.ask": 11.0,
        "timeouts.task": 13.0,
        "timeouts.task_kept": 17.0,
        "limits.max_sessions": 2,
        "limits.max_events": 20,
        "limits.max_total_events": 30,
        "limits.max_notifications": 4,
        "limits.max_logs": 5,
    }
    gateway = Gateway(build_settings(given), clock=FakeClock())
    bounds, state = gateway.directory.settings, gateway.workspaces.at("s").settings
    assert (bounds.idle_limit, bounds.sweep_every, bounds.workspace_idle, bounds.max_sessions) == (7, 3, 9, 2)
    assert (state.asks.default_timeout_ms, state.tasks.default_ttl_ms, state.tasks.retention_ms) == (
        11000,
        13000,
        17000,
    )
    assert (state.events.max_events, state.max_total_events) == (20, 30)
    assert (state.buffers.max_notifications, state.buffers.max_logs) == (4, 5)


async def test_an_affinity_to_the_principal_gives_his_sessions_one_connection_that_outlives_each() -> None:
    house = House({"files": ScriptedBackend("legacy")}, affinity="principal")
    first, second = await meta(house), await meta(house)
    for client in (first, second):
        await client.use("execute_tool", server="files", tool="echo")
    assert (await first.client.delete()).status == 204
    await let_run()
    assert (await states(second))["files"] == ("connected", True)
    third = await meta(house)
    await third.use("execute_tool", server="files", tool="echo")
    assert house.backends["files"].methods().count("initialize") == 1
    house.gateway.front._identify = lambda exchange: "bob"
    theirs = await meta(house)
    await theirs.use("execute_tool", server="files", tool="echo")
    assert house.backends["files"].methods().count("initialize") == 2
    await house.close()


async def test_what_one_session_waits_for_is_not_lost_when_another_of_the_principal_ends() -> None:
    let_go = asyncio.Event()
    late = Late({"content": [{"type": "text", "text": "late"}]}, let_go)
    house = House({"files": ScriptedBackend("legacy", {"tools/call": late})}, affinity="principal")
    first, second = await meta(house), await meta(house)
    slow = second.start("execute_tool", server="files", tool="slow")
    await house.backends["files"].saw("tools/call")
    await first.use("get_server_status", server="files")
    await first.client.delete()
    let_go.set()
    assert (await second.told(slow)).blocks[0]["text"] == "late"
    await house.close()
