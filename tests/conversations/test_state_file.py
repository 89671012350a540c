"""A gateway with its real state file: what is written when, and what happens when nothing can be written any more."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from emceepee.backends.definition import HttpEndpoint, ServerDefinition
from emceepee.runtime.clock import SystemClock
from emceepee.storage.database import Database
from emceepee.storage.kept import Kept, open_kept
from tests.conversations.house import House, let_run
from tests.conversations.meta_client import meta
from tests.support.scripted_backend import Late, ScriptedBackend

DONE = {"content": [{"type": "text", "text": '"done"'}]}


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    opened = open_kept(tmp_path / "state.sqlite3", SystemClock())
    yield opened
    opened.close()


def database(kept: Kept) -> Database:
    assert kept.database is not None
    return kept.database


def changes(kept: Kept) -> int:
    ((count,),) = database(kept).rows("SELECT total_changes()")
    return int(count)


async def test_a_call_that_is_no_task_writes_nothing(kept: Kept) -> None:
    house = House({"files": ScriptedBackend(answers={"tools/call": DONE})}, kept=kept)
    client = await meta(house)
    plain = await house.legacy_client("/servers/files/mcp")

    async def call() -> None:
        assert (await client.use("execute_tool", server="files", tool="echo")).own == ["done"]
        await plain.result("tools/call", {"name": "echo", "arguments": {}})
        await client.use("list_servers")

    # The first one connects; what servers are like is remembered too.
    await call()
    before = changes(kept)
    for _ in range(5):
        await call()
    assert changes(kept) == before
    await house.close()


async def test_with_a_full_disk_all_goes_on_and_what_was_written_stays_whole(kept: Kept, tmp_path: Path) -> None:
    go = asyncio.Event()
    house = House({"files": ScriptedBackend(answers={"tools/call": Late(DONE, go)})}, kept=kept)
    client = await meta(house)
    first = (await client.use("execute_tool", server="files", tool="slow", timeout_ms=0)).said["task"]["taskId"]
    ((pages,),) = database(kept).rows("PRAGMA page_count")
    database(kept).rows(f"PRAGMA max_page_count = {pages}")
    large: dict[str, Any] = {"text": "x" * 100_000}
    asked = {"server": "files", "tool": "slow", "args": large, "timeout_ms": 0}
    second = (await client.use("execute_tool", **asked)).said["task"]["taskId"]
    assert house.gateway.health()["state"] == "failing"
    house.gateway.registry.add(ServerDefinition("x" * 40, HttpEndpoint(f"http://far.test/{'y' * 4000}")), by="s")
    go.set()
    await let_run()
    for task_id in (first, second):
        assert (await client.use("get_task_result", task_id=task_id)).own == ["done"]
    await house.close()
    again = open_kept(tmp_path / "state.sqlite3", SystemClock())
    assert database(again).rows("PRAGMA quick_check") == [("ok",)]
    assert first in [task.view.id for task in again.tasks.all()]
    assert second not in [task.view.id for task in again.tasks.all()]
    again.close()
