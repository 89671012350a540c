"""One question to a model: again when it is overloaded, never otherwise, and never longer than was said."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from emceepee.sampling.asking import ask_patiently
from emceepee.sampling.provider import FailureKind, ProviderAnswer, ProviderFailed
from tests.sampling.models import SMALL, FakeProvider, said
from tests.sampling.samples import request
from tests.support.fake_clock import FakeClock, settle

BUSY = ProviderFailed("overloaded")


def begin(clock: FakeClock, provider: FakeProvider, seconds: float = 60.0) -> asyncio.Task[ProviderAnswer]:
    return asyncio.ensure_future(ask_patiently(provider, SMALL, request(), clock, seconds, retries=2))


async def end(clock: FakeClock, task: asyncio.Task[ProviderAnswer]) -> Any:
    for _ in range(100):
        await settle()
        if task.done():
            break
        await clock.advance(0.5)
    try:
        return (await task).answer
    except ProviderFailed as failed:
        return failed.kind


async def test_an_overloaded_provider_is_asked_again() -> None:
    clock, provider = FakeClock(), FakeProvider([BUSY, BUSY, said()])
    assert await end(clock, begin(clock, provider)) == said()
    assert len(provider.asked) == 3
    assert clock.waiting == 0


async def test_it_is_asked_so_often_and_no_more() -> None:
    clock, provider = FakeClock(), FakeProvider([BUSY] * 9)
    assert await end(clock, begin(clock, provider)) == "overloaded"
    assert len(provider.asked) == 3


@pytest.mark.parametrize(
    "kind", ["timed_out", "unreachable", "refused_key", "context_too_long", "refused_request", "malformed", "broken"]
)
async def test_no_other_failure_is_tried_again(kind: FailureKind) -> None:
    clock, provider = FakeClock(), FakeProvider([ProviderFailed(kind), said()])
    assert await end(clock, begin(clock, provider)) == kind
    assert len(provider.asked) == 1


async def test_it_waits_as_long_as_the_provider_says() -> None:
    clock, provider = FakeClock(), FakeProvider([ProviderFailed("overloaded", retry_after=20), said()])
    task = begin(clock, provider)
    await clock.advance(19)
    assert len(provider.asked) == 1
    await clock.advance(2)
    assert (await task).answer == said()


async def test_a_wait_that_would_outlast_the_time_is_not_begun() -> None:
    clock, provider = FakeClock(), FakeProvider([ProviderFailed("overloaded", retry_after=90), said()])
    task = begin(clock, provider)
    await settle()
    with pytest.raises(ProviderFailed, match="overloaded"):
        await task
    assert clock.now() == FakeClock().now()


async def test_silence_ends_with_the_time() -> None:
    clock, provider = FakeClock(), FakeProvider()
    task = begin(clock, provider, 30)
    await clock.advance(30)
    with pytest.raises(ProviderFailed, match="after 30 s") as raised:
        await task
    assert raised.value.kind == "timed_out"
    assert clock.waiting == 0
