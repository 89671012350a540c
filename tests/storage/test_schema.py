"""The steps that lead to the tables: none is changed once it has been released."""

from __future__ import annotations

import hashlib
import sqlite3

from emceepee.storage.schema import STEPS, VERSION

RELEASED = ("58be4770e6713cea",)
"""What each step was when it was released. A step that is not here yet is added here when it is."""


def test_a_step_that_was_released_is_not_changed() -> None:
    digests = tuple(hashlib.sha256("\0".join(step).encode()).hexdigest()[:16] for step in STEPS)
    assert digests[: len(RELEASED)] == RELEASED
    assert len(digests) == len(RELEASED), "write the digest of the new step down"


def test_the_steps_can_be_taken_one_after_the_other() -> None:
    connection = sqlite3.connect(":memory:")
    for step in STEPS:
        for sql in step:
            connection.execute(sql)
    assert len(STEPS) == VERSION
