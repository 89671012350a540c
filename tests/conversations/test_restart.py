"""A gateway that ends, by itself or by force, and the next one: what its clients find again, and what they are told."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import pytest

from emceepee.backends.definition import HttpEndpoint, ServerDefinition
from emceepee.backends.kept_servers import InMemoryServers
from emceepee.config.settings import DEFAULTS
from emceepee.sessions.kept_handles import InMemoryHandles
from emceepee.state.kept_tasks import GATEWAY_ENDED, InMemoryTasks
from emceepee.storage.kept import Kept
from tests.conversations.house import House, let_run
from tests.conversations.meta_client import MetaClient, meta
from tests.support.scripted_backend import Late, ScriptedBackend

DONE = {"content": [{"type": "text", "text": '"finished"'}], "structuredContent": {"n": 1}}
SLOW = {"server": "files", "tool": "slow", "args": {"q": "x"}, "timeout_ms": 0}


class Runs:
    """One gateway after the other, with what outlives them."""

    def __init__(self) -> None:
        self.tasks = InMemoryTasks()
        self._servers = InMemoryServers()
        self._handles = InMemoryHandles()
        self.settings = DEFAULTS

        self._running: House | None = None
        self._go = asyncio.Event()

    def start(self) -> tuple[House, asyncio.Event]:
        """The gateway, and what lets its server answer."""
        go = self._go = asyncio.Event()
        backend = ScriptedBackend(answers={"tools/call": Late(DONE, go)})
        house = House({"files": backend}, settings=self.settings, kept=Kept(self._servers, self.tasks, self._handles))
        self._running = house
        return house, go

    async def end(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.close()
            # A server that works on after all is over would outlive the test.
            self._go.set()
            await let_run()

    async def kill(self) -> None:
        """As if by force: what it does on its way out reaches nothing that is kept."""
        before = self.tasks.all()
        await self.end()
        self.tasks.forget([task.view.id for task in self.tasks.all()])
        for task in before:
            self.tasks.put(task)


@pytest.fixture
async def runs() -> AsyncIterator[Runs]:
    all_of_them = Runs()
    yield all_of_them
    await all_of_them.end()


async def promoted(client: MetaClient) -> str:
    task_id: str = (await client.use("execute_tool", **SLOW)).said["task"]["taskId"]
    return task_id


async def finished(house: House, client: MetaClient, go: asyncio.Event) -> str:
    task_id = await promoted(client)
    go.set()
    await let_run()
    return task_id


async def test_a_result_is_found_by_its_id_after_a_restart_although_the_session_is_gone(runs: Runs) -> None:
    house, go = runs.start()
    task_id = await finished(house, await meta(house), go)
    await runs.kill()
    house, _ = runs.start()
    client = await meta(house)
    result = await client.use("get_task_result", task_id=task_id)
    assert result.own == ["finished"]
    assert result.kinds == ["task_completed"]
    assert (await client.use("get_task", task_id=task_id)).said["task"]["toolArgs"] == {"q": "x"}
    assert [task["taskId"] for task in (await client.use("list_tasks", include_completed=True)).said["tasks"]] == [
        task_id
    ]
    other = await meta(house)
    assert (await other.use("get_task_result", task_id=task_id)).own == ["finished"]
    assert (await other.use("list_servers")).kinds == []
    await runs.end()


async def test_what_was_running_is_told_once_as_failed_with_an_unknown_outcome(runs: Runs) -> None:
    house, _ = runs.start()
    task_id = await promoted(await meta(house))
    await runs.kill()
    house, _ = runs.start()
    client = await meta(house)
    told = await client.use("list_servers")
    said = {"taskId": task_id, "toolName": "slow", "error": GATEWAY_ENDED, "reason": "outcome_unknown"}
    assert [(event["type"], event["data"]) for event in told.events] == [("task_failed", said)]
    failed = await client.use("get_task_result", task_id=task_id)
    assert failed.is_error
    assert "outcome unknown" in str(failed.own)
    assert house.backends["files"].methods().count("tools/call") == 0
    await runs.kill()
    house, _ = runs.start()
    client = await meta(house)
    assert (await client.use("list_servers")).events == []
    assert (await client.use("get_task", task_id=task_id)).said["task"]["status"] == "failed"
    await runs.end()


async def test_whoever_was_told_of_an_end_is_not_told_again(runs: Runs) -> None:
    house, go = runs.start()
    client = await meta(house)
    task_id = await finished(house, client, go)
    assert "task_completed" in (await client.use("list_servers")).kinds
    await runs.kill()
    house, _ = runs.start()
    client = await meta(house)
    assert (await client.use("get_task_result", task_id=task_id)).kinds == []
    await runs.end()


async def test_what_an_orderly_end_cancelled_is_told_in_the_next_run(runs: Runs) -> None:
    house, _ = runs.start()
    task_id = await promoted(await meta(house))
    await runs.end()
    house, _ = runs.start()
    told = await (await meta(house)).use("get_task", task_id=task_id)
    assert (told.said["task"]["status"], told.kinds) == ("cancelled", ["task_cancelled"])
    await runs.end()


async def test_a_session_that_its_client_ended_leaves_nothing(runs: Runs) -> None:
    house, go = runs.start()
    client = await meta(house)
    await finished(house, client, go)
    assert len(runs.tasks.all()) == 1
    await client.client.delete()  # type: ignore[union-attr]
    await let_run()
    assert runs.tasks.all() == []
    await runs.end()


async def test_what_a_session_was_given_and_never_read_waits_for_the_next_one(runs: Runs) -> None:
    house, go = runs.start()
    task_id = await finished(house, await meta(house), go)
    await runs.kill()
    house, _ = runs.start()
    house.gateway.workspaces.owner_of = house.gateway._owner_of
    hasty = await meta(house)
    workspaces = house.gateway.workspaces
    workspaces.adopt(workspaces.at(hasty.scope))
    await hasty.client.delete()  # type: ignore[union-attr]
    await let_run()
    patient = await meta(house)
    assert (await patient.use("get_task_result", task_id=task_id)).kinds == ["task_completed"]
    await runs.end()


async def test_a_named_workspace_and_a_modern_clients_own_are_found_again(runs: Runs) -> None:
    house, go = runs.start()
    named = MetaClient(house.modern_client("/mcp/w/mine"))
    own = MetaClient(house.modern_client("/mcp"))
    ids = [await promoted(client) for client in (named, own)]
    go.set()
    await let_run()
    await runs.kill()
    house, _ = runs.start()
    own = MetaClient(house.modern_client("/mcp"))
    assert (await own.use("list_servers")).kinds == ["task_completed"]
    assert (await own.use("get_task_result", task_id=ids[1])).own == ["finished"]
    named = MetaClient(house.modern_client("/mcp/w/mine"))
    assert (await named.use("list_servers")).kinds == ["task_completed"]
    assert (await named.use("get_task_result", task_id=ids[0])).own == ["finished"]
    await runs.end()


async def test_a_client_that_knows_tasks_finds_them_too(runs: Runs) -> None:
    extension = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    house, go = runs.start()
    task_id = await finished(house, await meta(house), go)
    await runs.kill()
    house, _ = runs.start()
    client = house.modern_client("/mcp", extension)
    found = await client.result("tasks/get", {"taskId": task_id})
    assert (found["taskId"], found["status"]) == (task_id, "completed")
    assert found["result"]["structuredContent"] == {"n": 1}
    await runs.end()


async def test_where_everybody_is_the_same_principal_nobody_is_given_what_others_left(runs: Runs) -> None:
    runs.settings = dataclasses.replace(DEFAULTS, host="0.0.0.0", insecure_no_auth=True, allowed_hosts=("gateway",))
    house, go = runs.start()
    task_id = await finished(house, await meta(house), go)
    await runs.kill()
    house, _ = runs.start()
    told = await (await meta(house)).use("get_task", task_id=task_id)
    assert told.is_error
    assert f"Task '{task_id}' not found" in str(told.own)
    await runs.end()


async def test_a_server_that_was_added_is_there_again(runs: Runs) -> None:
    house, _ = runs.start()
    client = await meta(house)
    # Not a real program: its warden would wait by a clock that stands still here.
    entry: dict[str, Any] = {"name": "mine", "command": "no-such-program", "env": {"TOKEN": "secret"}}
    await client.use("add_server", **entry)
    failed = await client.use("list_servers")
    assert "mine" not in str(failed.said), "it could not be reached, so there is nothing to remember"
    house.gateway.registry.add(_added(), by=client.scope)
    await runs.kill()
    house, _ = runs.start()
    client = await meta(house)
    assert [one["name"] for one in (await client.use("list_servers")).said["servers"]] == ["files", "added"]
    await client.use("remove_server", name="added")
    await runs.end()
    house, _ = runs.start()
    assert [one.name for one in house.gateway.registry.list()] == ["files"]
    await runs.end()


def _added() -> ServerDefinition:
    return ServerDefinition("added", HttpEndpoint("http://127.0.0.1:9/mcp", (("Authorization", "secret"),)))


async def test_a_handle_is_good_in_the_next_run_for_whoever_was_given_it(runs: Runs) -> None:
    house, go = runs.start()
    client = await meta(house)
    handle = (await client.use("open_workspace")).said["workspace"]
    task_id = (await client.use("execute_tool", **SLOW, workspace=handle)).said["task"]["taskId"]
    go.set()
    await let_run()
    closed = (await client.use("open_workspace")).said["workspace"]
    await client.use("close_workspace", workspace=closed)
    await runs.kill()
    house, _ = runs.start()
    client = await meta(house)
    told = await client.use("get_task_result", task_id=task_id, workspace=handle)
    assert (told.own, told.kinds) == (["finished"], ["task_completed"])
    for gone in (closed, "ws_NEVER"):
        assert (await client.use("list_tasks", workspace=gone)).is_error
    await runs.kill()
    house, _ = runs.start()
    client = await meta(house)
    assert not (await client.use("list_tasks", workspace=handle)).is_error
    await runs.end()


async def test_a_handle_that_nobody_comes_with_is_forgotten_in_time(runs: Runs) -> None:
    house, _ = runs.start()
    handle = (await (await meta(house)).use("open_workspace")).said["workspace"]
    await runs.kill()
    house, _ = runs.start()
    await house.clock.advance(DEFAULTS.timeouts.workspace_idle)
    house.gateway.workspaces.sweep()
    assert (await (await meta(house)).use("list_tasks", workspace=handle)).is_error
    await runs.kill()
    house, _ = runs.start()
    assert (await (await meta(house)).use("list_tasks", workspace=handle)).is_error
    await runs.end()


async def test_a_client_that_is_told_no_events_does_not_take_them_from_one_that_is(runs: Runs) -> None:
    house, go = runs.start()
    task_id = await finished(house, await meta(house), go)
    await runs.kill()
    house, _ = runs.start()
    deaf = await house.legacy_client("/servers/files/mcp")
    house.gateway.workspaces.at(deaf.headers["mcp-session-id"])
    await meta(house)
    told = await (await meta(house)).use("get_task_result", task_id=task_id)
    assert told.kinds == ["task_completed"]
    await runs.end()
