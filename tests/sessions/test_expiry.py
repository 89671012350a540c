"""When a session has been idle for too long."""

from __future__ import annotations

import pytest

from emceepee.sessions.expiry import is_idle


@pytest.mark.parametrize(
    ("busy", "now", "idle"),
    [(False, 109.9, False), (False, 110.0, True), (False, 500.0, True), (True, 500.0, False)],
)
def test_idle_means_not_busy_and_nothing_for_the_limit(busy: bool, now: float, idle: bool) -> None:
    assert is_idle(last_activity=100.0, busy=busy, now=now, limit=10.0) is idle
