"""What `runtime.garbage` asks of the collector, seen from outside, and put back for the other tests."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from emceepee.runtime.garbage import YOUNG, look_for_circles_less_often


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


class Circle:
    def __init__(self) -> None:
        self.itself = self


def test_what_was_loaded_before_is_not_gone_through_again() -> None:
    look_for_circles_less_often()
    assert gc.get_freeze_count() > 1000
    assert gc.get_threshold()[0] == YOUNG


def test_circles_made_while_serving_are_still_found_without_being_asked_for() -> None:
    look_for_circles_less_often()
    alive = weakref.ref(Circle())
    kept = [[number] for number in range(2 * YOUNG)]
    assert alive() is None
    assert kept
