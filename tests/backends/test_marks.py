"""Marks: carried by everything that a child starts, and judged only where they mean something."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from emceepee.backends.marks import NAME, maker_is_gone, mark_of, marked, own_mark, signal_marked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows environments")

STARTS_ONE = """
from subprocess import DEVNULL, Popen
print(Popen(["sleep", "60"], stdout=DEVNULL, stderr=DEVNULL, start_new_session=True).pid, flush=True)
"""
MARK = "7.8.9:test"


@pytest.fixture
def far() -> Iterator[int]:
    """A process that has left its parent's group, and whose parent is gone."""
    parent = subprocess.run(
        (sys.executable, "-c", STARTS_ONE), env=os.environ | {NAME: MARK}, capture_output=True, text=True, check=True
    )
    pid = int(parent.stdout)
    yield pid
    signal_marked(pid, MARK, signal.SIGKILL)


def test_what_left_its_parent_still_carries_the_mark(far: int) -> None:
    assert mark_of(far) == MARK
    assert marked(lambda mark: mark == MARK) == {far: MARK}
    assert far not in marked(lambda mark: mark == "7.8.9:other")


def test_a_signal_goes_to_whoever_carries_the_mark_and_to_nobody_else(far: int) -> None:
    assert not signal_marked(far, "7.8.9:other", signal.SIGKILL)
    assert mark_of(far) == MARK, "it lives"
    assert not signal_marked(os.getpid(), MARK, signal.SIGKILL)
    assert signal_marked(far, MARK, signal.SIGTERM)


def test_a_gateway_that_lives_is_not_gone_and_one_whose_number_was_given_to_another_is() -> None:
    own = own_mark()
    pid, began, namespace = own.split(".")
    assert not maker_is_gone(f"{own}:1")
    assert maker_is_gone(f"{pid}.{int(began) - 1}.{namespace}:1"), "the number is another's now"
    assert maker_is_gone(f"4194304.{began}.{namespace}:1"), "nobody has this number"


@pytest.mark.parametrize("mark", ["", "x", "1.2", "1.2.elsewhere:1", "a.b.c:1", "4194304.1.4026531836000:1"])
def test_what_cannot_be_judged_counts_as_alive(mark: str) -> None:
    assert not maker_is_gone(mark)
