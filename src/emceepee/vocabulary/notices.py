"""What is told without being asked: progress, log lines, changes.

The one rule: a notice carries no token, id or subscription of any connection; the side that writes it puts in its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from emceepee.vocabulary.names import LogLevel
from emceepee.vocabulary.raw_json import Fields
from emceepee.vocabulary.tasks import Task

ListKind: TypeAlias = Literal["tools", "prompts", "resources"]


@dataclass(slots=True, frozen=True)
class Progress:
    """`params` without the token; `progress` is its number, kept to guard that values only rise."""

    progress: float
    params: Fields


@dataclass(slots=True, frozen=True)
class LogLine:
    """`tells` for one that says what happened in a workspace: it goes only where it can be shown again, and whoever
    puts it there calls this."""

    level: LogLevel
    params: Fields
    tells: Callable[[], None] | None = None


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


@dataclass(slots=True, frozen=True)
class TaskChanged:
    """A task of ours, as it stands now; told to whoever follows it."""

    task: Task


@dataclass(slots=True, frozen=True)
class MadeTask:
    """The server has made a task of its own of this call, or tells how that stands. It is for whoever carries the call,
    who goes on waiting for the outcome, and never for a client."""

    message: str | None = None
    ttl_ms: int | None = None
    asks: Fields = field(default_factory=dict)
    answer: Callable[[Fields], Awaitable[None]] | None = None
    """Takes the answers to what it asks. Raises `errors.BackendFault`."""


Notice: TypeAlias = Progress | LogLine | ListChanged | ResourceUpdated | OtherNotice | TaskChanged | MadeTask


@dataclass(slots=True, frozen=True)
class Interest:
    """Which unasked notices somebody wants: kinds of list, resources by URI, tasks of ours by id."""

    lists: frozenset[ListKind] = frozenset()
    uris: frozenset[str] = frozenset()
    tasks: frozenset[str] = frozenset()

    def __or__(self, other: Interest) -> Interest:
        return Interest(self.lists | other.lists, self.uris | other.uris, self.tasks | other.tasks)


NOTHING = Interest()
EVERY_LIST: frozenset[ListKind] = frozenset(("tools", "prompts", "resources"))
