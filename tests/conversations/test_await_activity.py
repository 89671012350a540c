"""`await_activity`: at once when there is something, else until there is, else until the time is over."""

from __future__ import annotations

import pytest

from tests.conversations.house import House, let_run
from tests.conversations.meta_client import MetaClient, meta
from tests.support.scripted_backend import SILENT, ScriptedBackend


@pytest.mark.shows("A-ACT-02", "A-ACT-07", "A-ACT-08", "A-ACT-09", "A-ACT-18", "A-DEL-08", "X-CON-24", "A-TST-07")
async def test_what_is_new_comes_at_once_by_server_in_one_block_and_counts_as_delivered() -> None:
    house = House({})
    client = await meta(house)
    workspace = house.gateway.workspaces.at(client.scope)
    made = [workspace.record("server_added", server, {"name": server}) for server in ("b", "a", "b")]
    told = await client.use("await_activity")
    assert len(told.blocks) == 1
    said = told.said
    assert set(said) == {"triggers", "events", "pending_server", "pending_client", "lastEventId"}
    assert said["triggers"] == [{"type": "immediate"}]
    by_server = {one["server"]: [event["id"] for event in one["events"]] for one in said["events"]}
    assert by_server == {"b": [made[0], made[2]], "a": [made[1]]}
    assert said["lastEventId"] == made[2]
    assert (await client.use("list_servers")).events == []
    await house.close()


@pytest.mark.shows("A-ACT-01", "A-ACT-03", "A-ACT-04", "A-ACT-12", "X-BUG-10", "A-ACT-10", "X-BUG-11")
async def test_with_nothing_new_it_waits_thirty_seconds_and_still_tells_what_is_pending() -> None:
    house = House({"files": ScriptedBackend(answers={"tools/call": SILENT})})
    client = await meta(house)
    task = (await client.use("execute_tool", server="files", tool="slow", timeout_ms=0)).said["task"]
    first = (await client.use("await_activity", timeout_ms=0)).said
    wait = client.start("await_activity")
    await let_run()
    await house.clock.advance(29.9)
    assert not wait.complete
    await house.clock.advance(0.2)
    said = (await client.told(wait)).said
    assert (said["triggers"], said["events"]) == ([{"type": "timeout"}], [])
    brief = {"taskId": task["taskId"], "toolName": "slow", "status": "working"}
    assert said["pending_server"] == first["pending_server"] == [{"server": "files", "working_tasks": [brief]}]
    assert said["pending_client"] == {"elicitations": [], "sampling_requests": []}
    assert said["lastEventId"] == first["lastEventId"] is not None
    await house.close()


@pytest.mark.shows("A-ACT-05", "A-ACT-17", "A-TST-07")
async def test_an_event_wakes_it_and_is_named_as_the_trigger() -> None:
    house = House({})
    client = await meta(house)
    wait = client.start("await_activity")
    await let_run()
    house.gateway.workspaces.at(client.scope).record("server_added", "b", {"name": "b"})
    said = (await client.told(wait)).said
    assert said["triggers"] == [{"type": "event", "server": "b", "eventType": "server_added"}]
    assert house.gateway.workspaces.at(client.scope).waiters.sequence
    await house.close()


@pytest.mark.shows("A-ACT-14", "X-CON-23", "A-TOOL-22")
async def test_a_cursor_gives_again_what_came_after_it_and_an_unknown_one_says_so() -> None:
    house = House({})
    client = await meta(house)
    workspace = house.gateway.workspaces.at(client.scope)
    made = [workspace.record("server_added", "b", {}) for _ in range(3)]
    await client.use("await_activity")

    async def since(event_id: str) -> tuple[list[str], bool]:
        said = (await client.use("await_activity", since_event_id=event_id, timeout_ms=0)).said
        ids = [event["id"] for one in said["events"] for event in one["events"]]
        return ids, said.get("cursor_not_found", False)

    assert await since(made[0]) == (made[1:], False)
    assert await since(made[2]) == ([], False)
    assert await since("01JUNKNOWN") == (made, True)
    await house.close()


async def test_it_can_be_told_what_to_wake_for_and_leaves_the_rest() -> None:
    house = House({})
    client = await meta(house)
    workspace = house.gateway.workspaces.at(client.scope)
    wait = client.start("await_activity", server="files", event_types=["task_completed", "task_failed"])
    await let_run()
    workspace.record("server_added", "files", {})
    workspace.record("task_failed", "other", {})
    await let_run()
    assert not wait.complete
    workspace.record("task_failed", "files", {})
    said = (await client.told(wait)).said
    assert [event["type"] for one in said["events"] for event in one["events"]] == ["task_failed"]
    assert (await client.use("list_servers")).kinds == ["server_added", "task_failed"]
    refused = await client.use("await_activity", event_types=["nonsense"])
    assert refused.said["error"]["code"] == "TOOL_ERR_INVALID_ARGUMENTS"
    await house.close()


@pytest.mark.shows("X-BUG-19")
async def test_it_waits_no_longer_than_clients_do_and_refuses_what_is_no_time() -> None:
    house = House({})
    client = await meta(house)
    wait = client.start("await_activity", timeout_ms=600_000)
    await let_run()
    await house.clock.advance(50)
    assert (await client.told(wait)).said["triggers"] == [{"type": "timeout"}]
    for wrong in (-1, 10**10):
        assert (await client.use("await_activity", timeout_ms=wrong)).is_error
    await house.close()


@pytest.mark.shows("X-BUG-06", "A-DEL-16")
async def test_a_wait_whose_client_left_takes_nothing_with_it() -> None:
    house = House({})
    client = await meta(house)
    workspace = house.gateway.workspaces.at(client.scope)
    wait = client.start("await_activity")
    await let_run()
    wait.leave()
    event_id = workspace.record("server_added", "b", {})
    await wait.done()
    assert [event["id"] for event in (await client.use("list_servers")).events] == [event_id]
    await house.close()


@pytest.mark.shows("EB-G12")
async def test_a_modern_client_has_the_default_workspace_of_its_principal() -> None:
    house = House({})
    first, second = [MetaClient(house.modern_client("/mcp")) for _ in range(2)]
    await first.use("list_servers")
    event_id = house.gateway.workspaces.at("local").record("server_added", "b", {})
    said = (await second.use("await_activity")).said
    assert said["lastEventId"] == event_id
    assert (await first.use("list_servers")).events == []
    await house.close()
