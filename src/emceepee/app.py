"""The composition root: settings in, every part built and joined, in order.

The one rule: nothing else wires. A part gets values and other parts, never the whole configuration and never the
application; whoever wants to know how the house hangs together reads this file.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from emceepee import __version__
from emceepee.backends.children import Children, end_orphans
from emceepee.backends.definition import InProcess, ServerDefinition
from emceepee.backends.demo import DemoServer
from emceepee.backends.dial import Doors, ServerDialer
from emceepee.backends.http_client import HttpClient
from emceepee.backends.in_memory import InProcessServer
from emceepee.backends.pool import Pool
from emceepee.backends.registry import Change, Registry
from emceepee.config.load import Loaded, Source
from emceepee.config.settings import DEFAULTS, Limits, Settings
from emceepee.errors import ClientFault
from emceepee.front.http import HttpFront, always
from emceepee.front.pipes import claim_standard_streams, open_input, open_output
from emceepee.front.server import HttpServer, bind
from emceepee.front.shop import Shop
from emceepee.front.signals import on_signals
from emceepee.front.stdio import StdioFront
from emceepee.meta_tools.surface import MetaSurface
from emceepee.relay.auto_connect import AutoConnect
from emceepee.relay.coming_back import ComingBack
from emceepee.relay.direct import Direct
from emceepee.relay.holds import Holds
from emceepee.relay.in_workspace import InWorkspace
from emceepee.relay.middle import Middle
from emceepee.relay.request_state import RequestStates
from emceepee.relay.seal import KEY_BYTES, Seal, key_of
from emceepee.relay.server_words import server_words
from emceepee.relay.surface import Surface
from emceepee.relay.transparent import Transparent
from emceepee.relay.url_visits import UrlVisits
from emceepee.reloading import Reloading
from emceepee.runtime.clock import Clock, SystemClock
from emceepee.runtime.garbage import look_for_circles_less_often
from emceepee.runtime.heap import keep_freed_memory
from emceepee.runtime.ids import Ids, SystemIds, Ulids, random_bytes
from emceepee.runtime.spawn import TaskScope, bounded
from emceepee.sampling.approval import Approver
from emceepee.sampling.context import ServerContext
from emceepee.sampling.models import Models
from emceepee.sessions.directory import Directory
from emceepee.sessions.handles import may_name
from emceepee.sessions.inheritance import Inheritance
from emceepee.sessions.workspaces import Workspaces
from emceepee.state.kept_tasks import Owner, place_of
from emceepee.storage.database import Unusable
from emceepee.storage.kept import Kept, open_kept
from emceepee.storage.shelf import Shelf
from emceepee.tools.conversation import LocalConversation
from emceepee.tools.local_server import LocalServer
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.names import ANON, LOCAL, Scope, ServerName
from emceepee.vocabulary.outcomes import Done, Failed, settled
from emceepee.vocabulary.raw_json import read_value, to_raw
from emceepee.vocabulary.tasks import GoesOn

_log = logging.getLogger("emceepee.app")

IMPLEMENTATION = to_raw({"name": "emceepee", "title": "emceepee", "version": __version__})
"""How we introduce ourselves, to clients and to servers."""

Host = Callable[[], InProcessServer]

_INVALID_PARAMS = -32602

STDOUT_SECONDS = 2.0
"""What was written last has this long to leave, when the client no longer reads."""


class Backends:
    """The half behind the relay: which servers there are, and the connections to them."""

    def __init__(
        self,
        definitions: Sequence[ServerDefinition],
        environment: Mapping[str, str],
        clock: Clock,
        ids: Ids,
        hosted: Mapping[str, Host] | None = None,
        limits: Limits = DEFAULTS.limits,
    ) -> None:
        self.http = HttpClient(clock, environment)
        self.family = Children(clock, limits.max_children)
        hosts: dict[str, Host] = {"demo": lambda: DemoServer(clock), **(hosted or {})}
        self.registry = Registry(clock, limit=limits.max_servers)
        self.dialer = ServerDialer(Doors(self.http, self.family, hosts), clock, ids, IMPLEMENTATION)
        self.pool = Pool(self.registry.get, self.dialer, clock)
        for definition in definitions:
            self.registry.add(definition)

    async def close(self) -> None:
        await self.pool.close()
        await self.http.close()
        await self.family.close()


class Gateway:
    """Everything, joined. `front` is an ASGI application; `surface` is what a path leads to."""

    def __init__(
        self,
        settings: Settings = DEFAULTS,
        definitions: Sequence[ServerDefinition] = (),
        *,
        environment: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
        ids: Ids | None = None,
        hosted: Mapping[str, Host] | None = None,
        local: Sequence[LocalServer] = (),
    ) -> None:
        clock, ids = clock or SystemClock(), ids or SystemIds()
        definitions, hosted = _with_local(definitions, hosted or {}, local)
        self.settings = settings
        self.kept: Kept | None = None
        self.tasks = TaskScope("gateway")
        self._clock = clock
        self.backends = Backends(definitions, environment, clock, ids, hosted, settings.limits)
        self.registry = self.backends.registry
        self.pool = self.backends.pool
        slot = ids.slot()
        ulids, bounds = Ulids(clock, slot), settings.for_sessions()
        self.workspaces = Workspaces(clock, ulids, settings.for_state(), bounds, ids.secret)
        self.middle = Middle(self.pool, self.registry, self.tasks, clock, settings.for_relay(), self.workspaces)
        _join(self.pool, self.middle)
        self.models = Models(settings.sampling, environment, clock, ids, ulids.next)
        self.models.join(_Told(self.middle))
        if settings.sampling.models:
            self.middle.asks.model = self.models.answering
        self.workspaces.end_all = self.middle.forget
        if settings.auto_connect:
            self.workspaces.on_made = AutoConnect(self.middle.reach, clock).begin
        self.meta = MetaSurface(self.middle)
        self.direct = Direct(self.middle)
        self._surfaces: dict[str, Surface] = {"/mcp": self.meta, "/direct/mcp": self.direct}
        """By path: looked up for each request."""
        self.registry.watch(self._forget_surface)
        self.directory = Directory(clock, ids, settings.for_sessions())
        self.middle.asks.native_of = self.directory.asks_of
        self.middle.asks.ear_of = self.directory.ear_of
        self.pool.principal_of = self._shares_as
        keys = [key_of(text) for text in settings.state_keys] or [random_bytes(KEY_BYTES)]
        states = RequestStates(Seal(keys, random_bytes), slot, clock, random_bytes)
        self.holds = Holds(self.workspaces, clock, self.tasks, self.middle.settings, ids.secret)
        self.visits = UrlVisits(clock)
        self.coming_back = ComingBack(self.holds, states, self.visits, ids.secret)
        self.middle.on_forget = self.holds.forget
        place, carry = self.workspaces.scope_of, self.coming_back.carry
        self.shop = Shop(clock, IMPLEMENTATION, settings.for_front(), place=place, carry=carry)
        self.shop.begin, self.shop.returned = self.coming_back.begin, self.holds.returned
        self.front = HttpFront(self.shop, self.directory, self.surface, always(settings.everybody), self.health)

    def surface(self, path: str) -> Surface | None:
        """What lives at a path, or None. Each can be had in a workspace of its own: `/mcp/w/NAME`."""
        surface = self._surfaces.get(path) or self._plain(path)
        if surface is not None:
            return surface
        base, _, name = path.rpartition("/w/")
        surface = self._plain(base) if may_name(name) else None
        return None if surface is None else InWorkspace(surface, name, self.workspaces.scope_of_path)

    def _plain(self, path: str) -> Surface | None:
        """A server's surface exists as long as the server does."""
        surface = self._surfaces.get(path)
        if surface is None and path.startswith("/servers/") and path.endswith("/mcp"):
            name = path[len("/servers/") : -len("/mcp")]
            if self.registry.get(name) is not None:
                surface = self._surfaces[path] = Transparent(self.middle, name)
        return surface

    def _forget_surface(self, change: Change) -> None:
        if change.kind == "removed":
            self._surfaces.pop(f"/servers/{change.name}/mcp", None)

    def _principal_of(self, scope: Scope) -> Scope:
        """A scope that is neither a session nor a named workspace is a principal itself."""
        return self.directory.principal_of(scope) or self.workspaces.principal_of(scope) or scope

    def _shares_as(self, scope: Scope) -> Scope:
        """With whom a scope may share connections: strangers share none."""
        principal = self._principal_of(scope)
        return scope if principal == ANON else principal

    def remember(self, kept: Kept) -> None:
        """Have what earlier runs left, and keep what outlives this one. Before anybody comes in."""
        self.kept = kept
        self.registry.restore(kept.servers)
        bounds, now = self.workspaces.settings.tasks, self._clock.wall()
        if kept.database is not None:
            self.middle.listing.manifests.keep_in(Shelf(kept.database, "manifest", self._clock))
            self.backends.dialer.keep_in(Shelf(kept.database, "era", self._clock))
        one_person = self.settings.everybody == LOCAL
        self.workspaces.owner_of = self._owner_of
        self.workspaces.know_again(kept.handles)
        self.workspaces.inheritance = Inheritance(kept.tasks, bounds, now, of_sessions=one_person)

    def _owner_of(self, scope: Scope) -> Owner:
        """A session's place ends with it; every other is known again by its name."""
        principal = self.directory.principal_of(scope)
        return Owner(self._principal_of(scope), place_of(scope)) if principal is None else Owner(principal)

    def health(self) -> dict[str, object]:
        return {
            "status": "draining" if self.shop.draining else "ok",
            "version": __version__,
            "servers": len(self.registry.list()),
            "sessions": len(self.directory),
            "connections": len(self.pool),
            "state": "in memory" if self.kept is None else self.kept.standing,
            "load": self.load(),
        }

    def load(self) -> dict[str, int]:
        """What is going on now, in numbers that fall back to where they were when nothing goes on any more."""
        return {
            "calls": self.front.modern.calls + sum(len(session.in_flight) for session in self.directory.sessions()),
            "listens": self.front.modern.listens,
            "cleaning": self.directory.cleaning,
            "holds": len(self.holds),
            "listeners": len(self.middle.watch),
            "lists": len(self.middle.listing),
            "handles": self.pool.handles,
            "pending": self.pool.pending,
            "httpConnections": self.backends.http.connections,
            "tasks": len(asyncio.all_tasks()),
        }

    async def call_tool(self, server: ServerName, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The result of one call by the program that this gateway is part of; `isError` is in it. Nobody is behind it
        who could be asked, but configured models answer. Raises `EmceepeeError`, also for what the server refuses."""
        surface = self._plain(f"/servers/{server}/mcp")
        if surface is None:
            raise ClientFault(_INVALID_PARAMS, f"Server '{server}' not found")
        call = Call("tools/call", {"name": to_raw(tool), "arguments": to_raw(arguments)}, Caller())
        answered = await surface.carry(call, None)
        if isinstance(answered, Done):
            result: dict[str, Any] = read_value(answered.payload.raw())
            return result
        failed = settled(answered) if not isinstance(answered, GoesOn) else None
        assert isinstance(failed, Failed), "nobody here takes tasks"
        raise ClientFault(failed.code, failed.message, None if failed.data is None else read_value(failed.data))

    def start(self) -> None:
        self.front.start()
        self.models.tell_missing()
        # What belongs to a session ends with it; the rest ends when nobody has used it for long.
        self.workspaces.watch_idle(lambda scope: self.directory.has(scope) or self.middle.in_use(scope))

    async def close(self) -> None:
        """Nothing new begins; then what every place asked for ends, and at last, all at once, its connections."""
        counts = {"sessionCount": len(self.directory), "serverCount": len(self.registry)}
        _log.info("session_manager_shutdown_start", extra={"data": counts})
        self.front.drain()
        self.workspaces.process_ends = True
        self.middle.close()
        self.coming_back.close()
        await self.front.legacy.end_calls()
        # A session's own connections and the shared ones: a server that hangs holds up neither (X-BUG-43).
        await asyncio.gather(self.front.close(), self._end_places())
        await self.tasks.close()
        await self.models.close()
        await self.backends.close()
        if self.kept is not None:
            self.kept.close()
        _log.info("session_manager_shutdown_complete")

    async def _end_places(self) -> None:
        """While their connections are there, so that servers hear what nobody waits for any more."""
        await self.workspaces.close()
        await self.pool.close()


class _Told:
    """Implements `sampling.context.ContextSource`."""

    def __init__(self, middle: Middle) -> None:
        self._middle = middle

    async def context(self, scope: Scope, server: ServerName | None) -> Sequence[ServerContext]:
        return [ServerContext(name, text) for name, text in await server_words(self._middle, scope, server)]


def _join(pool: Pool, middle: Middle) -> None:
    """What connections tell, and what their servers may ask."""
    pool.on_attached = middle.reconciliation.attached
    pool.on_scope_replaced = middle.reconciliation.replaced
    pool.on_scope_lost = middle.reconciliation.lost
    pool.on_health = middle.news.health
    pool.on_scope_said = middle.news.said
    pool.door_of = middle.asks.door
    pool.profile_of = middle.asks.usual


def _with_local(
    definitions: Sequence[ServerDefinition], hosted: Mapping[str, Host], local: Sequence[LocalServer]
) -> tuple[Sequence[ServerDefinition], Mapping[str, Host]]:
    """Python functions are servers like any others, under their own names."""
    defined = [ServerDefinition(server.name, InProcess(server.name)) for server in local]
    return (*definitions, *defined), {**hosted, **{one.name: partial(LocalConversation, one) for one in local}}


@asynccontextmanager
async def open_backends(
    definitions: Sequence[ServerDefinition], environment: Mapping[str, str] = os.environ
) -> AsyncIterator[Pool]:
    """Connections without a gateway, for the command line's own calls."""
    backends = Backends(definitions, environment, SystemClock(), SystemIds())
    try:
        yield backends.pool
    finally:
        await backends.close()


Configuration: TypeAlias = tuple[Source, Loaded]
"""Where the settings and definitions came from, and what stood there."""


@contextmanager
def _rereading(gateway: Gateway, configuration: Configuration | None) -> Iterator[Callable[[], None] | None]:
    """What a SIGHUP does meanwhile. In a terminal it means that the terminal is closed, and ends us as it does any
    program."""
    if configuration is None:
        yield None
        return
    source, loaded = configuration
    reloading = Reloading(source, loaded, gateway.registry, gateway.middle.news, gateway.middle.clock)
    if gateway.settings.watch_config:
        reloading.watch()
    try:
        yield None if sys.stderr is not None and sys.stderr.isatty() else reloading.reload
    finally:
        reloading.close()


async def serve_http(
    settings: Settings,
    definitions: Sequence[ServerDefinition],
    ready: Callable[[str], None] = lambda url: None,
    local: Sequence[LocalServer] = (),
    configuration: Configuration | None = None,
    approver: Approver | None = None,
    state: Path | None = None,
) -> None:
    """Until a signal says stop; a `configuration` is read again when it changes, and `approver` is asked about sampling
    instead of the client. Raises `OperatorFault` when the port cannot be had, before anything is started."""
    listening = bind(settings.host, settings.port)
    gateway = Gateway(settings, definitions, local=local)
    if approver is not None:
        gateway.models.approve_by(approver)
    gateway.registry.listening_on(f"{listening.host}:{listening.port}")
    _remember(gateway, state)
    server = HttpServer(gateway.front, listening, settings.for_front())
    gateway.tasks.spawn(end_orphans(SystemClock()), "orphans")
    look_for_circles_less_often()
    keep_freed_memory()
    with _rereading(gateway, configuration) as again, on_signals(server.stop, again):
        try:
            await server.serve(lambda: ready(listening.url))
        finally:
            await gateway.close()


def _remember(gateway: Gateway, state: Path | None) -> None:
    """A gateway whose state file cannot be used serves all the same, and says what it will forget."""
    if state is None:
        return
    try:
        gateway.remember(open_kept(state, gateway.middle.clock))
        _log.info("state_kept", extra={"data": {"file": str(state)}})
    except Unusable as fault:
        _log.warning("state_not_kept", extra={"data": {"file": str(state), "reason": str(fault)}})


async def serve_stdio(
    settings: Settings,
    definitions: Sequence[ServerDefinition],
    path: str,
    local: Sequence[LocalServer] = (),
    configuration: Configuration | None = None,
    state: Path | None = None,
) -> None:
    """One client on our standard streams, until it closes its end or a signal says stop. The path names the surface."""
    claimed = claim_standard_streams()
    gateway = Gateway(settings, definitions, local=local)
    surface = gateway.surface(path)
    assert surface is not None, "the command line has checked the path"
    _remember(gateway, state)
    entrance = await open_input(claimed.read_fd)
    out = await open_output(claimed.write_fd)
    front = StdioFront(gateway.shop, gateway.directory, surface, entrance.read, out.write)
    gateway.tasks.spawn(end_orphans(SystemClock()), "orphans")
    look_for_circles_less_often()
    keep_freed_memory()
    with _rereading(gateway, configuration) as again, on_signals(front.stop, again):
        try:
            await front.run()
        finally:
            entrance.close()
            await bounded(out.close(), STDOUT_SECONDS)
            await gateway.close()
