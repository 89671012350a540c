"""Servers that were added while the gateway ran, beyond that run.

What a configuration file names is the file's: it is read anew each time, and is never written here.

The one rule: whoever keeps them gives back exactly what was added, secrets and all, and shows it to nobody.
"""

from __future__ import annotations

from typing import Protocol

from emceepee.backends.definition import ServerDefinition
from emceepee.vocabulary.names import ServerName


class ServerStore(Protocol):
    """Nothing raises: what cannot be written is told in the log, and lost with the process."""

    def put(self, definition: ServerDefinition, added_at: str, added_by: str | None) -> None: ...

    def remove(self, name: ServerName) -> None:
        """An unknown one is fine."""
        ...

    def all(self) -> list[tuple[ServerDefinition, str, str | None]]:
        """Each with when and by whom (a label) it was added, by name."""
        ...


class InMemoryServers:
    """For as long as somebody holds on to it: the twin by which a restart can be tried without a file."""

    def __init__(self) -> None:
        self._servers: dict[ServerName, tuple[ServerDefinition, str, str | None]] = {}

    def put(self, definition: ServerDefinition, added_at: str, added_by: str | None) -> None:
        self._servers[definition.name] = definition, added_at, added_by

    def remove(self, name: ServerName) -> None:
        self._servers.pop(name, None)

    def all(self) -> list[tuple[ServerDefinition, str, str | None]]:
        return [self._servers[name] for name in sorted(self._servers)]
