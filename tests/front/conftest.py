"""The bench of this room: one front in memory, closed and found clean after each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.front_bench import Bench


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.close()
