"""What one call hears while it waits, turned from wire notices into the words of the house.

The one rule: changes (lists, resources) belong to the connection and never to a call, whichever stream brought them;
progress and log lines belong to the call whose stream or token they came with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Raw

from emceepee.backends.connection import OnNotice
from emceepee.vocabulary.notices import ListChanged, Notice, Progress, ResourceUpdated

ReadNotice: TypeAlias = Callable[[str, Raw | None], Notice | None]
ReadProgress: TypeAlias = Callable[[Raw], Progress | None]

_NEVER = float("-inf")


class CallHearing:
    """Implements `conversation.Hearing` for one call."""

    __slots__ = ("_changed", "_last", "_on_notice", "_read_notice", "_read_progress")
    takes_logs = True

    def __init__(
        self, on_notice: OnNotice, changed: OnNotice, read_notice: ReadNotice, read_progress: ReadProgress
    ) -> None:
        self._on_notice = on_notice
        self._changed = changed
        self._read_notice = read_notice
        self._read_progress = read_progress
        self._last = _NEVER

    def progress(self, params: Raw) -> None:
        progress = self._read_progress(params)
        # Values must rise; a server that repeats itself would make us break the rule towards the client.
        if progress is not None and progress.progress > self._last:
            self._last = progress.progress
            self._on_notice(progress)

    def told(self, method: str, params: Raw | None) -> None:
        notice = self._read_notice(method, params)
        if isinstance(notice, ListChanged | ResourceUpdated):
            self._changed(notice)
        elif notice is not None:
            self._on_notice(notice)
