"""A real program that nobody uses is ended, and the next call starts another one."""

from __future__ import annotations

from pathlib import Path

from tests.support.http_wire import LegacyWire
from tests.support.processes import all_gone
from tests.support.real_gateway import Pids, serving, stdio_entry, write_config


async def test_an_idle_program_ends_and_the_next_call_starts_it_again(tmp_path: Path) -> None:
    pids = Pids(tmp_path / "pids")
    entry = stdio_entry(pids, "lazy", "--grandchildren", "1") | {"emceepee": {"idle_stop": 0.5}}
    async with serving(write_config(tmp_path, {"lazy": entry}), pids=pids) as gateway:
        client = await LegacyWire.arrive(gateway.port, "/servers/lazy/mcp")
        asked = {"name": "echo", "arguments": {"text": "a"}}
        assert "result" in await client.call("tools/call", asked)
        assert await all_gone(pids.of("lazy"), 8)
        assert "server_idle_stopped" in gateway.events()
        assert "server_disconnected" not in gateway.events(), "it was no loss"
        before = len(pids.of("lazy"))
        assert "result" in await client.call("tools/call", asked)
        assert len(pids.of("lazy")) > before
