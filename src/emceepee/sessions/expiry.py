"""When a session has been idle for too long: pure.

The one rule: whoever waits is not idle. A request in flight or an open stream keeps a session alive however long ago it
began, and idleness counts from the end of the last one.
"""

from __future__ import annotations


def is_idle(last_activity: float, busy: bool, now: float, limit: float) -> bool:
    """Whether a session with this history is over; exactly at the limit it is."""
    return not busy and now - last_activity >= limit
