"""A new workspace reaches out to every server, so that the first call need not wait and nothing that is said is missed.

It is begun and never waited for: whoever needs a server meanwhile joins the attempt that is under way.

The one rule: a server that cannot be reached costs a line in the log, never the workspace (A-SES-06).
"""

from __future__ import annotations

import asyncio
import logging

from emceepee.errors import EmceepeeError
from emceepee.relay.reach import Reach
from emceepee.runtime.clock import Clock
from emceepee.sessions.session import label
from emceepee.sessions.workspace import Workspace
from emceepee.vocabulary.names import ServerName

_log = logging.getLogger("emceepee.relay")

_AT_ONCE = 32
"""Attempts of all workspaces together: a thousand clients that come back at the same moment must not start a thousand
programs in it."""


MOMENT = 0.01
"""Seconds. Ten servers reached in the turn of `initialize` made its answer five times as slow."""


class AutoConnect:
    def __init__(self, reach: Reach, clock: Clock) -> None:
        self._reach = reach
        self._clock = clock
        self._places = asyncio.Semaphore(_AT_ONCE)

    def begin(self, workspace: Workspace) -> None:
        if self._reach.registry.enabled():
            workspace.jobs.spawn(self._after_a_moment(workspace), "auto-connect")

    async def _after_a_moment(self, workspace: Workspace) -> None:
        """Whoever has just come is answered first; and who has gone again by then has cost nothing."""
        await self._clock.sleep(MOMENT)
        for definition in self._reach.registry.enabled():
            workspace.jobs.spawn(self._connect(definition.name, workspace), f"auto-connect {definition.name}")

    async def _connect(self, server: ServerName, workspace: Workspace) -> None:
        async with self._places:
            try:
                await self._reach.connection(server, workspace.scope)
            except EmceepeeError as fault:
                data = {"sessionId": label(workspace.scope), "server": server, "error": str(fault)}
                _log.warning("session_auto_connect_failed", extra={"data": data})
