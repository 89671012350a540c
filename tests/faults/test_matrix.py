"""The fault matrix: servers behind each transport break in each way, while a client is in the middle of something. What
it is told is what `expected` says; nothing hangs longer than its deadline, nothing is called twice, nothing is left.

`make faults` prints the table. Real sockets and real children; the gateway's clock runs up to twelve times as
fast, as the machine can bear.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.cell import CALL_LIMIT, Cell, Seen
from tests.faults.expected import EXPECTED, FAULTS, STATES, TRANSPORTS, Wanted
from tests.faults.fast_clock import speed_that_fits
from tests.support.processes import until

SLACK = 8.0
"""Of the fast clock: what a busy machine takes on top of a deadline."""
LONGEST = CALL_LIMIT + SLACK

Place = tuple[str, str, str]


@pytest.fixture(scope="module")
def lines() -> Iterator[dict[Place, str]]:
    told: dict[Place, str] = {}
    yield told
    head = (
        f"{'fault':23} {'behind':11} {'while':12}  {'under way':14} {'a call then':11} {'whole: alone':>12} {'call':>5}"
    )
    print("\n" + head)  # noqa: T201 -- the table
    for line in told.values():
        print(line)  # noqa: T201


@pytest.mark.skipif(sys.platform != "linux", reason="open files are counted in /proc")
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_broken_server_is_told_once_and_mends(fault: str, tmp_path: Path, lines: dict[Place, str]) -> None:
    files, tasks = open_files(), len(asyncio.all_tasks())
    places = [(fault, transport, state) for transport in TRANSPORTS for state in STATES]
    speed = await speed_that_fits()
    found = await asyncio.gather(*(seen_at(place, tmp_path, speed) for place in places))
    wrong: list[str] = []
    for place, seen in zip(places, found, strict=True):
        lines[place] = line_of(place, seen)
        wrong += [f"{' | '.join(place)}: {what}" for what in problems(EXPECTED[place], seen)]
    assert not wrong, "\n".join(wrong)
    gc.collect()
    assert await until(lambda: len(asyncio.all_tasks()) <= tasks, 3), asyncio.all_tasks()
    assert await until(lambda: open_files() <= files, 3), f"open files: {files} before, {open_files()} after"


async def seen_at(place: Place, folder: Path, speed: float) -> Seen | None:
    fault, transport, state = place
    if EXPECTED[place].no_sense:
        return None
    folder = folder / f"{transport} {state}".replace(" ", "-").replace("/", "-")
    return await Cell(transport, fault, state, folder, speed).run()


def problems(wanted: Wanted, seen: Seen | None) -> list[str]:
    if seen is None:
        return []
    checks = {
        f"a call was told {seen.during!r}, not {' or '.join(wanted.during)!r}": seen.during in wanted.during,
        f"what was under way became {seen.running!r}, not {wanted.running!r}": seen.running == wanted.running,
        f"the first call after it was told {seen.after!r}": seen.after == "ok",
        f"what was there before is {seen.again!r}, not {wanted.again!r}": seen.again == wanted.again,
        f"a connection took {seen.alone:.1f} s, not {wanted.within:.0f}": seen.alone <= wanted.within,
        f"a call waited {seen.longest:.1f} s, not {LONGEST:.0f}": seen.longest <= LONGEST,
        f"called twice: {seen.twice}": not seen.twice,
        f"left: {seen.left}": not seen.left,
    }
    return [said for said, right in checks.items() if not right]


def line_of(place: Place, seen: Seen | None) -> str:
    fault, transport, state = place
    start = f"{fault:23} {transport:11} {state:12}  "
    if seen is None:
        return start + f"({EXPECTED[place].no_sense})"
    return start + f"{seen.running:14} {seen.during:11} {seen.alone:10.1f} s {seen.mended:3.1f} s"


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_every_cell_has_what_is_expected_of_it_or_why_there_is_none() -> None:
    assert set(EXPECTED) == {
        (fault, transport, state) for fault in FAULTS for transport in TRANSPORTS for state in STATES
    }
    assert len(EXPECTED) == 18 * 4 * 4
    assert all(wanted.no_sense or wanted.during for wanted in EXPECTED.values())
