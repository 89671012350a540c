"""The warden's side of the pipe: what it notes, what it does at the end of it, and what cannot end it before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from emceepee.backends import warden_program
from tests.support.processes import alive, all_gone, until

NAP = "import time; print('up', flush=True); time.sleep(600)"
STUBBORN_NAP = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + NAP
Start = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def start_one(code: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen((sys.executable, "-c", code), stdout=subprocess.PIPE, start_new_session=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        return process

    yield start_one
    for process in started:
        process.kill()
        process.communicate(timeout=10)


@pytest.fixture
def warden() -> Iterator[subprocess.Popen[bytes]]:
    command = (sys.executable, "-I", "-S", warden_program.__file__)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, bufsize=0, start_new_session=True)
    yield process
    process.kill()
    process.communicate(timeout=10)


def tell(warden: subprocess.Popen[bytes], *lines: bytes) -> None:
    assert warden.stdin is not None
    for line in lines:
        warden.stdin.write(line)


def test_what_is_noted_and_struck_out_is_read_across_any_cut_of_the_bytes() -> None:
    reading, writing = os.pipe()
    for piece in (b"+1", b"2\n+3", b"4\n", b"-12\n-99\n+56\n+7"):
        os.write(writing, piece)
    os.close(writing)
    assert warden_program.follow(reading) == {34, 56}
    os.close(reading)


async def test_at_the_end_of_input_the_noted_groups_are_ended_and_no_others(
    warden: subprocess.Popen[bytes], start: Start
) -> None:
    noted, struck_out = start(NAP), start(NAP)
    tell(warden, b"+%d\n+%d\n-%d\n" % (noted.pid, struck_out.pid, struck_out.pid))
    warden.communicate(timeout=10)
    assert await all_gone([noted.pid], 2)
    assert alive(struck_out.pid)


async def test_who_ignores_sigterm_is_killed_after_the_grace(warden: subprocess.Popen[bytes], start: Start) -> None:
    stubborn = start(STUBBORN_NAP)
    tell(warden, b"+%d\n" % stubborn.pid)
    warden.communicate(timeout=10)
    assert await all_gone([stubborn.pid], 2)


async def test_signals_meant_for_the_gateway_do_not_end_it(warden: subprocess.Popen[bytes], start: Start) -> None:
    nap = start(NAP)
    tell(warden, b"+%d\n" % nap.pid)
    # It is deaf to them once it has begun; a first group ended shows nothing less than that it reads.
    assert await until(lambda: ignores(warden.pid, signal.SIGTERM), 10)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        warden.send_signal(number)
    warden.communicate(timeout=10)
    assert warden.returncode == 0
    assert await all_gone([nap.pid], 2)


def ignores(pid: int, number: int) -> bool:
    """As `ps` knows it, on Linux and macOS."""
    shown = subprocess.run(("ps", "-o", "ignored=", "-p", str(pid)), capture_output=True, text=True, check=False).stdout
    return bool(int(shown.strip() or "0", 16) >> (number - 1) & 1)
