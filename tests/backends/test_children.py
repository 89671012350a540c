"""All children of a gateway: a bound with a clear error, and nothing stays of any of them, wherever it went."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from emceepee.backends.children import Children, end_orphans
from emceepee.backends.definition import StdioLaunch
from emceepee.backends.marks import NAME, own_mark
from emceepee.backends.stdio import StdioTransport
from emceepee.errors import BackendUnavailable
from emceepee.runtime.clock import SystemClock
from tests.support.inbox import RecordingInbox
from tests.support.processes import STDIO_SERVER, alive, all_gone, pids_in

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows who carries a mark")
APART = ("--grandchildren", "2", "--leave-group", "--ignore-sigterm")


@pytest.fixture
async def family() -> AsyncIterator[Children]:
    family = Children(SystemClock(), limit=2)
    yield family
    await family.close()


async def started(family: Children, *flags: str) -> StdioTransport:
    transport = StdioTransport("x", StdioLaunch(sys.executable, (STDIO_SERVER, *flags)), SystemClock(), family)
    await transport.start(RecordingInbox())
    return transport


async def test_one_more_child_than_there_may_be_is_refused_and_says_what_to_do(family: Children) -> None:
    first, second = await started(family), await started(family)
    with pytest.raises(BackendUnavailable, match=r"\(max_children\): the limit is 2; raise it"):
        await started(family)
    await first.close()
    third = await started(family)
    for transport in (second, third):
        await transport.close()
    assert len(family) == 0


async def test_what_cannot_be_started_takes_no_place(family: Children) -> None:
    for _ in range(3):
        with pytest.raises(BackendUnavailable, match="not found"):
            await StdioTransport("x", StdioLaunch("no-such-program"), SystemClock(), family).start(RecordingInbox())
    assert len(family) == 0


@linux
async def test_grandchildren_in_groups_of_their_own_end_with_the_child(family: Children, tmp_path: Path) -> None:
    transport = await started(family, *APART, "--pids", str(tmp_path / "pids"))
    pids = await pids_in(tmp_path / "pids", 3)
    await transport.close()
    assert await all_gone(pids, 6)


@linux
async def test_grandchildren_in_groups_of_their_own_end_with_us(tmp_path: Path) -> None:
    family = Children(SystemClock())
    await started(family, *APART, "--pids", str(tmp_path / "pids"))
    pids = await pids_in(tmp_path / "pids", 3)
    await family.close()
    assert await all_gone(pids[1:], 1)


@linux
async def test_two_gateways_in_one_process_leave_each_other_alone(family: Children) -> None:
    other = Children(SystemClock())
    kept, gone = await started(family), await started(other)
    await gone.close()
    await other.close()
    assert kept.pid is not None
    assert alive(kept.pid)
    await kept.close()


@linux
async def test_orphans_are_those_of_gateways_that_are_gone_and_nobody_else(family: Children, tmp_path: Path) -> None:
    """A living gateway's children are its own business, and so are processes without a mark."""
    own = own_mark()
    pid, began, namespace = own.split(".")
    code = "import sys, time; open(sys.argv[1], 'a').write(f'{__import__(\"os\").getpid()}\\n'); time.sleep(60)"
    gone = StdioLaunch(sys.executable, ("-c", code, str(tmp_path / "gone")), {NAME: f"{pid}.1.{namespace}:1"})
    mine = StdioLaunch(sys.executable, ("-c", code, str(tmp_path / "mine")))
    unmarked = Children(SystemClock())
    unmarked._own = ""
    transports = [
        StdioTransport("x", gone, SystemClock(), unmarked),
        StdioTransport("x", mine, SystemClock(), family),
        StdioTransport("x", mine, SystemClock(), unmarked),
    ]
    try:
        for transport in transports:
            await transport.start(RecordingInbox())
        orphans, living = await pids_in(tmp_path / "gone", 1), await pids_in(tmp_path / "mine", 2)
        # Gateways of somebody else on this machine may have left some as well.
        assert await end_orphans(SystemClock()) >= 1
        assert await all_gone(orphans, 1)
        assert all(alive(pid) for pid in living)
    finally:
        for transport in transports:
            await transport.close()
        await unmarked.close()
    assert began.isdigit()
