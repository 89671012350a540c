"""What one client is told on the way to an answer: pure bookkeeping between notices and bytes.

It writes nothing itself. The one rule: a notice that can be said again later has a key, by which a slow client gets
only the latest of it, and progress of one call only ever rises.
"""

from __future__ import annotations

from emceepee.vocabulary.notices import ListChanged, Notice, Progress, ResourceUpdated, TaskChanged


def coalescing_key(notice: Notice) -> str | None:
    match notice:
        case Progress():
            return "progress"
        case ListChanged(kind):
            return f"list {kind}"
        case ResourceUpdated(uri):
            return f"resource {uri}"
        case TaskChanged(task):
            return f"task {task.id}"
        case _:
            return None


class Rising:
    """Guards one call's progress: a value that does not rise is not told."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = float("-inf")

    def lets(self, notice: Notice) -> bool:
        if not isinstance(notice, Progress):
            return True
        if notice.progress <= self._last:
            return False
        self._last = notice.progress
        return True
