"""What one call hears while it waits, turned from wire notices into the words of the house.

The one rule: changes (lists, resources) belong to the connection and never to a call, whichever stream brought them;
progress and log lines belong to the call whose stream or token they came with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec
from msgspec import Raw

from emceepee.backends.connection import OnNotice
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.notices import ListChanged, Notice, Progress, ResourceUpdated

ReadNotice: TypeAlias = Callable[[str, Raw | None], Notice | None]
ReadProgress: TypeAlias = Callable[[Raw], Progress | None]


class CallHearing(msgspec.Struct, eq=False):
    """Implements `conversation.Hearing` for one call."""

    _on_notice: OnNotice
    _changed: OnNotice
    _read_notice: ReadNotice
    _read_progress: ReadProgress
    _last: float = float("-inf")
    takes_logs: bool = True
    seen: str | None = None
    call: Call | None = None

    def progress(self, params: Raw) -> None:
        progress = self._read_progress(params)
        # Values must rise; a server that repeats itself would make us break the rule towards the client.
        if progress is not None and progress.progress > self._last:
            self._last = progress.progress
            self.seen = f"progress {self._last:g}"
            self._on_notice(progress)

    def told(self, method: str, params: Raw | None) -> None:
        notice = self._read_notice(method, params)
        if isinstance(notice, ListChanged | ResourceUpdated):
            self._changed(notice)
        elif notice is not None:
            self.seen = method
            self._on_notice(notice)
