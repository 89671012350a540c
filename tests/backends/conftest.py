"""On which loops the tests of this room run: those with real children on both, because each loop spawns and reaps in
its own way (uvloop by sockets and libuv, asyncio by pipes and a thread); all others on asyncio's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import uvloop

LoopFactory = Callable[[], asyncio.AbstractEventLoop]
WITH_CHILDREN = ("test_stdio.py",)


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> dict[str, LoopFactory]:
    factories: dict[str, LoopFactory] = {"asyncio": asyncio.new_event_loop}
    if item.path.name in WITH_CHILDREN:
        factories["uvloop"] = uvloop.new_event_loop
    return factories
