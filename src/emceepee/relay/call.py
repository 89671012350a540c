"""Carry one call to one server and bring back its outcome.

It decides nothing about names and nothing about how an outcome is shown.

The one rule: a call is made a second time only where the first cannot have been seen, or where doing it twice is the
same as doing it once; otherwise `OutcomeUnknown` is the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from emceepee.backends.catalogue import ToolFacts
from emceepee.errors import BackendUnavailable, OutcomeUnknown
from emceepee.relay.ports import Connection
from emceepee.relay.reach import Reach
from emceepee.relay.rounds import Rounds
from emceepee.relay.surface import OnNotice
from emceepee.runtime.clock import Clock
from emceepee.vocabulary.calls import MAY_ASK, Call
from emceepee.vocabulary.names import Scope, ServerName
from emceepee.vocabulary.outcomes import Answered, InputNeeded
from emceepee.vocabulary.raw_json import read_text

_log = logging.getLogger("emceepee.relay")

TOOLS_CALL = "tools/call"

FactsOf: TypeAlias = Callable[[ServerName, Scope, str], ToolFacts | None]
"""What is known of a tool: whether it is annotated so that calling it twice does no more than calling it once."""


class Calls:
    def __init__(self, reach: Reach, clock: Clock, facts: FactsOf, rounds: Rounds) -> None:
        self._reach = reach
        self._rounds = rounds
        self._clock = clock
        self._facts = facts
        self._between: set[int] = set()

    def waits(self, call: Call) -> bool:
        """Whether it is on no connection now: the one it was on is lost, and it is to be made again on the next."""
        return id(call) in self._between

    def carry(
        self,
        server: ServerName,
        call: Call,
        on_notice: OnNotice | None,
        timeout: float,
        connection: Connection | None = None,
    ) -> Coroutine[Any, Any, Answered]:
        """What is needed on the way is collected from whom the call came from, unless he does that himself: then it is
        answered. Raises `BackendFault`, or `ClientFault` for an unknown server. `connection` may be given by who has it
        already."""
        if call.method == TOOLS_CALL and _log.isEnabledFor(logging.DEBUG):
            return self._said(server, call, on_notice, timeout, connection)
        return self._carried(server, call, on_notice, timeout, connection)

    async def _carried(
        self, server: ServerName, call: Call, on_notice: OnNotice | None, timeout: float, connection: Connection | None
    ) -> Answered:
        scope = call.caller.scope
        profile = call.session_asks if call.method in MAY_ASK else None
        if connection is None:
            connection = await self._reach.connection(server, scope, profile, call)
        try:
            answered = await connection.request(call, on_notice, timeout)
        except BackendUnavailable:
            connection = None
        except OutcomeUnknown as fault:
            if not self._harmless_twice(server, call, fault):
                raise
            connection = None
        if connection is None:
            self._between.add(id(call))
            try:
                connection = await self._reach.connection(server, scope, profile, call)
            finally:
                self._between.discard(id(call))
            answered = await connection.request(call, on_notice, timeout)
        if type(answered) is not InputNeeded or (call.relays_asks and not self._rounds.is_for(server, call, answered)):
            return answered
        return await self._rounds.drive(
            server, call, answered, lambda: self._carried(server, call, on_notice, timeout, None)
        )

    def repeatable(self, server: ServerName, call: Call) -> bool:
        """Whether making it twice is known to do no more than making it once."""
        facts = None if call.method != TOOLS_CALL else self._facts_of(server, call)
        return call.method != TOOLS_CALL or (facts is not None and facts.repeatable)

    def _facts_of(self, server: ServerName, call: Call) -> ToolFacts | None:
        name = read_text(call.params.get("name"))
        return None if name is None else self._facts(server, call.caller.scope, name)

    def _harmless_twice(self, server: ServerName, call: Call, fault: OutcomeUnknown) -> bool:
        if call.method != TOOLS_CALL:
            return True
        facts = self._facts_of(server, call)
        fault.evidence["annotations"] = None if facts is None else facts.annotations
        return facts is not None and facts.repeatable

    async def _said(
        self, server: ServerName, call: Call, on_notice: OnNotice | None, timeout: float, connection: Connection | None
    ) -> Answered:
        tool = read_text(call.params.get("name"))
        data = {"server": server, "tool": tool, "hasArgs": "arguments" in call.params}
        _log.debug("tool_execution_start", extra={"data": data})
        began = self._clock.now()
        outcome = await self._carried(server, call, on_notice, timeout, connection)
        took = round((self._clock.now() - began) * 1000)
        _log.debug("tool_execution_complete", extra={"data": {"server": server, "tool": tool, "durationMs": took}})
        return outcome
