"""The configuration, read again while the gateway runs: what changed changes, and nothing else notices."""

from __future__ import annotations

import json
import logging
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from emceepee.config.load import Source
from emceepee.reloading import Reloading
from tests.conversations.house import House, let_run
from tests.conversations.meta_client import MetaClient, meta
from tests.support.http_wire import LegacyWire
from tests.support.processes import alive, all_gone, until
from tests.support.real_gateway import Pids, serving, stdio_entry, write_config
from tests.support.scripted_backend import SILENT, ScriptedBackend

X, Y = {"url": "http://x.example/mcp"}, {"url": "http://y.example/mcp"}


class Stage:
    """A gateway whose servers are those of a file."""

    def __init__(self, folder: Path, **servers: Any) -> None:
        self.file = folder / "mcp.json"
        self.writes = 0
        self.write(servers)
        self.source = Source([str(self.file)], {}, folder)
        loaded = self.source.read()
        self.house = House({"own": ScriptedBackend(answers={"tools/call": SILENT})}, loaded.definitions)
        gateway = self.house.gateway
        self.reloading = Reloading(self.source, loaded, gateway.registry, gateway.middle.news, self.house.clock)

    def write(self, servers: Any, **settings: Any) -> None:
        self.put(json.dumps({"mcpServers": servers, "emceepee": settings}))

    def put(self, text: str) -> None:
        self.file.write_text(text)
        # Two writes within one tick of the file system's clock are two all the same.
        self.writes += 1
        os.utime(self.file, (self.writes, self.writes))

    def names(self) -> dict[str, str]:
        return {definition.name: definition.address for definition in self.house.gateway.registry.list()}

    async def close(self) -> None:
        self.reloading.close()
        await self.house.close()


async def kinds(client: MetaClient) -> list[tuple[str, str]]:
    told = await client.use("list_servers")
    return [(event["type"], event["server"]) for event in told.events]


async def test_servers_come_go_and_change_and_every_session_is_told(tmp_path: Path) -> None:
    stage = Stage(tmp_path, a=X, b=X, c=X)
    client = await meta(stage.house)
    stage.write({"b": Y, "c": X, "d": X})
    stage.reloading.reload()
    assert stage.names() == {"own": "memory:own", "b": Y["url"], "c": X["url"], "d": X["url"]}
    told = await kinds(client)
    assert sorted(told) == [
        ("server_added", "b"),
        ("server_added", "d"),
        ("server_removed", "a"),
        ("server_removed", "b"),
    ]
    assert told.index(("server_removed", "b")) < told.index(("server_added", "b"))
    await stage.close()


async def test_what_did_not_change_does_not_notice(tmp_path: Path) -> None:
    stage = Stage(tmp_path, a=X)
    client = await meta(stage.house)
    call = client.start("execute_tool", server="own", tool="slow")
    await let_run()
    connections = len(stage.house.backends["own"].connections)
    stage.write({"a": Y})
    stage.reloading.reload()
    await let_run()
    assert not call.complete
    assert len(stage.house.backends["own"].connections) == connections
    before = stage.house.gateway.registry.entry("a")
    stage.put(json.dumps({"mcpServers": {"a": Y}}, indent=4) + "\n// only looks different\n")
    stage.reloading.reload()
    assert stage.house.gateway.registry.entry("a") is before
    await stage.close()
    await call.done()


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        '{"mcpServers": {"a": {"url": "ftp://x/"}, "b": {"url": "http://b.example/mcp"}}}',
        '{"emceepee": {"prot": 1}}',
    ],
)
async def test_a_file_with_a_mistake_changes_nothing_and_says_why(
    tmp_path: Path, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(tmp_path, a=X)
    stage.put(broken)
    stage.reloading.reload()
    assert stage.names() == {"own": "memory:own", "a": X["url"]}
    said = {record.message: record.data for record in caplog.records if hasattr(record, "data")}
    assert str(stage.file) in said["config_problem"]["file"]
    assert said["config_reload_refused"]["why"][0].startswith(str(stage.file))
    stage.write({"a": Y})
    stage.reloading.reload()
    assert stage.names()["a"] == Y["url"]
    await stage.close()


async def test_a_file_that_is_gone_changes_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path, a=X)
    stage.file.unlink()
    stage.reloading.reload()
    assert "a" in stage.names()
    await stage.close()


