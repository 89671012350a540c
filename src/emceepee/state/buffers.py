"""What servers said unasked, per server, newest kept: notifications and log lines.

The one rule: reading takes out what it returned and nothing else; what was pushed out unread is counted and told once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import Raw

from emceepee.runtime.clock import iso
from emceepee.vocabulary.names import LOG_LEVELS, LogLevel, ServerName, at_least
from emceepee.vocabulary.raw_json import read_value

LogSource: TypeAlias = Literal["protocol", "stderr", "gateway"]


@dataclass(slots=True, frozen=True)
class KeptNotification:
    server: ServerName
    timestamp: datetime
    method: str
    params: Raw | None = None

    def shown(self) -> dict[str, Any]:
        said: dict[str, Any] = {"server": self.server, "timestamp": iso(self.timestamp), "method": self.method}
        return said if self.params is None else said | {"params": self.params}


@dataclass(slots=True, frozen=True)
class KeptLog:
    server: ServerName
    timestamp: datetime
    level: LogLevel
    data: Raw | None = None
    logger: str | None = None
    source: LogSource = "protocol"

    @property
    def message(self) -> str:
        """The line as somebody reads it, whatever `data` is."""
        if self.data is None:
            return ""
        value = read_value(self.data)
        if isinstance(value, dict):
            value = next((value[key] for key in ("message", "msg", "text") if isinstance(value.get(key), str)), None)
        return value if isinstance(value, str) else bytes(self.data).decode()

    def shown(self) -> dict[str, Any]:
        said: dict[str, Any] = {
            "timestamp": iso(self.timestamp),
            "server": self.server,
            "level": self.level,
            "message": self.message,
            "source": self.source,
        }
        if self.logger is not None:
            said["logger"] = self.logger
        return said if self.data is None else said | {"data": self.data}


Item = TypeVar("Item", KeptNotification, KeptLog)


class _Ring(Generic[Item]):
    __slots__ = ("checked", "dropped", "items")

    def __init__(self) -> None:
        self.items: deque[tuple[int, Item]] = deque()
        self.dropped = 0
        self.checked = 0


@dataclass(slots=True, frozen=True)
class Taken(Generic[Item]):
    """What a read returned, in order of arrival; how many that fit are left; how many were pushed out unread."""

    items: list[Item]
    left: int
    dropped: int


class Buffers(Generic[Item]):
    """One ring a server, made when first needed."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rings: dict[ServerName, _Ring[Item]] = {}
        self._last = 0

    def __len__(self) -> int:
        return sum(len(ring.items) for ring in self._rings.values())

    def add(self, item: Item) -> None:
        ring = self._rings.get(item.server)
        if ring is None:
            ring = self._rings[item.server] = _Ring()
        if len(ring.items) >= self._limit:
            ring.items.popleft()
            ring.dropped += 1
        self._last += 1
        ring.items.append((self._last, item))

    def take(
        self,
        server: ServerName | None = None,
        fits: Callable[[Item], bool] = lambda item: True,
        limit: int | None = None,
    ) -> Taken[Item]:
        """The newest that fit, at most so many, in order of arrival; they are kept no longer."""
        rings = [ring for name, ring in self._rings.items() if server in (None, name)]
        fitting = sorted(
            (entry for ring in rings for entry in ring.items if fits(entry[1])), key=lambda entry: entry[0]
        )
        # Not [-limit:], which is everything for a limit of 0 (X-BUG-13).
        chosen = fitting[len(fitting) - limit :] if limit is not None and limit < len(fitting) else fitting
        gone = {number for number, _ in chosen}
        dropped = 0
        for ring in rings:
            if gone:
                ring.items = deque(entry for entry in ring.items if entry[0] not in gone)
            dropped, ring.dropped = dropped + ring.dropped, 0
        return Taken([item for _, item in chosen], len(fitting) - len(chosen), dropped)

    def new_since_check(self, server: ServerName) -> list[Item]:
        """What came since this was last asked; takes nothing out."""
        ring = self._rings.get(server)
        if ring is None:
            return []
        new = [item for number, item in ring.items if number > ring.checked]
        ring.checked = self._last
        return new

    @property
    def has_new(self) -> bool:
        """Whether anything came that no check has seen."""
        return any(ring.items and ring.items[-1][0] > ring.checked for ring in self._rings.values())

    def by_server(self) -> dict[ServerName, list[Item]]:
        """All that is kept, as a copy."""
        return {name: [item for _, item in ring.items] for name, ring in self._rings.items()}

    def clear(self, server: ServerName | None = None) -> None:
        if server is None:
            self._rings.clear()
        else:
            self._rings.pop(server, None)


def read_level(text: str) -> LogLevel | None:
    """A level as people write it; `warn` is one of them (X-CON-05)."""
    lowered = text.strip().lower()
    lowered = {"warn": "warning", "err": "error", "fatal": "critical", "trace": "debug"}.get(lowered, lowered)
    return next((level for level in LOG_LEVELS if level == lowered), None)


def is_at_least(minimum: LogLevel) -> Callable[[KeptLog], bool]:
    return lambda line: at_least(line.level, minimum)
