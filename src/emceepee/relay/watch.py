"""Who wants to be told of what, per scope; and the telling.

A scope's listeners add up to one wish per server, which is kept on the scope's own connection; what comes unasked on
that connection goes to that scope's listeners only, each by its own interest.

The one rule: a notice never crosses from one scope to another, and a wish is withdrawn from a server when the last
listener of the scope that had it is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec import Raw

from emceepee.errors import BackendFault, ClientFault, EmceepeeError, LimitReached
from emceepee.relay.ports import Connection
from emceepee.relay.settings import RelaySettings
from emceepee.relay.surface import OnNotice
from emceepee.runtime.spawn import TaskScope
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.names import LogLevel, Scope, ServerName, at_least
from emceepee.vocabulary.notices import (
    EVERY_LIST,
    NOTHING,
    Interest,
    ListChanged,
    ListKind,
    LogLine,
    MadeTask,
    Notice,
    OtherNotice,
    Progress,
    ResourceUpdated,
    TaskChanged,
)
from emceepee.vocabulary.raw_json import NotThatShape, read_fields

_log = logging.getLogger("emceepee.relay")
_INVALID_PARAMS = -32602
_LISTS = Interest(EVERY_LIST)

OwnerOf: TypeAlias = Callable[[str], Awaitable[ServerName | None]]
"""Which server a resource belongs to, or None when nobody has it."""

OnListChanged: TypeAlias = Callable[[ServerName, Scope, ListKind], None]
OnTold: TypeAlias = Callable[[ServerName, Scope, Notice], None]
"""Hears everything that comes unasked, whoever listens to it."""


@dataclass(slots=True, eq=False)
class Standing:
    """One listener. `server` None means all of them; `owners` says at which server each wished resource is."""

    watch: Watch
    scope: Scope
    server: ServerName | None
    on_notice: OnNotice
    owner_of: OwnerOf
    lists: frozenset[ListKind] = frozenset()
    owners: dict[str, ServerName] = field(default_factory=dict)
    refused_lists: frozenset[ListKind] = frozenset()
    closed: bool = False
    passive: bool = False
    """Nobody waits behind it, so it keeps nothing alive."""

    @property
    def honoured(self) -> Interest:
        return Interest(self.lists - self.refused_lists, frozenset(self.owners))

    def hears(self, server: ServerName) -> bool:
        return not self.closed and self.server in (None, server)

    def at(self, server: ServerName) -> Interest:
        """What it wishes of one server."""
        if not self.hears(server):
            return NOTHING
        return Interest(self.lists, frozenset(uri for uri, owner in self.owners.items() if owner == server))

    async def change(self, interest: Interest) -> None:
        await self.watch.change(self, interest)

    async def close(self) -> None:
        await self.watch.close(self)


@dataclass(slots=True, eq=False)
class _Seen:
    """A connection we have been introduced to, and what its server agreed to tell. What is wished is said on the first
    one of its scope; those `beside` it, for calls that can be asked something else, are only heard."""

    connection: Connection
    beside: list[Connection] = field(default_factory=list)
    said: Interest = NOTHING
    honoured: Interest = NOTHING
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Watch:
    def __init__(self, tasks: TaskScope, settings: RelaySettings) -> None:
        self.on_list_changed: OnListChanged = lambda server, scope, kind: None
        self.on_told: OnTold = lambda server, scope, notice: None
        self.has_tools: Callable[[Scope], bool] = lambda scope: False
        """Whether a scope's client is told by our tools of what its servers say unasked; then that is its wish."""
        self._tasks = tasks
        self._settings = settings
        self._standings: dict[Scope, list[Standing]] = {}
        self._seen: dict[Scope, dict[ServerName, _Seen]] = {}
        self._levels: dict[Scope, LogLevel] = {}

    def __len__(self) -> int:
        """Listeners, over all scopes."""
        return sum(map(len, self._standings.values()))

    def watched(self, server: ServerName, scope: Scope, kind: ListKind) -> bool:
        """Whether this server tells this scope of such changes."""
        seen = self._seen.get(scope, {}).get(server)
        return seen is not None and kind in seen.honoured.lists

    # -- connections

    def greet(self, server: ServerName, scope: Scope, connection: Connection) -> None:
        """A connection seen for the first time: hear it, and say what this scope wishes of it."""
        connection.on_notice = lambda notice: self.told(server, scope, notice)
        first = self._seen.setdefault(scope, {}).setdefault(server, _Seen(connection))
        if first.connection is not connection:
            first.beside.append(connection)
            if scope in self._levels:
                self._tasks.spawn(self._quietly(connection, self._levels[scope]), f"level {server}")
            return
        if scope in self._levels or self._wish(server, scope) != NOTHING:
            self._tasks.spawn(self._introduce(server, scope), f"introduce {server}")

    async def _introduce(self, server: ServerName, scope: Scope) -> None:
        try:
            level = self._levels.get(scope)
            seen = self._seen.get(scope, {}).get(server)
            if level is not None and seen is not None and seen.connection.about.offers("logging"):
                await seen.connection.set_log_level(level)
            await self._say(server, scope)
        except EmceepeeError as fault:
            _log.warning("wish_not_delivered", extra={"data": {"server": server, "error": str(fault)}})

    async def _quietly(self, connection: Connection, level: LogLevel) -> None:
        if connection.about.offers("logging"):
            with contextlib.suppress(BackendFault):
                await connection.set_log_level(level)

    async def _say(self, server: ServerName, scope: Scope) -> Interest | None:
        """Tell the server what the scope wishes now; None when there is no connection. One at a time, so that the last
        one said is the whole truth."""
        seen = self._seen.get(scope, {}).get(server)
        if seen is None:
            return None
        async with seen.turn:
            wish = self._wish(server, scope)
            if wish != NOTHING or seen.said != NOTHING:
                seen.said = wish
                honoured = await seen.connection.want(wish)
                seen.honoured = Interest(honoured.lists & _promised(seen.connection.about), honoured.uris)
        return seen.honoured

    def _wish(self, server: ServerName, scope: Scope) -> Interest:
        wish = self._listeners_wish(server, scope)
        return wish | _LISTS if self.has_tools(scope) else wish

    def wish_again(self, scope: Scope) -> None:
        """It has tools from now on: its servers are to know."""
        for server in self._seen.get(scope, {}):
            self._tasks.spawn(self._introduce(server, scope), f"introduce {server}")

    def _listeners_wish(self, server: ServerName, scope: Scope) -> Interest:
        wish = NOTHING
        for standing in self._standings.get(scope, ()):
            wish = wish | standing.at(server)
        return wish

    # -- listeners

    async def listen(self, standing: Standing, interest: Interest) -> Standing:
        """Register a listener. Its first wish is granted as far as possible and never refused: see `honoured`."""
        at_scope = self._standings.setdefault(standing.scope, [])
        if len(at_scope) >= self._settings.max_listeners:
            raise LimitReached("listeners of one session (max_listeners)", self._settings.max_listeners)
        self._check_size(interest)
        at_scope.append(standing)
        try:
            await self._grant(standing, interest)
        except BaseException:
            # Whoever stopped waiting never got it, so nobody else could close it.
            await self.close(standing)
            raise
        return standing

    async def _grant(self, standing: Standing, interest: Interest) -> None:
        standing.lists = interest.lists
        for uri in sorted(interest.uris):
            owner = await standing.owner_of(uri)
            if owner is not None:
                standing.owners[uri] = owner
        for server in self._concerned(standing):
            await self._say_leniently(server, standing)
        self._note_refused_lists(standing)

    async def _say_leniently(self, server: ServerName, standing: Standing) -> None:
        try:
            honoured = await self._say(server, standing.scope)
        except BackendFault as fault:
            honoured = NOTHING
            _log.warning("wish_not_delivered", extra={"data": {"server": server, "error": str(fault)}})
        granted = honoured.uris if honoured is not None else frozenset[str]()
        standing.owners = {uri: at for uri, at in standing.owners.items() if at != server or uri in granted}

    def _note_refused_lists(self, standing: Standing) -> None:
        """One server that will not tell is a fact; of all servers together nobody knows what the next one can."""
        if standing.server is not None and (seen := self._seen.get(standing.scope, {}).get(standing.server)):
            standing.refused_lists = standing.lists - seen.honoured.lists

    async def change(self, standing: Standing, interest: Interest) -> None:
        """Replace a wish, whole or not at all. Raises `ClientFault` for a resource that nobody has or that its server
        will not tell about, and `BackendFault`."""
        self._check_size(interest)
        owners = {uri: at for uri, at in standing.owners.items() if uri in interest.uris}
        new = interest.uris - owners.keys()
        for uri in sorted(new):
            owners[uri] = await self._owner(standing, uri)
        before = standing.lists, standing.owners
        concerned = {*self._concerned(standing), *owners.values()}
        standing.lists, standing.owners = interest.lists, owners
        try:
            await self._say_all(standing, concerned, new)
        except EmceepeeError:
            standing.lists, standing.owners = before
            for server in concerned:
                self._tasks.spawn(self._introduce(server, standing.scope), f"take back {server}")
            raise
        self._note_refused_lists(standing)

    async def _owner(self, standing: Standing, uri: str) -> ServerName:
        owner = await standing.owner_of(uri)
        if owner is None:
            raise ClientFault(_INVALID_PARAMS, f"Resource '{uri}' not found: no server has it", {"uri": uri})
        return owner

    async def _say_all(self, standing: Standing, servers: Iterable[ServerName], new: frozenset[str]) -> None:
        for server in sorted(servers):
            honoured = await self._say(server, standing.scope)
            granted = honoured.uris if honoured is not None else frozenset[str]()
            for uri in sorted(new - granted):
                if standing.owners.get(uri) == server:
                    raise ClientFault(
                        _INVALID_PARAMS, f"Server '{server}' does not tell of changes to '{uri}'", {"uri": uri}
                    )

    def listens(self, scope: Scope) -> bool:
        return any(not standing.passive for standing in self._standings.get(scope, ()))

    async def close(self, standing: Standing) -> None:
        if standing.closed:
            return
        concerned = self._concerned(standing)
        standing.closed = True
        # Whoever hears through it holds it.
        standing.on_notice = _nobody_hears
        self._leave(standing)
        for server in concerned:
            self._tasks.spawn(self._introduce(server, standing.scope), f"withdraw {server}")

    def _leave(self, standing: Standing) -> None:
        left = [other for other in self._standings.get(standing.scope, ()) if other is not standing]
        if left:
            self._standings[standing.scope] = left
        else:
            self._standings.pop(standing.scope, None)

    def _concerned(self, standing: Standing) -> list[ServerName]:
        """The servers that are connected and that this listener hears."""
        return [server for server in self._seen.get(standing.scope, {}) if standing.hears(server)]

    def _check_size(self, interest: Interest) -> None:
        if len(interest.uris) > self._settings.max_uris:
            raise LimitReached("resources in one wish (max_uris)", self._settings.max_uris)

    # -- log levels

    async def set_log_level(self, scope: Scope, level: LogLevel, server: ServerName | None = None) -> None:
        """For this scope's connections, those to come as well. Raises `BackendFault` when it is one server's
        refusal."""
        self._levels[scope] = level
        for name, seen in list(self._seen.get(scope, {}).items()):
            for beside in seen.beside if server in (None, name) else ():
                await self._quietly(beside, level)
            if server in (None, name) and seen.connection.about.offers("logging"):
                try:
                    await seen.connection.set_log_level(level)
                except BackendFault:
                    if server is not None:
                        raise

    # -- telling

    def told(self, server: ServerName, scope: Scope, notice: Notice) -> None:
        """From a connection, unasked."""
        if isinstance(notice, ListChanged):
            self.on_list_changed(server, scope, notice.kind)
        self.on_told(server, scope, notice)
        if isinstance(notice, LogLine) and not self._wants_level(scope, notice):
            return
        self._tell(server, scope, notice)

    def found(self, server: ServerName, scope: Scope, kind: ListKind) -> None:
        """A list is another one than it was before a gap, though nobody said so (A-REC-29)."""
        notice = ListChanged(kind)
        self.on_told(server, scope, notice)
        self._tell(server, scope, notice)

    def _tell(self, server: ServerName, scope: Scope, notice: Notice) -> None:
        for standing in self._hearing(server, scope):
            if _is_for(standing, server, notice):
                standing.on_notice(notice)

    def _wants_level(self, scope: Scope, line: LogLine) -> bool:
        level = self._levels.get(scope)
        return level is None or at_least(line.level, level)

    def _hearing(self, server: ServerName, scope: Scope) -> Iterator[Standing]:
        return (standing for standing in tuple(self._standings.get(scope, ())) if standing.hears(server))

    def tell_late(self, server: ServerName, scope: Scope, kind: ListKind) -> None:
        """A list has come which those who hear all servers were shown the others without."""
        for standing in self._hearing(server, scope):
            if standing.server is None and kind in standing.lists:
                standing.on_notice(ListChanged(kind))

    def tell_merged(self, kinds: Iterable[ListKind]) -> None:
        """The set of servers changed: whoever hears all of them has other lists now."""
        told = sorted(kinds)
        for standings in list(self._standings.values()):
            for standing in [one for one in standings if one.server is None and not one.closed]:
                for kind in told:
                    if kind in standing.lists:
                        standing.on_notice(ListChanged(kind))

    # -- endings

    def replaced(self, server: ServerName) -> list[Scope]:
        """The connections to this server are gone for good. Returns the scopes where somebody still wishes something of
        it; they are told that all of it may have changed."""
        waiting = []
        for scope, at_scope in list(self._seen.items()):
            if at_scope.pop(server, None) is None:
                continue
            wish = self._listeners_wish(server, scope)
            if wish != NOTHING:
                waiting.append(scope)
                self._tell_all(server, scope, wish)
        return waiting

    def _tell_all(self, server: ServerName, scope: Scope, wish: Interest) -> None:
        for kind in sorted(wish.lists):
            self.told(server, scope, ListChanged(kind))
        for uri in sorted(wish.uris):
            self.told(server, scope, ResourceUpdated(uri, {}))

    def forget(self, scope: Scope) -> None:
        for standing in self._standings.pop(scope, []):
            standing.closed = True
        for seen in self._seen.pop(scope, {}).values():
            for connection in (seen.connection, *seen.beside):
                connection.on_notice = None
        self._levels.pop(scope, None)


def _promised(about: About) -> frozenset[ListKind]:
    """The lists of whose changes a server says that it tells."""
    return frozenset(kind for kind in EVERY_LIST if _tells(about.capabilities.get(kind)))


def _tells(capability: Raw | None) -> bool:
    try:
        return capability is not None and read_fields(capability).get("listChanged") == Raw(b"true")
    except NotThatShape:
        return False


def _is_for(standing: Standing, server: ServerName, notice: Notice) -> bool:
    match notice:
        case ListChanged(kind=kind):
            return kind in standing.lists
        case ResourceUpdated(uri=uri):
            return _covers(standing, server, uri)
        case OtherNotice():
            return standing.server == server
        case LogLine():
            return True
        case Progress() | TaskChanged() | MadeTask():
            return False


def _covers(standing: Standing, server: ServerName, uri: str) -> bool:
    """A server may name a part of what was wished."""
    if standing.owners.get(uri) == server:
        return True
    return any(
        owner == server and uri.startswith(f"{wished.rstrip('/')}/") for wished, owner in standing.owners.items()
    )


def _nobody_hears(notice: Notice) -> None: ...
