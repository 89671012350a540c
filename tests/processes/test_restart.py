"""The real gateway, killed with tasks running and tasks finished, and started again: nothing is lost, and what nobody
can know any more is said once."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_wire import LegacyWire
from tests.support.real_gateway import Pids, Program, serving, stdio_entry, write_config

MANY = 20


@pytest.fixture
def pids(tmp_path: Path) -> Pids:
    return Pids(tmp_path / "pids")


def configured(folder: Path, pids: Pids) -> Path:
    return write_config(folder, {"files": stdio_entry(pids, "files")})


class Client:
    """A legacy session on the meta-tools, which notes every event that it is told."""

    def __init__(self, wire: LegacyWire) -> None:
        self._wire = wire
        self.events: list[dict[str, Any]] = []

    @classmethod
    async def arrive(cls, gateway: Program) -> Client:
        return cls(await LegacyWire.arrive(gateway.port, "/mcp"))

    async def use(self, tool: str, /, **arguments: Any) -> list[Any]:
        """The tool's own blocks."""
        answer = await self._wire.call("tools/call", {"name": tool, "arguments": arguments})
        own = []
        for block in answer["result"]["content"]:
            try:
                said = json.loads(block["text"])
            except ValueError:
                said = block["text"]
            if isinstance(said, dict) and "events_since_last_response" in said:
                self.events += said["events_since_last_response"]
            else:
                own.append(said)
        return own

    async def begin(self, seconds: float) -> str:
        asked = {"server": "files", "tool": "slow", "args": {"seconds": seconds}, "timeout_ms": 0}
        task_id: str = (await self.use("execute_tool", **asked))[0]["task"]["taskId"]
        return task_id


def told_of(client: Client, kind: str) -> list[str]:
    return sorted(event["data"]["taskId"] for event in client.events if event["type"] == kind)


async def test_killed_with_twenty_tasks_running_and_twenty_finished_it_keeps_these_and_tells_of_those_once(
    tmp_path: Path, pids: Pids
) -> None:
    config = configured(tmp_path, pids)
    async with serving(config, pids=pids) as gateway:
        client = await Client.arrive(gateway)
        finished = [await client.begin(0) for _ in range(MANY)]
        for task_id in finished:
            assert await client.use("get_task_result", task_id=task_id, timeout_ms=10_000) == ["done"]
        running = [await client.begin(600) for _ in range(MANY)]
        before = {task_id: (await client.use("get_task", task_id=task_id))[0]["task"] for task_id in finished}
        os.kill(gateway.pid, signal.SIGKILL)
        await gateway.process.wait()
    async with serving(config, pids=pids) as gateway:
        client = await Client.arrive(gateway)
        for task_id in finished:
            assert (await client.use("get_task", task_id=task_id))[0]["task"] == before[task_id]
            assert await client.use("get_task_result", task_id=task_id) == ["done"]
        for task_id in running:
            task = (await client.use("get_task", task_id=task_id))[0]["task"]
            assert (task["status"], task["error"]) == (
                "failed",
                "The gateway ended while the tool ran; outcome unknown",
            )
        assert told_of(client, "task_failed") == sorted(running)
        assert {event["data"]["reason"] for event in client.events if event["type"] == "task_failed"} == {
            "outcome_unknown"
        }
        assert told_of(client, "task_completed") == []
        other = await Client.arrive(gateway)
        await other.use("list_servers")
        os.kill(gateway.pid, signal.SIGKILL)
        await gateway.process.wait()
    async with serving(config, pids=pids) as gateway:
        last = await Client.arrive(gateway)
        assert (await last.use("get_task", task_id=running[0]))[0]["task"]["status"] == "failed"
        assert told_of(other, "task_failed") == told_of(last, "task_failed") == []
        assert (await last.use("get_task_result", task_id=finished[0])) == ["done"]


async def test_a_server_that_was_added_is_there_after_the_gateway_was_killed(tmp_path: Path, pids: Pids) -> None:
    config = configured(tmp_path, pids)
    entry = stdio_entry(pids, "added")
    async with serving(config, pids=pids) as gateway:
        client = await Client.arrive(gateway)
        await client.use("add_server", name="added", **entry, env={"TOKEN": "s3cret"})
        os.kill(gateway.pid, signal.SIGKILL)
        await gateway.process.wait()
        log = gateway.log
    async with serving(config, pids=pids) as gateway:
        client = await Client.arrive(gateway)
        env = await client.use("execute_tool", server="added", tool="env")
        assert env[0]["TOKEN"] == "s3cret"
        assert "s3cret" not in "".join([*log, *gateway.log])
        await client.use("remove_server", name="added")
    async with serving(config, pids=pids) as gateway:
        client = await Client.arrive(gateway)
        (listed,) = await client.use("list_servers")
        assert [server["name"] for server in listed["servers"]] == ["files"]


async def test_a_second_gateway_on_the_same_file_says_so_and_serves_all_the_same(tmp_path: Path, pids: Pids) -> None:
    config = configured(tmp_path, pids)
    async with serving(config, pids=pids) as first, serving(config, pids=pids) as second:
        client = await Client.arrive(second)
        assert await client.use("execute_tool", server="files", tool="echo", args={"text": "hello"}) == ["hello"]
        (said,) = [json.loads(line) for line in second.log if "state_not_kept" in line]
        assert f"another gateway (process {first.pid}) uses it" in said["data"]["reason"]


async def test_a_state_file_that_cannot_be_used_is_left_alone_and_costs_nothing_else(
    tmp_path: Path, pids: Pids
) -> None:
    config = configured(tmp_path, pids)
    file = config.with_name("state.sqlite3")
    file.write_text("something of somebody else's")
    async with serving(config, pids=pids) as gateway:
        client = await Client.arrive(gateway)
        assert await client.use("execute_tool", server="files", tool="echo", args={"text": "hello"}) == ["hello"]
        (said,) = [json.loads(line) for line in gateway.log if "state_not_kept" in line]
        assert "not a database" in said["data"]["reason"]
    assert file.read_text() == "something of somebody else's"


async def test_with_the_flag_nothing_is_written(tmp_path: Path, pids: Pids) -> None:
    config = configured(tmp_path, pids)
    async with serving(config, "--no-state", pids=pids) as gateway:
        client = await Client.arrive(gateway)
        await client.begin(0)
    assert not config.with_name("state.sqlite3").exists()


async def test_an_orderly_end_is_noted_and_the_file_is_whole(tmp_path: Path, pids: Pids) -> None:
    config = configured(tmp_path, pids)
    async with serving(config, pids=pids) as gateway:
        client = await Client.arrive(gateway)
        await client.begin(0)
        gateway.process.terminate()
        await gateway.process.wait()
    assert not config.with_name("state.sqlite3-wal").exists()
    with sqlite3.connect(config.with_name("state.sqlite3")) as database:
        assert database.execute("SELECT ended FROM life").fetchone() == (1,)
        assert database.execute("PRAGMA quick_check").fetchone() == ("ok",)
