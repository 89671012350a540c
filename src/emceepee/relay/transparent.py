"""One server, as if the client had connected to it: nothing renamed, nothing left out, nothing added.

It is not a byte pipe: lists come from what `relay.listing` knows, so that they have our pages and survive a short
absence.

The one rule: what the server said is what the client gets; where the server cannot be asked, an error says so.
"""

from __future__ import annotations

import functools

from msgspec import Raw
from msgspec.structs import replace

from emceepee.backends.catalogue import LISTS, ListName, list_payload, owner_of
from emceepee.errors import BackendUnavailable, ClientFault, EmceepeeError
from emceepee.relay.call import TOOLS_CALL
from emceepee.relay.listing import Shown
from emceepee.relay.long_call import carry_long
from emceepee.relay.middle import Middle
from emceepee.relay.pages import cut, read_cursor
from emceepee.relay.surface import UNKNOWN, Description, Listener, OnEnd, OnNotice, Unknown
from emceepee.relay.task_room import TaskRoom
from emceepee.relay.watch import Standing
from emceepee.vocabulary.calls import MAY_ASK, Call, Caller
from emceepee.vocabulary.names import LogLevel, Scope, ServerName
from emceepee.vocabulary.notices import Interest
from emceepee.vocabulary.outcomes import Answered, Begun, Done, Outcome
from emceepee.vocabulary.raw_json import Fields, Payload, read_text, to_raw
from emceepee.vocabulary.tasks import TAKE_TASKS, GoesOn

METHOD_NOT_FOUND = -32601
RELAYED = frozenset((TOOLS_CALL, "prompts/get", "resources/read", "completion/complete"))
LISTED: dict[str, ListName] = {kind.method: name for name, kind in LISTS.items()}

GENEROUS: Fields = {
    "tools": Raw(b'{"listChanged":true}'),
    "prompts": Raw(b'{"listChanged":true}'),
    "resources": Raw(b'{"subscribe":true,"listChanged":true}'),
    "completions": Raw(b"{}"),
    "logging": Raw(b"{}"),
}
"""For a server that could not be asked in time: a client may attach, and is told what is wrong where it matters."""


