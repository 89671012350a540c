"""What is told without being asked: progress, log lines, changes.

The one rule: a notice carries no token, id or subscription of any connection; the side that writes it puts in its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from emceepee.vocabulary.names import LogLevel
from emceepee.vocabulary.raw_json import Fields

ListKind: TypeAlias = Literal["tools", "prompts", "resources"]


@dataclass(slots=True, frozen=True)
class Progress:
    """`params` without the token; `progress` is its number, kept to guard that values only rise."""

    progress: float
    params: Fields


@dataclass(slots=True, frozen=True)
class LogLine:
    level: LogLevel
    params: Fields


@dataclass(slots=True, frozen=True)
class ListChanged:
    kind: ListKind


@dataclass(slots=True, frozen=True)
class ResourceUpdated:
    uri: str
    params: Fields


@dataclass(slots=True, frozen=True)
class OtherNotice:
    """One whose method we do not know; relayed within an era that can say it, otherwise dropped."""

    method: str
    params: Fields


Notice: TypeAlias = Progress | LogLine | ListChanged | ResourceUpdated | OtherNotice


@dataclass(slots=True, frozen=True)
class Interest:
    """Which unasked notices somebody wants: kinds of list, and resources by URI."""

    lists: frozenset[ListKind] = frozenset()
    uris: frozenset[str] = frozenset()

    def __or__(self, other: Interest) -> Interest:
        return Interest(self.lists | other.lists, self.uris | other.uris)


NOTHING = Interest()
EVERY_LIST: frozenset[ListKind] = frozenset(("tools", "prompts", "resources"))
