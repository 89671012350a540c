"""Resources that the client of a workspace wants to hear of, said by our tools: what changes comes as an event.

It tells nobody itself: what a connection hears is told to the workspace of its scope (`relay.news`); this says to
servers that it is wished.

The one rule: a resource is named together with its server, and a wish ends with its workspace; it keeps none alive.
"""

from __future__ import annotations

import asyncio

from emceepee.errors import EmceepeeError, LimitReached
from emceepee.relay.reach import Reach
from emceepee.relay.watch import Standing, Watch
from emceepee.vocabulary.names import Scope, ServerName
from emceepee.vocabulary.notices import NOTHING, Interest, Notice

MAX_SERVERS = 200
"""Servers of one workspace that something is wished of."""


class Subscriptions:
    def __init__(self, watch: Watch, reach: Reach) -> None:
        self._watch = watch
        self._reach = reach
        self._standings: dict[Scope, dict[ServerName, Standing]] = {}
        self._turn = asyncio.Lock()

    def of(self, scope: Scope) -> list[tuple[ServerName, str]]:
        """What is wished there, by server."""
        standings = self._standings.get(scope, {})
        return [(server, uri) for server, one in standings.items() for uri in sorted(one.owners)]

    async def add(self, scope: Scope, server: ServerName, uri: str) -> None:
        """Raises `ClientFault` where the server does not tell of it, and what reaching it raises."""
        await self._reach.connection(server, scope)
        async with self._turn:
            standing = await self._standing(scope, server)
            try:
                await self._watch.change(standing, Interest(uris=frozenset((*standing.owners, uri))))
            except EmceepeeError:
                await self._drop_if_idle(scope, server, standing)
                raise

    async def remove(self, scope: Scope, server: ServerName, uri: str) -> bool:
        """Whether it was wished."""
        async with self._turn:
            standing = self._standings.get(scope, {}).get(server)
            if standing is None or standing.closed or uri not in standing.owners:
                return False
            await self._watch.change(standing, Interest(uris=frozenset(standing.owners) - {uri}))
            await self._drop_if_idle(scope, server, standing)
            return True

    async def _standing(self, scope: Scope, server: ServerName) -> Standing:
        standings = self._standings.setdefault(scope, {})
        found = standings.get(server)
        if found is not None and not found.closed:
            return found
        if len(standings) >= MAX_SERVERS:
            raise LimitReached("servers with subscriptions in one workspace", MAX_SERVERS)

        async def itself(uri: str) -> ServerName | None:
            return server

        made = Standing(self._watch, scope, server, _heard_elsewhere, itself, passive=True)
        standings[server] = await self._watch.listen(made, NOTHING)
        return made

    async def _drop_if_idle(self, scope: Scope, server: ServerName, standing: Standing) -> None:
        if not standing.owners:
            standings = self._standings.get(scope, {})
            standings.pop(server, None)
            if not standings:
                self._standings.pop(scope, None)
            await standing.close()

    def forget(self, scope: Scope) -> None:
        """The workspace is over; the watch forgets its listeners."""
        self._standings.pop(scope, None)


def _heard_elsewhere(notice: Notice) -> None:
    """The workspace is told of everything that comes over its connections."""
