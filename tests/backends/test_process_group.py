"""Signals to a group, and how a process ended, in words. That groups really end is shown in test_stdio."""

from __future__ import annotations

import asyncio
import signal
from typing import cast

import pytest

from emceepee.backends import process_group
from emceepee.backends.process_group import ProcessGroup, ending_in_words


class Child:
    def __init__(self, returncode: int | None = None) -> None:
        self.returncode = returncode

    def get_pid(self) -> int:
        return 4711

    def get_returncode(self) -> int | None:
        return self.returncode


class Kernel:
    """Notes signals, and knows whether anybody is left."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: list[tuple[int, int]] = []
        self.error: OSError | None = None
        monkeypatch.setattr(process_group.os, "killpg", self.killpg)

    def killpg(self, group: int, number: int) -> None:
        self.sent.append((group, number))
        if self.error is not None:
            raise self.error


def group_of(child: Child) -> ProcessGroup:
    return ProcessGroup(cast(asyncio.SubprocessTransport, child))


def test_signals_go_to_the_whole_group(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(monkeypatch)
    group = group_of(Child())
    assert group.alive()
    assert group.terminate()
    assert group.kill()
    assert kernel.sent == [(4711, 0), (4711, signal.SIGTERM), (4711, signal.SIGKILL)]


@pytest.mark.parametrize("error", [ProcessLookupError(), PermissionError()])
def test_a_group_found_empty_never_gets_another_signal(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    """Its number may belong to somebody else by then."""
    kernel = Kernel(monkeypatch)
    kernel.error = error
    group = group_of(Child())
    assert not group.alive()
    assert not group.kill()
    assert len(kernel.sent) == 1


def test_the_first_child_is_left_to_the_loop_and_orphans_are_reaped(monkeypatch: pytest.MonkeyPatch) -> None:
    Kernel(monkeypatch)
    dead = [(1, 0), (2, 0), (0, 0)]
    asked: list[int] = []

    def waitpid(which: int, options: int) -> tuple[int, int]:
        asked.append(which)
        return dead.pop(0)

    monkeypatch.setattr(process_group.os, "waitpid", waitpid)
    child = Child()
    group = group_of(child)
    group.reap()
    assert not asked
    child.returncode = 0
    group.reap()
    assert asked == [-4711] * 3


@pytest.mark.parametrize(
    ("returncode", "words"),
    [
        (None, "closed its output"),
        (0, "exited with code 0"),
        (127, "exited with code 127"),
        (-9, "was ended by SIGKILL"),
        (-200, "was ended by signal 200"),
    ],
)
def test_how_it_ended_in_words(returncode: int | None, words: str) -> None:
    assert ending_in_words(returncode) == words
