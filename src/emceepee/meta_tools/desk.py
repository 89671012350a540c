"""What the handlers of our tools work with: the middle, and two small things that most of them do.

The one rule: a handler keeps no state; what lasts belongs to the middle.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from emceepee.backends.catalogue import Listed, ListName
from emceepee.errors import EmceepeeError
from emceepee.meta_tools.answers import refusal, tool_error
from emceepee.meta_tools.tool import Asked
from emceepee.relay.listing import Shown
from emceepee.relay.middle import Middle
from emceepee.runtime.waiting_line import WaitingLine
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.names import Scope, ServerName
from emceepee.vocabulary.outcomes import Failed, settled
from emceepee.vocabulary.raw_json import Fields, Payload


@dataclass(slots=True, frozen=True)
class Desk:
    middle: Middle
    patience: WaitingLine
    """Of those who execute a tool and said nothing of how long they wait."""
    _turns: WeakValueDictionary[ServerName, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    def turn(self, server: ServerName) -> asyncio.Lock:
        """To be held by whoever changes what stands under this name; forgotten when nobody does."""
        turn = self._turns.get(server)
        if turn is None:
            turn = self._turns[server] = asyncio.Lock()
        return turn

    async def lists(self, scope: Scope, name: ListName, server: ServerName | None) -> list[tuple[ServerName, Shown]]:
        """One server's list as patiently as it takes, or all servers' within the listing budget."""
        middle, settings = self.middle, self.middle.settings
        if server is not None:
            middle.reach.definition(server)
            patience = settings.list_timeout
            return [(server, await middle.listing.get(server, scope, name, patience, settings.assume_fresh))]
        servers = [definition.name for definition in middle.registry.enabled()]
        return await middle.listing.get_all(servers, scope, name, settings.listing_budget, settings.assume_fresh)

    async def ask(self, asked: Asked, method: str, params: Fields) -> Payload:
        """One request to the server that was named, its result or a `ToolExecutionError`."""
        server = asked.arguments["server"]
        about = {"serverName": server}
        original = asked.call
        call = Call(method, params, original.caller, original.meta, original.wants_progress, original.log_level)
        call.asks = self.middle.asks.promised(server, original, tools=True)
        call.untold, call.ear = original.untold, original.ear
        timeout_ms = self.middle.settings.execute_timeout_ms
        try:
            outcome = settled(await self.middle.calls.carry(server, call, asked.on_notice, timeout_ms / 1000))
        except EmceepeeError as error:
            raise tool_error(error, about, timeout_ms) from error
        if isinstance(outcome, Failed):
            raise refusal(outcome, about)
        return outcome.payload


def known_lists(shown: Sequence[tuple[ServerName, Shown]]) -> list[tuple[ServerName, Listed]]:
    return [(server, one.listed) for server, one in shown if one.listed is not None]


def servers_block(shown: Sequence[tuple[ServerName, Shown]], counted: str) -> list[dict[str, Any]]:
    """One line per server: how far its part can be trusted."""
    return [_server_line(server, one, counted) for server, one in shown]


def _server_line(server: ServerName, one: Shown, counted: str) -> dict[str, Any]:
    line: dict[str, Any] = {"name": server, "status": one.state}
    if one.listed is not None:
        line[counted] = len(one.listed.items)
        if one.listed.truncated:
            line["truncated"] = True
    if one.state == "stale":
        line["ageMs"] = round(one.age * 1000)
    if one.why is not None:
        line["why"] = one.why
    return line
