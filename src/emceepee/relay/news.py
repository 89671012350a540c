"""What servers do, told to the workspaces it concerns: connected, lost, removed, and what they say unasked.

It makes no workspace: whoever never used the meta-tools has none, and is told by other means.

The one rule: what happens on one scope's connection is told to that scope only; what happens to the list of servers, to
all.
"""

from __future__ import annotations

import logging
from typing import Any

from emceepee.backends.connection import Connection
from emceepee.backends.recovery import Reconnection
from emceepee.sessions.session import label
from emceepee.sessions.workspaces import Workspaces
from emceepee.vocabulary.names import Scope, ServerName
from emceepee.vocabulary.notices import ListChanged, LogLine, Notice, OtherNotice, Progress, ResourceUpdated
from emceepee.vocabulary.raw_json import read_text, to_raw

_log = logging.getLogger("emceepee.relay")


class News:
    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    def connected(self, connection: Connection) -> None:
        """For the first time."""
        _log.info("session_server_connected", extra={"data": _of(connection.server, connection.scope)})
        workspace = self._workspaces.find(connection.scope)
        if workspace is not None:
            data = {"name": connection.server, "capabilities": connection.about.capabilities}
            workspace.record("server_connected", connection.server, data)

    def reconnected(self, connection: Connection, again: Reconnection, counts: dict[str, Any]) -> None:
        workspace = self._workspaces.find(connection.scope)
        if workspace is not None:
            told = {"name": connection.server, "type": again.kind, "previous": again.previous.shown()}
            workspace.record("server_reconnected", connection.server, told | counts)

    def failed(self, server: ServerName, scope: Scope, error: str) -> None:
        """It could not be connected."""
        _log.warning("session_server_connect_failed", extra={"data": _of(server, scope) | {"error": error}})

    def lost(self, server: ServerName, scope: Scope, why: str | None = None, others: bool = False) -> None:
        """Not for what we closed ourselves. `others` as `Workspace.disconnected`."""
        _log.info("session_server_disconnected", extra={"data": _of(server, scope)})
        workspace = self._workspaces.find(scope)
        if workspace is not None:
            workspace.disconnected(server, why, others)

    def added(self, server: ServerName, url: str, by: Scope | None, replaced: bool) -> None:
        """Connected for the first time, under a new name, or anew at another address (X-BUG-46)."""
        if replaced:
            self._workspaces.server_removed(server, None)
        self._workspaces.server_added(server, url, by)

    def removed(self, server: ServerName, by: str | None) -> None:
        self._workspaces.server_removed(server, by)

    def changed(self, server: ServerName) -> None:
        """Its connections are closed because it is another one now: what they carried is lost."""
        for scope in self._workspaces.scopes():
            workspace = self._workspaces.find(scope)
            if workspace is not None:
                workspace.removed(server)

    def told(self, server: ServerName, scope: Scope, notice: Notice) -> None:
        workspace = self._workspaces.find(scope)
        if workspace is None:
            return
        match notice:
            case LogLine(level=level, params=params):
                workspace.logged(server, level, params.get("data"), read_text(params.get("logger")), "protocol")
            case ListChanged(kind=kind):
                workspace.heard(server, f"notifications/{kind}/list_changed", None)
            case ResourceUpdated(uri=uri, params=params):
                workspace.heard(server, "notifications/resources/updated", to_raw(params | {"uri": to_raw(uri)}))
            case OtherNotice(method=method, params=params):
                workspace.heard(server, method, to_raw(params) if params else None)
            case Progress():
                # Merged per token on its way to whoever asked; it would push everything else out (X-GAP-17).
                pass

    def health(self, server: ServerName, scope: Scope, why: str | None) -> None:
        """It is connected and does not answer our probes (why), or does again (None)."""
        workspace = self._workspaces.find(scope)
        if workspace is not None:
            line = "it answers again" if why is None else f"it is connected and does not answer: {why}"
            workspace.logged(server, "info" if why is None else "warning", to_raw(line), None, "gateway")

    def said(self, server: ServerName, scope: Scope, line: str) -> None:
        """On its standard error, where nobody says how grave it is."""
        workspace = self._workspaces.find(scope)
        if workspace is not None:
            workspace.logged(server, "info", to_raw(line), None, "stderr")


def _of(server: ServerName, scope: Scope) -> dict[str, Any]:
    return {"sessionId": label(scope), "server": server}
