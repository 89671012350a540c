"""Which servers there are: one shared list for the whole gateway, changed while it runs.

It is not the pool: it connects nothing and closes nothing. Whoever must act on a change watches, and is told
synchronously, after the list has changed and before `add` or `remove` returns.

The one rule: what is in here is usable (its name, URL and command were checked, it is not the gateway itself) and is
never handed out together with who put it there except as a short label that cannot be turned back (X-BUG-47).
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from emceepee.backends.definition import HttpEndpoint, ServerDefinition, problems_with
from emceepee.backends.kept_servers import ServerStore
from emceepee.backends.own_address import OwnAddresses
from emceepee.errors import ClientFault, LimitReached
from emceepee.runtime.clock import Clock, iso
from emceepee.vocabulary.names import Scope, ServerName, scope_label

_log = logging.getLogger("emceepee.backends")

MAX_SERVERS = 200
_INVALID_PARAMS = -32602

Added: TypeAlias = Literal["new", "updated", "same"]


@dataclass(slots=True, frozen=True)
class Entry:
    """A server as it stands in the list. `added_by` is a label, absent for what a configuration file brought."""

    definition: ServerDefinition
    added_at: str
    added_by: str | None = None

    def describe(self) -> dict[str, Any]:
        """The seeds' config entry: `name`, `url`, `addedAt`, optional `addedBy`, and how it is reached."""
        shown = self.definition.describe() | {"addedAt": self.added_at}
        return shown | ({"addedBy": self.added_by} if self.added_by else {})


@dataclass(slots=True, frozen=True)
class Change:
    """What happened to one name. `previous` is what connections may still be using."""

    kind: Literal["added", "updated", "removed"]
    entry: Entry
    previous: ServerDefinition | None = None
    by: str | None = None

    @property
    def name(self) -> ServerName:
        return self.entry.definition.name


Watcher: TypeAlias = Callable[[Change], None]
"""Called at once and in order; returns at once and never raises."""


class Registry:
    def __init__(self, clock: Clock, *, limit: int = MAX_SERVERS, own: Iterable[str] = ()) -> None:
        self._clock = clock
        self._limit = limit
        self._own = OwnAddresses(socket.gethostname())
        self._entries: dict[ServerName, Entry] = {}
        self._configured: dict[ServerName, ServerDefinition] = {}
        self._watchers: list[Watcher] = []
        self._kept: ServerStore | None = None
        for address in own:
            self.listening_on(address)

    def listening_on(self, address: str) -> None:
        """`host:port` of a listener of ours, which no server may point to from now on."""
        self._own.add(address)

    def refusal(self, definition: ServerDefinition) -> tuple[str, str] | None:
        """The field and the sentence for which `add` would refuse it; the limit aside."""
        if problems := problems_with(definition):
            return problems[0]
        if isinstance(definition.launch, HttpEndpoint) and self._own.includes(definition.launch.url):
            return "url", "the URL is this gateway itself; a server cannot be reached through its own gateway"
        return None

    def restore(self, kept: ServerStore) -> None:
        """Have those that were added in earlier runs, and keep there what is added from now on. A name that the
        configuration has meanwhile is its own: whoever takes it out of the file does not find the older one there."""
        for definition, added_at, added_by in kept.all():
            name = definition.name
            if problem := self._no_room_for(definition):
                _log.warning("server_not_restored", extra={"data": {"server": name, "reason": problem}})
            else:
                self._entries[name] = Entry(definition, added_at, added_by)
                _log.info("server_restored", extra={"data": {"server": name, "url": definition.address}})
            if name in self._configured:
                kept.remove(name)
        self._kept = kept

    def _no_room_for(self, definition: ServerDefinition) -> str | None:
        if definition.name in self._entries:
            return "the configuration names another server like that"
        if refusal := self.refusal(definition):
            return refusal[1]
        return f"there are {self._limit} servers already (max_servers)" if len(self) >= self._limit else None

    def add(self, definition: ServerDefinition, by: Scope | None = None) -> Added:
        """Store it, replacing what had its name. Raises `ClientFault` for a definition nobody could use, and
        `LimitReached`. An equal definition changes nothing, not even when it was added. Without `by` it comes from the
        configuration."""
        if problem := self.refusal(definition):
            field, what = problem
            raise ClientFault(_INVALID_PARAMS, f"Invalid server definition: {what}", {"field": field, "reason": what})
        name = definition.name
        known = self._entries.get(name)
        if known is None and len(self._entries) >= self._limit:
            raise LimitReached("servers (max_servers)", self._limit)
        if known is not None and known.definition == definition:
            return "same"
        label = scope_label(by) if by else None
        entry = Entry(definition, iso(self._clock.wall()), label)
        self._entries[name] = entry
        self._keep(entry, by)
        event = "server_config_updated" if known else "server_config_added"
        data = {"server": name, "url": definition.address} | ({"addedBy": label} if label else {})
        _log.info(event, extra={"data": data})
        self._tell(Change("updated" if known else "added", entry, known.definition if known else None, label))
        return "updated" if known else "new"

    def remove(self, name: ServerName, by: Scope | None = None) -> bool:
        """Whether there was such a server. Removing an unknown name is no event."""
        entry = self._entries.pop(name, None)
        if entry is None:
            return False
        if by is None:
            self._configured.pop(name, None)
        if self._kept is not None:
            self._kept.remove(name)
        _log.info("server_config_removed", extra={"data": {"server": name}})
        self._tell(Change("removed", entry, entry.definition, scope_label(by) if by else None))
        return True

    def _keep(self, entry: Entry, by: Scope | None) -> None:
        name = entry.definition.name
        if by is None:
            self._configured[name] = entry.definition
        elif self._kept is None:
            return
        elif self._configured.get(name) == entry.definition:
            self._kept.remove(name)
        else:
            self._kept.put(entry.definition, entry.added_at, entry.added_by)

    def has(self, name: ServerName) -> bool:
        return name in self._entries

    def get(self, name: ServerName) -> ServerDefinition | None:
        entry = self._entries.get(name)
        return entry.definition if entry else None

    def entry(self, name: ServerName) -> Entry | None:
        return self._entries.get(name)

    def list(self) -> tuple[ServerDefinition, ...]:
        """All of them, disabled ones too, in the order they were first added."""
        return tuple(entry.definition for entry in self._entries.values())

    def enabled(self) -> tuple[ServerDefinition, ...]:
        """Those that may be connected."""
        return tuple(entry.definition for entry in self._entries.values() if not entry.definition.disabled)

    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Be told of every change from now on; the returned function ends that."""
        self._watchers.append(watcher)

        def unwatch() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return unwatch

    def _tell(self, change: Change) -> None:
        for watcher in tuple(self._watchers):
            watcher(change)
