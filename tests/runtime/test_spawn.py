"""Tasks belong to a scope, and end with it."""

from __future__ import annotations

import asyncio
import logging

import pytest

from emceepee.runtime.spawn import TaskScope, bounded


async def forever() -> None:
    await asyncio.Event().wait()


async def test_closing_ends_everything_and_may_be_done_twice() -> None:
    scope = TaskScope("house")
    tasks = [scope.spawn(forever(), f"t{n}") for n in range(3)]
    assert len(scope) == 3
    assert tasks[0].get_name() == "house/t0"
    await scope.close()
    await scope.close()
    assert all(task.cancelled() for task in tasks)
    assert (len(scope), scope.closed) == (0, True)


async def test_a_closed_scope_starts_nothing() -> None:
    scope = TaskScope("house")
    await scope.close()
    ran = False

    async def work() -> None:
        nonlocal ran
        ran = True

    task = scope.spawn(work(), "late")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not ran


@pytest.mark.shows("X-PY-04")
async def test_a_task_that_fails_on_its_own_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    scope = TaskScope("house")

    async def broken() -> None:
        raise RuntimeError("a bug")

    task = scope.spawn(broken(), "broken")
    with caplog.at_level(logging.ERROR, "emceepee.runtime"):
        await asyncio.wait([task])
        await asyncio.sleep(0)
    assert caplog.records[0].message == "task_failed_unexpectedly"
    assert caplog.records[0].data == {"task": "house/broken"}  # type: ignore[attr-defined]
    assert len(scope) == 0


async def test_a_task_that_ignores_its_end_is_left_behind_after_the_grace_and_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scope = TaskScope("house")
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    task = scope.spawn(stubborn(), "stubborn")
    await asyncio.sleep(0)
    with caplog.at_level(logging.WARNING, "emceepee.runtime"):
        await scope.close(grace=0.01)
    assert caplog.records[0].message == "task_ignored_cancellation"
    release.set()
    await asyncio.wait([task])


async def test_finishing_lets_what_is_nearly_done_end_by_itself() -> None:
    scope = TaskScope("house")
    said: list[str] = []

    async def last_word() -> None:
        await asyncio.sleep(0)
        said.append("bye")

    scope.spawn(last_word(), "word")
    await scope.finish(1.0)
    assert said == ["bye"]


async def test_a_task_may_close_its_own_scope() -> None:
    scope = TaskScope("house")
    async with asyncio.timeout(5):
        await scope.spawn(scope.close(), "self")
    assert scope.closed


async def test_a_last_write_is_bounded_and_never_raises() -> None:
    async def fails() -> None:
        raise OSError("gone")

    await bounded(fails(), 1.0)
    await bounded(forever(), 0.01)
