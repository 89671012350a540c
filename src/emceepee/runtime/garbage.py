"""How often Python looks for circles of objects that nothing else refers to.

It frees nothing by itself and is not a cure for leaks: what a call leaves behind is freed by its references, at once.

The one rule: asked for once, by a process that is about to serve, because it is the whole process that it changes.
"""

from __future__ import annotations

import gc

YOUNG = 5_000
"""New containers before the young ones are gone through; Python's own 700 are made by every few dozen calls.
However a call ends, it leaves no circle (`tests/conversations/test_no_circles.py`), so what waits here is little."""

MIDDLE = 20


def look_for_circles_less_often() -> None:
    """What is loaded now stays for good and is not gone through again; what comes is gone through less often. It saved
    about 2 us of 99 per call with 32 sessions, in a run whose noise was not much smaller."""
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, gc.get_threshold()[2])
