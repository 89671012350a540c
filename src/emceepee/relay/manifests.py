"""What each server listed when it was last seen, for whoever comes while it is away; beyond this run, where there is a
place to keep it.

It is not a cache: what is in here is old by definition and is shown with its age. Lists that a server may make for one
session only (resources of a server with sessions) are never shown to another.

The one rule: what one definition listed is never shown for another, also when both have the same name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec
from msgspec import Raw

from emceepee.backends.catalogue import Listed, ListName, make_listed
from emceepee.backends.definition import ServerDefinition, fingerprint
from emceepee.runtime.clock import Clock
from emceepee.vocabulary.names import ServerName

_log = logging.getLogger("emceepee.relay")

WRITTEN_EVERY = 600.0
"""Seconds after which a list that did not change is written again, for its age."""


class ManifestStore(Protocol):
    """Bytes under names. Nothing raises: what cannot be written is lost with the process."""

    def get(self, name: str) -> bytes | None: ...

    def put(self, name: str, body: bytes) -> bool: ...

    def remove(self, name: str) -> None: ...


class _Written(msgspec.Struct):
    """`at` is seconds since the epoch."""

    of: str
    at: float
    items: list[Raw]
    extras: dict[str, Raw]
    truncated: bool = False


@dataclass(slots=True)
class _Manifest:
    of: str
    at: float
    listed: Listed
    written: float = float("-inf")


Find = Callable[[ServerName], ServerDefinition | None]


class Manifests:
    def __init__(self, find: Find, clock: Clock, grace: float) -> None:
        """`find` gives the current definition of a name. After `grace` seconds what was seen is shown no more."""
        self._find = find
        self._clock = clock
        self._grace = grace
        self._kept: dict[tuple[ServerName, ListName], _Manifest | None] = {}
        self._prints: dict[ServerName, tuple[ServerDefinition, str]] = {}
        self._store: ManifestStore | None = None

    def keep_in(self, store: ManifestStore) -> None:
        """Also there, from now on."""
        self._store = store
        self._kept.clear()

    def _print(self, definition: ServerDefinition) -> str:
        """Kept, because a list is asked for more often than a definition changes."""
        known = self._prints.get(definition.name)
        if known is None or known[0] is not definition:
            known = self._prints[definition.name] = (definition, fingerprint(definition))
        return known[1]

    def _now(self) -> float:
        return self._clock.wall().timestamp()

    def seen(self, server: ServerName, listed: Listed, for_everyone: bool) -> None:
        """A server has listed this just now."""
        definition = self._find(server)
        if definition is None or not (for_everyone or listed.name not in ("resources", "templates")):
            return
        key, of, now = (server, listed.name), self._print(definition), self._now()
        before = self._kept.get(key)
        manifest = self._kept[key] = _Manifest(of, now, listed)
        same = before is not None and before.of == of and before.listed.digest == listed.digest
        if before is not None and same and now - before.written < WRITTEN_EVERY:
            manifest.written = before.written
        elif self._store is not None:
            manifest.written = now
            written = _Written(of, now, list(listed.items), dict(listed.extras), listed.truncated)
            self._store.put(_place(key), msgspec.json.encode(written))

    def known(self, server: ServerName, name: ListName) -> tuple[Listed, float] | None:
        """What it listed last and how many seconds ago, if that is not too long."""
        definition = self._find(server)
        if definition is None:
            return None
        key = server, name
        if key not in self._kept:
            self._kept[key] = self._recalled(key)
        manifest = self._kept[key]
        if manifest is None or manifest.of != self._print(definition):
            return None
        age = max(0.0, self._now() - manifest.at)
        return (manifest.listed, age) if age <= self._grace else None

    def _recalled(self, key: tuple[ServerName, ListName]) -> _Manifest | None:
        body = None if self._store is None else self._store.get(_place(key))
        if body is None:
            return None
        try:
            written = msgspec.json.decode(body, type=_Written)
        except msgspec.DecodeError:
            _log.warning("manifest_unreadable", extra={"data": {"server": key[0], "list": key[1]}})
            return None
        listed = make_listed(key[1], written.items, written.extras, None, truncated=written.truncated)
        return _Manifest(written.of, written.at, listed, written.at)

    def forget(self, server: ServerName) -> None:
        """It is gone, or another one now."""
        self._prints.pop(server, None)
        for name in ("tools", "prompts", "resources", "templates"):
            self._kept.pop((server, name), None)
            if self._store is not None:
                self._store.remove(_place((server, name)))


def _place(key: tuple[ServerName, str]) -> str:
    return f"{key[0]}/{key[1]}"
