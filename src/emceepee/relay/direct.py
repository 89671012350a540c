"""All servers at once: tools and prompts as `server__name`, resources by their URI.

Lists wait for no slow server beyond the budget; what is missing is said in `_meta`. Of two servers that list the same
URI the first in the registry owns it; the other's stays reachable under `/servers/{name}/mcp` and is named in `_meta`.

The one rule: a call goes to the one server whose list has what it names; nothing is tried elsewhere, save reading a
resource that nobody lists.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from emceepee.backends.catalogue import ListName, likely_server, list_payload, make_listed, merge, tightest
from emceepee.errors import BackendFault, ClientFault, EmceepeeError
from emceepee.relay.call import TOOLS_CALL
from emceepee.relay.listing import Shown
from emceepee.relay.long_call import carry_long
from emceepee.relay.middle import Middle
from emceepee.relay.pages import cut, read_cursor
from emceepee.relay.reach import nearest
from emceepee.relay.surface import UNKNOWN, Description, Listener, OnEnd, OnNotice, Unknown
from emceepee.relay.task_room import TaskRoom
from emceepee.relay.transparent import GENEROUS, LISTED, owner_among, unknown_method
from emceepee.relay.watch import Standing
from emceepee.vocabulary.calls import MAY_ASK, Call, Caller
from emceepee.vocabulary.names import LogLevel, Scope, ServerName
from emceepee.vocabulary.notices import Interest
from emceepee.vocabulary.outcomes import Answered, Begun, CacheHints, Done, Failed
from emceepee.vocabulary.raw_json import Fields, NotThatShape, Payload, read_fields, read_text, to_raw
from emceepee.vocabulary.tasks import TAKE_TASKS, GoesOn

_INVALID_PARAMS = -32602
_RESOURCE_NOT_FOUND = -32002
UNREACHABLE = "dev.emceepee/unreachable"
STALE = "dev.emceepee/stale"
SHADOWED = "dev.emceepee/shadowed"

_MAX_INSTRUCTIONS = 8_000
"""Characters over all servers: they are read by a model before it does anything."""

_MAX_READERS = 8
"""Servers asked in turn for a resource that none of them lists."""


class Direct:
    def __init__(self, middle: Middle) -> None:
        self._middle = middle
        self._timeout = middle.settings.call_timeout

    @property
    def name(self) -> str:
        return "direct"

    def _servers(self) -> tuple[ServerName, ...]:
        return tuple(definition.name for definition in self._middle.registry.enabled())

    async def describe(self, caller: Caller) -> Description:
        """Waits for nobody: capabilities are those of all servers there may be, instructions of those connected now."""
        lines = ["The tools and prompts of several MCP servers, each named server__name."]
        for server in self._servers():
            status = self._middle.pool.status(server, caller.scope)
            if status.state == "error":
                lines.append(f"Server '{server}' is not reachable now: {status.last_error}.")
            elif status.state == "connected":
                connection = await self._middle.reach.connection(server, caller.scope)
                if connection.about.instructions:
                    lines.append(f"{server}: {connection.about.instructions}")
        return Description(GENEROUS, "\n\n".join(lines)[:_MAX_INSTRUCTIONS])

    @property
    def tasks(self) -> TaskRoom:
        return self._middle.task_room

    async def carry(self, call: Call, on_notice: OnNotice | None) -> Answered | GoesOn:
        match call.method:
            case "tools/call":
                return await self._call_tool(call, on_notice)
            case "prompts/get":
                server, own = await self._find("prompts", call, _text(call.params, "name"))
                return await self._pass(server, call, {"name": to_raw(own)}, on_notice)
            case "resources/read":
                return await self._read(call, on_notice)
            case "completion/complete":
                return await self._complete(call, on_notice)
        name = LISTED.get(call.method)
        if name is None:
            raise unknown_method(call.method)
        return await self._list(name, call)

    def begin(self, call: Call, on_notice: OnNotice | None, ended: OnEnd) -> Begun | None:
        if call.method != TOOLS_CALL or call.tasks in TAKE_TASKS:
            return None
        scope, merged = call.caller.scope, read_text(call.params.get("name"))
        found = None if merged is None else self._known("tools", scope, merged)
        if found is None:
            return None
        server, own = found
        facts = self._middle.listing.facts(server, scope, own)
        if facts is None or facts.wrapped:
            return None
        onward = self._onward(server, call, {"name": to_raw(own)})
        onward.tasks = "unable"
        return self._middle.calls.begin(server, onward, on_notice, self._timeout, ended)

    # -- lists

    async def _list(self, name: ListName, call: Call) -> Done:
        cursor = read_cursor(call.params)
        scope, settings = call.caller.scope, self._middle.settings
        # A later page is of the same list: what was seen a moment ago is what it continues.
        assume = settings.assume_fresh if cursor is not None else 0.0
        shown = await self._middle.listing.get_all(self._servers(), scope, name, settings.listing_budget, assume)
        merged = merge([(server, one.listed) for server, one in shown if one.listed is not None])
        whole = make_listed(name, merged.items, {}, None)
        items, following = cut(whole.items, whole.digest, cursor, settings.page_size)
        extras = _what_is_missing(shown, merged.shadowed)
        if following is not None:
            extras["nextCursor"] = to_raw(following)
        return Done(Payload(raw=list_payload(name, items, extras)), _hints(shown))

    async def input_schema(self, caller: Caller, tool: str) -> Raw | None:
        try:
            server, own = await self._find("tools", Call(TOOLS_CALL, {}, caller), tool)
        except EmceepeeError:
            return None
        facts = self._middle.listing.facts(server, caller.scope, own)
        return facts.input_schema if facts is not None else None

    def schema_at_hand(self, caller: Caller, tool: str) -> Raw | Unknown | None:
        found = self._known("tools", caller.scope, tool)
        facts = None if found is None else self._middle.listing.facts(found[0], caller.scope, found[1])
        return UNKNOWN if facts is None else facts.input_schema

    # -- finding

    async def _find(self, name: ListName, call: Call, merged: str) -> tuple[ServerName, str]:
        """The server and the own name behind a merged one. What is not known yet is asked for, once."""
        scope = call.caller.scope
        if found := self._known(name, scope, merged):
            return found
        guess = likely_server(merged)
        servers = (guess,) if self._middle.registry.has(guess) else self._servers()
        settings = self._middle.settings
        patience = settings.list_timeout if len(servers) == 1 else settings.listing_budget
        shown = await self._middle.listing.get_all(servers, scope, name, patience)
        if found := self._known(name, scope, merged):
            return found
        if len(shown) == 1 and shown[0][1].state == "down" and shown[0][1].fault is not None:
            raise shown[0][1].fault
        raise self._unknown(name, scope, merged)

    def _known(self, name: ListName, scope: Scope, merged: str) -> tuple[ServerName, str] | None:
        guess = likely_server(merged)
        if self._middle.registry.has(guess) and (own := self._own_name(guess, name, scope, merged)) is not None:
            return guess, own
        for server in self._servers():
            if (own := self._own_name(server, name, scope, merged)) is not None:
                return server, own
        return None

    def _own_name(self, server: ServerName, name: ListName, scope: Scope, merged: str) -> str | None:
        listed = self._middle.listing.known(server, scope, name)
        return listed.original(server, merged) if listed is not None else None

    def _unknown(self, name: ListName, scope: Scope, merged: str) -> ClientFault:
        names: list[str] = []
        for server in self._servers():
            listed = self._middle.listing.known(server, scope, name)
            names += listed.renamed(server) if listed is not None else ()
        near = nearest(merged, names[:5000])
        hint = f"; did you mean '{near}'?" if near else ""
        return ClientFault(_INVALID_PARAMS, f"Unknown {name[:-1]}: {merged[:100]}{hint}")

    # -- carrying

    async def _pass(self, server: ServerName, call: Call, put: Fields, on_notice: OnNotice | None) -> Answered:
        return await self._middle.calls.carry(server, self._onward(server, call, put), on_notice, self._timeout)

    def _onward(self, server: ServerName, call: Call, put: Fields) -> Call:
        """`put` replaces what names something of this server."""
        asks = self._middle.asks.promised(server, call) if call.method in MAY_ASK else call.asks
        return replace(call, params=call.params | put, asks=asks)

    async def _call_tool(self, call: Call, on_notice: OnNotice | None) -> Answered | GoesOn:
        server, own = await self._find("tools", call, _text(call.params, "name"))
        name = {"name": to_raw(own)}
        if call.tasks in TAKE_TASKS:
            mark = functools.partial(self._mark_wrapped, server, call.caller.scope, own)
            onward = self._onward(server, call, name)
            return await carry_long(self._middle, server, onward, call.asks, on_notice, mark)
        if call.tasks == "silent":
            # A tool that must be run as a task is one among others here: it is run, and its client waits.
            call.tasks = "unable"
        outcome = await self._pass(server, call, name, on_notice)
        if type(outcome) is Done:
            self._mark_wrapped(server, call.caller.scope, own, outcome)
        return outcome

    def repeatable(self, call: Call) -> bool:
        if call.method != TOOLS_CALL:
            return True
        found = self._known("tools", call.caller.scope, _text(call.params, "name"))
        if found is None:
            return False
        server, own = found
        return self._middle.calls.repeatable(server, replace(call, params=call.params | {"name": to_raw(own)}))

    def _mark_wrapped(self, server: ServerName, scope: Scope, own: str, outcome: Done) -> None:
        facts = self._middle.listing.facts(server, scope, own)
        outcome.wrapped = facts is not None and facts.wrapped

    async def _read(self, call: Call, on_notice: OnNotice | None) -> Answered:
        uri = _text(call.params, "uri")
        owner = await self._owner(call.caller.scope, uri)
        if owner is not None:
            return await self._pass(owner, call, {}, on_notice)
        return await self._read_somewhere(call, uri, on_notice)

    async def _read_somewhere(self, call: Call, uri: str, on_notice: OnNotice | None) -> Answered:
        """Nobody lists it, but servers may have more than they list. Reading is harmless, so connected ones are
        asked."""
        status = self._middle.pool.status
        connected = [one for one in self._servers() if status(one, call.caller.scope).state == "connected"]
        for server in connected[:_MAX_READERS]:
            try:
                connection = await self._middle.reach.connection(server, call.caller.scope)
                if not connection.about.offers("resources"):
                    continue
                outcome = await self._pass(server, call, {}, on_notice)
            except BackendFault:
                continue
            if not isinstance(outcome, Failed):
                return outcome
        data = to_raw({"uri": uri})
        return Failed(_RESOURCE_NOT_FOUND, f"Resource not found: {uri[:500]}", data, "resource_not_found")

    async def _complete(self, call: Call, on_notice: OnNotice | None) -> Answered:
        try:
            ref = read_fields(call.params.get("ref", b""))
        except NotThatShape:
            raise ClientFault(_INVALID_PARAMS, "Invalid params: 'ref' must be an object") from None
        if read_text(ref.get("type")) == "ref/prompt":
            server, own = await self._find("prompts", call, _text(ref, "name"))
            return await self._pass(server, call, {"ref": to_raw(ref | {"name": to_raw(own)})}, on_notice)
        uri = _text(ref, "uri")
        owner = await self._owner(call.caller.scope, uri)
        if owner is None:
            raise ClientFault(_INVALID_PARAMS, f"Unknown resource: {uri[:500]}", {"uri": uri})
        return await self._pass(owner, call, {}, on_notice)

    async def _owner(self, scope: Scope, uri: str) -> ServerName | None:
        known = self._owner_known(scope, uri)
        return known or await owner_among(self._middle, self._servers(), scope, uri)

    def _owner_known(self, scope: Scope, uri: str) -> ServerName | None:
        for server in self._servers():
            listed = self._middle.listing.known(server, scope, "resources")
            if listed is not None and uri in listed.index():
                return server
        return None

    # -- notices

    async def listen(self, caller: Caller, interest: Interest, on_notice: OnNotice) -> Listener:
        watch = self._middle.watch
        standing = Standing(watch, caller.scope, None, on_notice, functools.partial(self._owner, caller.scope))
        await watch.listen(standing, interest)
        if interest.lists:
            for server in self._servers():
                self._middle.tasks.spawn(self._connect_quietly(server, caller.scope), f"hear {server}")
        return standing

    async def _connect_quietly(self, server: ServerName, scope: Scope) -> None:
        """Only what is connected can tell of changes; whoever is down is told of when it is listed."""
        try:
            await self._middle.reach.connection(server, scope)
        except EmceepeeError:
            return

    async def set_log_level(self, caller: Caller, level: LogLevel) -> None:
        await self._middle.watch.set_log_level(caller.scope, level)

    async def roots_changed(self, caller: Caller) -> None:
        await self._middle.roots_changed(caller.scope)

    async def forget(self, scope: Scope) -> None:
        await self._middle.forget(scope)


def _text(fields: Fields, key: str) -> str:
    value = read_text(fields.get(key))
    if value is None:
        raise ClientFault(_INVALID_PARAMS, f"Invalid params: '{key}' must be a string")
    return value


def _what_is_missing(shown: Sequence[tuple[ServerName, Shown]], shadowed: Sequence[tuple[ServerName, str]]) -> Fields:
    meta: dict[str, Any] = {}
    if down := [{"server": server, "why": one.why} for server, one in shown if one.state == "down"]:
        meta[UNREACHABLE] = down
    if stale := [
        {"server": server, "ageMs": round(one.age * 1000), "why": one.why}
        for server, one in shown
        if one.state == "stale"
    ]:
        meta[STALE] = stale
    if shadowed:
        meta[SHADOWED] = [{"server": server, "uri": uri} for server, uri in shadowed]
    return {"_meta": to_raw(meta)} if meta else {}


def _hints(shown: Sequence[tuple[ServerName, Shown]]) -> CacheHints | None:
    """A list in which somebody is missing must be asked for again."""
    return tightest(one.hints() for _, one in shown)
