"""What servers offer does not blink: while one is away it is known from others and from earlier runs, with its age."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emceepee.storage.kept import open_kept
from tests.conversations.house import House
from tests.conversations.meta_client import meta
from tests.support.fake_clock import FakeClock
from tests.support.scripted_backend import EXIT, ScriptedBackend


def dead(backend: ScriptedBackend) -> None:
    backend.answers = {"server/discover": EXIT, "initialize": EXIT}
    if backend.connections:
        backend.exit()


async def test_a_new_session_sees_the_tools_of_a_server_that_is_away() -> None:
    backend = ScriptedBackend()
    house = House({"files": backend})
    first = await meta(house)
    await first.use("list_tools", server="files")
    dead(backend)
    await house.clock.advance(60)
    second = await meta(house)
    said = (await second.use("list_tools")).said
    assert [tool["name"] for tool in said["tools"]] == ["echo"]
    (line,) = said["servers"]
    assert line.items() >= {"name": "files", "status": "stale", "tools": 1}.items()
    assert 60_000 <= line["ageMs"] <= 70_000
    assert "exited with code 1" in line["why"]
    direct = await house.legacy_client("/direct/mcp")
    listed = await direct.result("tools/list")
    assert [tool["name"] for tool in listed["tools"]] == ["files__echo"]
    called = await direct.call("tools/call", {"name": "files__echo", "arguments": {}})
    assert called["error"]["data"]["reason"] == "backend_unavailable"
    await house.close()


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_next_run_shows_them_too_and_does_not_probe_what_it_knows(tmp_path: Path, era: Any) -> None:
    file = tmp_path / "state.sqlite3"
    backend = ScriptedBackend(era)
    house = House({"files": backend}, kept=open_kept(file, FakeClock()))
    await (await meta(house)).use("list_tools", server="files")
    await house.close()
    before = backend.methods().count("server/discover")
    house = House({"files": backend}, kept=open_kept(file, FakeClock()))
    client = await meta(house)
    assert not (await client.use("execute_tool", server="files", tool="echo")).is_error
    assert backend.methods().count("server/discover") - before == (1 if era == "modern" else 0)
    await house.close()
    dead(backend)
    house = House({"files": backend}, kept=open_kept(file, FakeClock()))
    said = (await (await meta(house)).use("list_tools")).said
    assert [tool["name"] for tool in said["tools"]] == ["echo"]
    assert said["servers"][0]["status"] == "stale"
    await house.close()