class Transparent:
    def __init__(self, middle: Middle, server: ServerName) -> None:
        self._middle = middle
        self._server = server
        self._timeout = middle.settings.call_timeout

    @property
    def name(self) -> str:
        return self._server

    async def describe(self, caller: Caller) -> Description:
        budget = self._middle.settings.listing_budget
        try:
            connection = await self._middle.reach.connection_within(self._server, caller.scope, budget)
        except ClientFault:
            raise
        except EmceepeeError as fault:
            return Description(GENEROUS, f"{fault}. Calls try again to reach it.")
        return Description(connection.about.capabilities, connection.about.instructions)

    @property
    def tasks(self) -> TaskRoom:
        return self._middle.task_room

    async def carry(self, call: Call, on_notice: OnNotice | None) -> Answered | GoesOn:
        if call.method in RELAYED:
            native = call.asks
            if call.method in MAY_ASK:
                promised = self._middle.asks.promised(self._server, call)
                # What its client can be asked itself stays with the call that came in.
                call = call if promised == call.asks else replace(call, asks=promised)
            if call.tasks in TAKE_TASKS:
                mark = functools.partial(self._mark_wrapped, call)
                return await carry_long(self._middle, self._server, call, native, on_notice, mark)
            outcome = await self._middle.calls.carry(self._server, call, on_notice, self._timeout)
            if call.method == TOOLS_CALL and type(outcome) is Done:
                self._mark_wrapped(call, outcome)
            return outcome
        name = LISTED.get(call.method)
        if name is None:
            raise unknown_method(call.method)
        return await self._list(name, call)

    def repeatable(self, call: Call) -> bool:
        return self._middle.calls.repeatable(self._server, call)

    def begin(self, call: Call, on_notice: OnNotice | None, ended: OnEnd) -> Begun | None:
        if call.method not in RELAYED or call.tasks in TAKE_TASKS:
            return None
        if call.method in MAY_ASK:
            promised = self._middle.asks.promised(self._server, call)
            call = call if promised == call.asks else replace(call, asks=promised)
        if call.method == TOOLS_CALL:
            listed = self._middle.listing.known(self._server, call.caller.scope, "tools")
            if listed is not None and listed.may_wrap():
                return None
        return self._middle.calls.begin(self._server, call, on_notice, self._timeout, ended)

    def _mark_wrapped(self, call: Call, outcome: Done) -> None:
        listed = self._middle.listing.known(self._server, call.caller.scope, "tools")
        if listed is None or not listed.may_wrap():
            return
        tool = read_text(call.params.get("name"))
        facts = listed.facts(tool) if tool is not None else None
        outcome.wrapped = facts is not None and facts.wrapped

    # -- lists

    async def _list(self, name: ListName, call: Call) -> Outcome:
        middle, scope = self._middle, call.caller.scope
        cursor = read_cursor(call.params)
        listed = middle.listing.unchanged(self._server, scope, name) if cursor is not None else None
        if listed is None or cursor is None or listed.digest != cursor[0]:
            middle.reach.definition(self._server)
            patience = middle.settings.list_timeout
            shown = await middle.listing.get(self._server, scope, name, patience)
            if shown.listed is None:
                return _without_a_list(self._server, shown)
        else:
            shown = Shown("fresh", listed)
        return self._page(name, shown, cursor)

    def _page(self, name: ListName, shown: Shown, cursor: tuple[bytes, int] | None) -> Done:
        assert shown.listed is not None
        listed = shown.listed
        items, following = cut(listed.items, listed.digest, cursor, self._middle.settings.page_size)
        extras = dict(listed.extras)
        if following is not None:
            extras["nextCursor"] = to_raw(following)
        return Done(Payload(raw=list_payload(name, items, extras)), shown.hints())

    async def input_schema(self, caller: Caller, tool: str) -> Raw | None:
        schema = self.schema_at_hand(caller, tool)
        if isinstance(schema, Unknown):
            budget = self._middle.settings.listing_budget
            await self._middle.listing.get(self._server, caller.scope, "tools", budget)
            schema = self.schema_at_hand(caller, tool)
        return None if isinstance(schema, Unknown) else schema

    def schema_at_hand(self, caller: Caller, tool: str) -> Raw | Unknown | None:
        listed = self._middle.listing.known(self._server, caller.scope, "tools")
        if listed is None:
            return UNKNOWN
        facts = listed.facts(tool)
        return facts.input_schema if facts is not None else None

    # -- notices

    async def listen(self, caller: Caller, interest: Interest, on_notice: OnNotice) -> Listener:
        middle, scope = self._middle, caller.scope
        asked_first = functools.partial(self._owner, scope)
        standing = Standing(middle.watch, scope, self._server, on_notice, asked_first)
        try:
            await middle.reach.connection_within(self._server, scope, middle.settings.listing_budget)
        except ClientFault:
            raise
        except EmceepeeError:
            # It is told what is wished as soon as it is there; resources of a server that is down cannot be promised.
            interest = Interest(interest.lists)
        await middle.watch.listen(standing, interest)
        # Whom a client asks for later by name decides itself whether it has that resource.
        standing.owner_of = self._itself
        return standing

    async def _owner(self, scope: Scope, uri: str) -> ServerName | None:
        return await owner_among(self._middle, (self._server,), scope, uri)

    async def _itself(self, uri: str) -> ServerName | None:
        return self._server

    async def set_log_level(self, caller: Caller, level: LogLevel) -> None:
        await self._middle.watch.set_log_level(caller.scope, level, self._server)

    async def roots_changed(self, caller: Caller) -> None:
        await self._middle.roots_changed(caller.scope)

    async def forget(self, scope: Scope) -> None:
        await self._middle.forget(scope)


async def owner_among(
    middle: Middle, servers: tuple[ServerName, ...], scope: Scope, uri: str, assume: float = 5.0
) -> ServerName | None:
    """The first of these servers that lists the resource, or has a template for it, as far as can be known in time."""
    budget = middle.settings.listing_budget
    listing = middle.listing
    shown = [
        *await listing.get_all(servers, scope, "resources", budget, assume),
        *await listing.get_all(servers, scope, "templates", budget, assume),
    ]
    return owner_of(uri, [(server, one.listed) for server, one in shown if one.listed is not None])


def unknown_method(method: str) -> ClientFault:
    return ClientFault(METHOD_NOT_FOUND, f"Method not found: {method[:100]}")


def _without_a_list(server: ServerName, shown: Shown) -> Outcome:
    if shown.refused is not None:
        return shown.refused
    raise shown.fault or BackendUnavailable(server, "its list is not known")
