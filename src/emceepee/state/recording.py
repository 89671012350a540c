"""How a table tells the log of its workspace what happened: the words both sides agree on.

The one rule: a table writes events only through the `Record` it was given, so it can write into no other workspace.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from emceepee.state.events import EventType
from emceepee.vocabulary.names import ServerName


@dataclass(slots=True, frozen=True)
class Moment:
    """One reading of both clocks: `at` for deadlines, `wall` for people."""

    at: float
    wall: datetime

    def after(self, at: float) -> datetime:
        """What people call a moment that a deadline names."""
        return self.wall + timedelta(seconds=at - self.at)


class Record(Protocol):
    def __call__(
        self, kind: EventType, server: ServerName, data: dict[str, Any], about: str | None = None
    ) -> object: ...


def unheard(kind: EventType, server: ServerName, data: dict[str, Any], about: str | None = None) -> None:
    """The `Record` of a table whose workspace is over: nobody is told, and the workspace is not held on to."""
