"""However the gateway dies, nothing that it started survives: real processes, real signals."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.processes import STDIO_SERVER, all_gone, pids_in

GATEWAY = str(Path(STDIO_SERVER).with_name("gateway_like.py"))
STUBBORN = ("--ignore-eof", "--ignore-sigterm", "--grandchildren", "2")
LIMIT = 5.0
"""Seconds from the death of the gateway to that of the last of its children."""


@pytest.fixture
async def pids_file(tmp_path: Path) -> AsyncIterator[Path]:
    file = tmp_path / "pids"
    yield file
    for pid in started_in(file):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def started_in(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().splitlines()] if file.exists() else []


async def gateway(pids: Path, mode: str, *flags: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, GATEWAY, str(pids), mode, *flags, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )


async def ready(process: asyncio.subprocess.Process) -> None:
    assert process.stdout is not None
    async with asyncio.timeout(20):
        assert await process.stdout.readline() == b"ready\n"


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_no_child_and_no_grandchild_survives_a_signal_to_the_gateway(pids_file: Path, death: int) -> None:
    process = await gateway(pids_file, "wait", *STUBBORN)
    await ready(process)
    pids = await pids_in(pids_file, 6)
    process.send_signal(death)
    assert await all_gone(pids, LIMIT)
    async with asyncio.timeout(LIMIT):
        await process.wait()


async def test_no_child_survives_a_signal_to_the_whole_group_of_the_gateway(pids_file: Path) -> None:
    """What a terminal or a supervisor sends hits the warden's parent and must miss the warden."""
    process = await gateway(pids_file, "wait", *STUBBORN)
    await ready(process)
    pids = await pids_in(pids_file, 6)
    os.killpg(process.pid, signal.SIGKILL)
    assert await all_gone(pids, LIMIT)
    await process.wait()


async def test_a_gateway_that_ends_in_order_leaves_nobody(pids_file: Path) -> None:
    process = await gateway(pids_file, "close", "--grandchildren", "1")
    await ready(process)
    pids = await pids_in(pids_file, 4)
    async with asyncio.timeout(10):
        assert await process.wait() == 0
    assert await all_gone(pids, 0.5)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a test be a reaper")
async def test_as_the_first_process_of_a_container_it_leaves_no_zombies(pids_file: Path) -> None:
    process = await gateway(pids_file, "as-init", "--ignore-sigterm", "--grandchildren", "3")
    await ready(process)
    async with asyncio.timeout(20):
        assert process.stdout is not None
        assert await process.stdout.readline() == b"no zombies\n"
        await process.wait()


async def test_a_child_that_the_warden_was_never_told_of_has_run_nothing(pids_file: Path) -> None:
    process = await gateway(pids_file, "die-unwatched", *STUBBORN)
    async with asyncio.timeout(20):
        assert await process.wait() == -signal.SIGKILL
        assert process.stdout is not None
        assert await process.stdout.read() == b""
    assert started_in(pids_file) == []
