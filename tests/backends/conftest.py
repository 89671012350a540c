"""On which loops the tests of this room run: those with real children and real sockets on both, because each loop
spawns, reaps, connects and closes in its own way (uvloop by libuv, asyncio by itself); all others on asyncio's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import uvloop

LoopFactory = Callable[[], asyncio.AbstractEventLoop]
ON_BOTH = ("test_stdio.py", "test_http_client.py", "test_http_opening.py", "test_streamable_http.py")


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> dict[str, LoopFactory]:
    factories: dict[str, LoopFactory] = {"asyncio": asyncio.new_event_loop}
    if item.path.name in ON_BOTH:
        factories["uvloop"] = uvloop.new_event_loop
    return factories
