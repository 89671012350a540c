"""The gateway's side of the warden: lazy, told everything, replaced when somebody ends it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from emceepee.backends import warden as warden_module
from emceepee.backends.warden import Warden, interpreter
from emceepee.runtime.clock import SystemClock
from tests.support.processes import alive, all_gone, until

NAP = "import time; print('up', flush=True); time.sleep(600)"


@pytest.fixture
async def warden() -> AsyncIterator[Warden]:
    warden = Warden(SystemClock())
    yield warden
    await warden.close()


class Nap:
    """A process that leads a group and does nothing."""

    def __init__(self) -> None:
        command = (sys.executable, "-c", NAP)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
        assert self.process.stdout is not None
        self.process.stdout.readline()
        self.pid = self.process.pid

    def end(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=10)


@pytest.fixture
async def nap() -> AsyncIterator[Nap]:
    nap = Nap()
    yield nap
    nap.end()


def pid_of(warden: Warden) -> int:
    assert warden._process is not None
    return warden._process.pid


async def test_without_children_there_is_no_process(warden: Warden) -> None:
    assert warden._process is None


async def test_one_process_for_all_children(warden: Warden, nap: Nap) -> None:
    warden.watch(nap.pid)
    first = pid_of(warden)
    warden.watch(nap.pid)
    assert pid_of(warden) == first


async def test_it_is_out_of_reach_of_what_is_sent_to_our_group(warden: Warden, nap: Nap) -> None:
    warden.watch(nap.pid)
    assert os.getsid(pid_of(warden)) != os.getsid(0)


async def test_closing_ends_what_is_still_noted_and_the_warden_itself(warden: Warden, nap: Nap) -> None:
    warden.watch(nap.pid)
    pid = pid_of(warden)
    await warden.close()
    await warden.close()
    assert not alive(pid)
    assert await all_gone([nap.pid], 2)


async def test_what_is_forgotten_is_left_alone(warden: Warden, nap: Nap) -> None:
    warden.watch(nap.pid)
    warden.forget(nap.pid)
    warden.forget(nap.pid)
    await warden.close()
    assert alive(nap.pid)


async def test_a_warden_that_was_ended_is_replaced_and_told_everything_again(
    warden: Warden, nap: Nap, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    warden.watch(nap.pid)
    first = pid_of(warden)
    os.kill(first, signal.SIGKILL)
    assert await until(lambda: not alive(first), 5)
    other = Nap()
    warden.watch(other.pid)
    assert pid_of(warden) != first
    assert "warden_lost" in [record.message for record in caplog.records]
    await warden.close()
    assert await all_gone([nap.pid, other.pid], 2)
    other.end()


async def test_one_that_cannot_be_started_is_said_and_nothing_fails(
    warden: Warden, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(warden_module.sys, "executable", "/no/such/python")
    warden.watch(1_000_000_000)
    warden.forget(1_000_000_000)
    assert "warden_unavailable" in [record.message for record in caplog.records]


def test_a_frozen_application_has_no_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert interpreter() == sys.executable
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert interpreter() is None


async def test_closing_is_bounded_when_the_warden_hangs(
    warden: Warden, nap: Nap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warden_module, "_LAST_WAIT", 0.1)
    warden.watch(nap.pid)
    pid = pid_of(warden)
    os.kill(pid, signal.SIGSTOP)
    async with asyncio.timeout(5):
        await warden.close()
    assert not alive(pid)