async def test_a_mistake_that_was_there_from_the_start_holds_up_no_change(tmp_path: Path) -> None:
    stage = Stage(tmp_path, a=X, bad={"url": "ftp://x/"})
    stage.write({"a": Y, "bad": {"url": "ftp://x/"}})
    stage.reloading.reload()
    assert stage.names() == {"own": "memory:own", "a": Y["url"]}
    await stage.close()


async def test_what_clients_added_stays_as_they_left_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(tmp_path, a=X, b=X)
    registry = stage.house.gateway.registry
    loaded = {definition.name: definition for definition in stage.source.read().definitions}
    registry.remove("a")
    stage.write({"own": X, "a": X, "b": Y})
    with caplog.at_level(logging.INFO, "emceepee.app"):
        stage.reloading.reload()
    assert stage.names() == {"own": "memory:own", "b": Y["url"]}
    (said,) = [record.data for record in caplog.records if record.message == "config_reloaded"]  # type: ignore[attr-defined]
    assert said == {"put": ["b"], "removed": [], "kept": 1, "left": ["own"]}
    registry.add(loaded["a"], "somebody")
    stage.write({"b": Y})
    stage.reloading.reload()
    assert "a" not in stage.names(), "they added just what the file said, and the file says it no more"
    await stage.close()


async def test_a_server_that_is_disabled_is_listed_and_ended(tmp_path: Path) -> None:
    stage = Stage(tmp_path, a=X)
    client = await meta(stage.house)
    stage.write({"a": X | {"disabled": True}})
    stage.reloading.reload()
    told = await client.use("list_servers")
    assert [server["name"] for server in told.said["servers"] if server.get("disabled")] == ["a"]
    assert [(event["type"], event["server"]) for event in told.events] == [("server_removed", "a")]
    await stage.close()


async def test_other_settings_are_said_to_need_a_new_start_and_touch_no_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(tmp_path, a=X)
    before = stage.house.gateway.registry.entry("a")
    stage.write({"a": X}, timeouts={"connect": 3})
    stage.reloading.reload()
    assert [record.message for record in caplog.records] == ["config_settings_unchanged"]
    assert stage.house.gateway.registry.entry("a") is before
    await stage.close()


async def test_a_changed_file_is_read_when_it_has_come_to_rest(tmp_path: Path) -> None:
    stage = Stage(tmp_path, a=X)
    stage.reloading.watch()
    await stage.house.clock.advance(10)
    stage.put("{")
    await stage.house.clock.advance(2)
    stage.write({"b": X})
    await stage.house.clock.advance(2)
    assert "a" in stage.names(), "it changed since the last look"
    await stage.house.clock.advance(2)
    assert set(stage.names()) == {"own", "b"}
    await stage.close()
    assert stage.house.clock.waiting == 0


async def test_the_real_program_reads_it_again_on_a_hang_up(tmp_path: Path) -> None:
    pids = Pids(tmp_path / "pids")
    file = write_config(tmp_path, {name: stdio_entry(pids, name) for name in ("keeps", "goes")})
    async with serving(file, pids=pids) as gateway:
        await LegacyWire.arrive(gateway.port, "/mcp")
        assert await until(lambda: all(len(pids.of(name)) == 1 for name in ("keeps", "goes")), 20)
        (gone,), kept = pids.of("goes"), pids.of("keeps")
        write_config(tmp_path, {name: stdio_entry(pids, name) for name in ("keeps", "comes")})
        os.kill(gateway.pid, signal.SIGHUP)
        assert await all_gone([gone], 10)
        assert await until(lambda: "config_reloaded" in gateway.events(), 10)
        assert pids.of("keeps") == kept
        assert alive(kept[0])
