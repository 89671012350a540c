"""Every revision in front, what a client is told of the gateway, and what one client's doing means for another."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.conversations.house import House, let_run
from tests.conversations.meta_client import MetaClient, meta
from tests.support.forgetful_server import ForgetfulServer
from tests.support.http_backend import HttpBackend
from tests.support.scripted_backend import ScriptedBackend

LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
SAID = {"content": [{"type": "text", "text": "hi"}]}


def behind(revision: str) -> ScriptedBackend:
    if revision == MODERN:
        return ScriptedBackend("modern", {"tools/call": SAID})
    hello = {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    return ScriptedBackend("legacy", {"tools/call": SAID, "initialize": hello})


@pytest.mark.shows("X-CON-58", "X-GAP-02")
@pytest.mark.parametrize("there", [*LEGACY, MODERN])
@pytest.mark.parametrize("here", [*LEGACY, MODERN])
async def test_a_call_goes_through_between_any_two_revisions(here: str, there: str) -> None:
    house = House({"files": behind(there)})
    if here == MODERN:
        client: Any = house.modern_client("/mcp")
    else:
        client = await house.legacy_client("/mcp", here)
        assert client.welcome["protocolVersion"] == here
    told = await MetaClient(client).use("execute_tool", server="files", tool="echo", args={"text": "hi"})
    assert "hi" in str(told.own)
    status = (await MetaClient(client).use("get_server_status", server="files")).said
    assert status["protocolVersion"] == there
    await house.close()


@pytest.mark.shows("X-CON-55")
async def test_that_sampling_is_understood_is_shown_and_not_declared_as_a_capability_of_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "emceepee.sessions")
    house = House({"files": ScriptedBackend()})
    client = await house.legacy_client("/mcp", capabilities={"sampling": {}, "other": {}})
    assert not {"sampling", "elicitation", "roots"} & set(client.welcome["capabilities"])
    (created,) = [record.data for record in caplog.records if record.message == "session_created"]  # type: ignore[attr-defined]
    assert created["mayBeAsked"] == ["sampling"]
    status = (await MetaClient(client).use("get_server_status", server="files")).said
    assert "sampling" in status["mayAsk"]
    await house.close()


@pytest.mark.shows("X-CON-59")
@pytest.mark.parametrize("path", ["/mcp", "/servers/files/mcp", "/direct/mcp"])
async def test_a_level_can_be_set_and_one_that_is_none_is_refused(path: str) -> None:
    house = House({"files": ScriptedBackend()})
    client = await house.legacy_client(path)
    assert "logging" in client.welcome["capabilities"]
    assert await client.result("logging/setLevel", {"level": "warning"}) == {}
    for params in ({"level": "loud"}, {"level": 7}, {}):
        assert (await client.call("logging/setLevel", params))["error"]["code"] == -32602
    await house.close()


@pytest.mark.shows("X-CON-12")
async def test_a_server_that_one_client_adds_is_told_to_the_other_and_not_connected_for_it() -> None:
    server = ForgetfulServer()
    async with HttpBackend(server.answer) as backend:
        house = House({})
        first, second = await meta(house), await meta(house)
        assert not (await first.use("add_server", name="far", url=backend.url)).is_error
        await let_run()
        told = await second.use("list_servers")
        assert [event["data"]["name"] for event in told.events if event["type"] == "server_added"] == ["far"]
        (listed,) = told.said["servers"]
        assert (listed["name"], listed["status"], listed["connected"]) == ("far", "not_connected", False)
        assert server.methods().count("notifications/initialized") == 1
        await house.close()


@pytest.mark.shows("X-CON-32")
async def test_what_was_fetched_as_a_notification_is_still_told_as_an_event() -> None:
    backend = ScriptedBackend()
    house = House({"files": backend})
    client = await meta(house)
    await client.use("list_tools", server="files")
    workspace = house.gateway.workspaces.at(client.scope)
    workspace.heard("files", "notifications/tools/list_changed", None)
    assert len(workspace.notifications.take().items) == 1
    told = (await client.use("await_activity", timeout_ms=0)).said
    events = [event for of_server in told["events"] for event in of_server["events"]]
    assert [event["data"]["method"] for event in events if event["type"] == "notification"] == [
        "notifications/tools/list_changed"
    ]
    await house.close()
