"""Held calls that are abandoned in every way leave nothing behind; in full it is `make soak-holds`."""

from __future__ import annotations

import random

import pytest

from tests.soak import holds


async def test_held_calls_that_are_abandoned_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holds, "AT_ONCE", 100)
    monkeypatch.setattr(holds, "CALLERS", 20)
    monkeypatch.setattr(holds, "SPARE", 10)
    # So few that the last bytes of what is made once for each caller would count.
    monkeypatch.setattr(holds, "GROWTH_PER_HOLD", 1024)
    seed = random.randrange(10**6)  # noqa: S311 -- repeatable, not secret
    figures, problems = await holds.soak(220, seed)
    assert not problems, (seed, figures)
    assert figures["most held"] == 100
    assert figures["not held: the limit"] == 20
