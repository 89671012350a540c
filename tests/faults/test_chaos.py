"""Chaos with real processes, for a few seconds; for three minutes it is `make chaos`. The seed is printed."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from tests.faults.chaos import SERVERS, chaos

SECONDS = 8.0
CLIENTS = 32


@pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from /proc")
async def test_whatever_is_killed_or_frozen_no_call_is_lost_or_made_twice_and_nothing_is_left(tmp_path: Path) -> None:
    seed = random.randrange(10**6)  # noqa: S311 -- repeatable, not secret
    report = await chaos(seed, SECONDS, CLIENTS, tmp_path, rounds=1)
    print("\n".join(report.lines()))  # noqa: T201
    assert not report.wrong, report.lines()
    assert report.endings["ok"] > CLIENTS, report.lines()
    assert {name.split()[0] for name in report.kills} <= set(SERVERS)
    assert report.kills, "otherwise it was no chaos"
