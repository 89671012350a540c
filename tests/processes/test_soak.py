"""The soak at a tenth of its size; in full it is `make soak`. Figures are printed (`pytest -s`)."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.soak.__main__ import FULL
from tests.soak.load import Size
from tests.soak.run import soak
from tests.soak.verdict import problems

SMALL = Size(sessions=100, calls=1_000, at_once=64)
MAKEFILE = Path(__file__).parents[2] / "Makefile"


@pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from /proc")
async def test_sessions_and_calls_that_come_and_go_in_every_way_leave_nothing_behind(tmp_path: Path) -> None:
    seed = random.randrange(10**6)  # noqa: S311 -- repeatable, not secret
    report = await soak(SMALL, seed, tmp_path)
    print("\n".join(report.lines()))  # noqa: T201
    assert not problems(report), (seed, report.lines())
    assert report.done["sessions"] == 2 * SMALL.sessions
    assert report.done["calls, legacy"] + report.done["calls, modern"] == 2 * SMALL.calls


def test_the_full_size_is_what_was_promised_and_has_a_make_target() -> None:
    assert Size(sessions=1_000, calls=10_000, at_once=64) == FULL
    # A make that runs this test hands its own words down.
    environment = {name: value for name, value in os.environ.items() if name not in ("ARGS", "MAKEFLAGS", "MAKELEVEL")}
    command = ("make", "-n", "soak")
    recipe = subprocess.run(command, cwd=MAKEFILE.parent, env=environment, capture_output=True, text=True, check=True)
    assert recipe.stdout.split()[-2:] == ["-m", "tests.soak"], "no size given, so the full one"
