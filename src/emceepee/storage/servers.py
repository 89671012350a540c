"""Implements `backends.kept_servers.ServerStore` over the state file.

A definition is written as JSON with its secrets, because without them it is of no use: the file is its user's alone.

The one rule: what cannot be read back (a newer gateway's kind of server) is left where it is and told.
"""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from emceepee.backends.definition import (
    CONNECT_TIMEOUT,
    Affinity,
    HttpEndpoint,
    InProcess,
    Launch,
    ServerDefinition,
    StdioLaunch,
)
from emceepee.storage.database import Database
from emceepee.vocabulary.names import ServerName

_log = logging.getLogger("emceepee.storage")

_KINDS: dict[str, type[StdioLaunch] | type[HttpEndpoint] | type[InProcess]] = {
    "stdio": StdioLaunch,
    "http": HttpEndpoint,
    "inProcess": InProcess,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


class _Written(msgspec.Struct, omit_defaults=True):
    kind: str
    launch: msgspec.Raw
    affinity: Affinity
    added_at: str
    added_by: str | None = None
    disabled: bool = False
    extras: dict[str, Any] = {}
    connect_timeout: float = CONNECT_TIMEOUT
    call_timeout: float | None = None


class SqliteServers:
    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, definition: ServerDefinition, added_at: str, added_by: str | None) -> None:
        written = _Written(
            kind=_NAMES[type(definition.launch)],
            launch=msgspec.Raw(msgspec.json.encode(definition.launch)),
            affinity=definition.affinity,
            added_at=added_at,
            added_by=added_by,
            disabled=definition.disabled,
            extras=dict(definition.extras),
            connect_timeout=definition.connect_timeout,
            call_timeout=definition.call_timeout,
        )
        body = msgspec.json.encode(written)
        self._database.write("INSERT OR REPLACE INTO server VALUES (?, ?)", (definition.name, body))

    def remove(self, name: ServerName) -> None:
        self._database.write("DELETE FROM server WHERE name = ?", (name,))

    def all(self) -> list[tuple[ServerDefinition, str, str | None]]:
        found = []
        for name, body in self._database.rows("SELECT name, body FROM server ORDER BY name"):
            try:
                written = msgspec.json.decode(body, type=_Written)
                found.append((_definition(name, written), written.added_at, written.added_by))
            except (msgspec.DecodeError, KeyError) as error:
                # Not the error's own words: they may hold a value.
                data = {"server": name, "error": type(error).__name__}
                _log.warning("state_server_unreadable", extra={"data": data})
        return found


def _definition(name: ServerName, written: _Written) -> ServerDefinition:
    launch: Launch = msgspec.json.decode(written.launch, type=_KINDS[written.kind])
    return ServerDefinition(
        name,
        launch,
        written.affinity,
        written.disabled,
        written.extras,
        written.connect_timeout,
        written.call_timeout,
    )
