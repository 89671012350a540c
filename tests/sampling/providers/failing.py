"""What goes wrong with a provider over HTTP, the same for each, and a log that heard everything meanwhile.

The one rule: each failure is one kind of `ProviderFailed`, and neither the key nor the prompt is in any log line,
however loud the libraries were told to be.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import pytest

from emceepee.observability import log_lines
from emceepee.sampling.model import Model
from emceepee.sampling.provider import Provider, ProviderFailed
from tests.sampling.providers.model_server import Reply, model_server
from tests.sampling.samples import request, user

KEY = "sk-test-0123456789abcdef"
PROMPT = "the song about the lighthouse"

Make: TypeAlias = Callable[[str], Provider]


async def failure(make: Make, model: Model, *replies: Reply, seconds: float = 30.0) -> ProviderFailed:
    async with model_server(*replies) as server:
        provider = make(server.url)
        try:
            with pytest.raises(ProviderFailed) as caught:
                await provider.ask(model, request(messages=[user(PROMPT)]), seconds)
        finally:
            await provider.close()
        assert len(server.seen) == min(1, len(replies)), "one attempt is one request"
        return caught.value


async def each_failure(make: Make, model: Model, refusals: dict[str, Reply]) -> None:
    """`refusals` are named by the kind that they have to become."""
    for kind, reply in refusals.items():
        failed = await failure(make, model, reply)
        assert failed.kind == kind
        assert PROMPT not in str(failed)
        assert KEY not in str(failed)


@contextmanager
def everything_logged() -> Iterator[Callable[[], str]]:
    """All that any logger of this process says, of whatever level, through our own lines and raw."""
    raw, lines = io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(raw)
    root = logging.getLogger()
    stop = log_lines.start("debug", "json", lines)
    before = root.level
    root.setLevel(logging.DEBUG)
    root.addHandler(handler)
    try:
        yield lambda: raw.getvalue() + lines.getvalue()
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        stop()


def unloud(said: Any) -> None:
    assert KEY not in said
    assert PROMPT not in said
