"""A gateway is killed together with its warden, and what it leaves is ended by the next one; a gateway that is killed
alone leaves nothing, also of what left its children's process groups."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.http_wire import LegacyWire
from tests.support.processes import alive, all_gone, until
from tests.support.real_gateway import Pids, Program, serving, stdio_entry, write_config

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows who carries a mark")
STUBBORN = ("--ignore-eof", "--ignore-sigterm", "--grandchildren", "2", "--leave-group")


async def with_a_child(gateway: Program, pids: Pids) -> list[int]:
    client = await LegacyWire.arrive(gateway.port, "/servers/odd/mcp")
    await client.call("tools/call", {"name": "echo", "arguments": {"text": "a"}})
    assert await until(lambda: len(pids.of("odd")) == 3, 10)
    return pids.of("odd")


def warden_of(gateway: Program) -> int:
    children = Path(f"/proc/{gateway.pid}/task/{gateway.pid}/children").read_text().split()
    found = [int(pid) for pid in children if b"warden_program.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(found) == 1
    return found[0]


async def test_what_a_killed_gateway_and_its_killed_warden_left_is_ended_by_the_next_one(tmp_path: Path) -> None:
    pids = Pids(tmp_path / "pids")
    config = write_config(tmp_path, {"odd": stdio_entry(pids, "odd", *STUBBORN)})
    async with serving(config) as first:
        left = await with_a_child(first, pids)
        first.process.send_signal(signal.SIGSTOP)
        os.kill(warden_of(first), signal.SIGKILL)
        first.process.kill()
        await first.ended(5)
        assert all(alive(pid) for pid in left), "otherwise this test shows nothing"
        async with serving(config, pids=pids) as second:
            assert await all_gone(left, 8)
            assert await until(lambda: "orphans_ended" in second.events(), 2)


async def test_the_warden_finds_what_left_its_group(tmp_path: Path) -> None:
    pids = Pids(tmp_path / "pids")
    config = write_config(tmp_path, {"odd": stdio_entry(pids, "odd", *STUBBORN)})
    async with serving(config, pids=pids) as gateway:
        left = await with_a_child(gateway, pids)
        gateway.process.kill()
        await gateway.ended(5)
        assert await all_gone(left, 5)


async def test_a_gateway_that_starts_leaves_the_children_of_a_living_one_alone(tmp_path: Path) -> None:
    pids = Pids(tmp_path / "pids")
    config = write_config(tmp_path, {"odd": stdio_entry(pids, "odd", *STUBBORN)})
    async with serving(config, pids=pids) as first:
        living = await with_a_child(first, pids)
        async with serving(config) as second:
            client = await LegacyWire.arrive(second.port, "/servers/odd/mcp")
            await client.call("tools/call", {"name": "echo", "arguments": {"text": "a"}})
            assert all(alive(pid) for pid in living)
            assert "orphans_ended" not in second.events()
