"""Carry one call to one server and bring back its outcome.

It decides nothing about names and nothing about how an outcome is shown.

The one rule: a call is made a second time only where the first cannot have been seen, or where doing it twice is the
same as doing it once; otherwise `OutcomeUnknown` is the answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from emceepee.backends.catalogue import ToolFacts
from emceepee.errors import BackendFault, BackendUnavailable, EmceepeeError, OutcomeUnknown
from emceepee.relay.ports import Connection
from emceepee.relay.reach import Reach
from emceepee.relay.rounds import Rounds
from emceepee.relay.surface import OnEnd, OnNotice
from emceepee.runtime.clock import Clock
from emceepee.runtime.spawn import TaskScope
from emceepee.vocabulary.calls import MAY_ASK, Call
from emceepee.vocabulary.names import Scope, ServerName
from emceepee.vocabulary.outcomes import Answered, Begun, Done, InputNeeded
from emceepee.vocabulary.raw_json import read_text

_log = logging.getLogger("emceepee.relay")

TOOLS_CALL = "tools/call"

FactsOf: TypeAlias = Callable[[ServerName, Scope, str], ToolFacts | None]
"""What is known of a tool: whether it is annotated so that calling it twice does no more than calling it once."""


class Calls:
    def __init__(self, reach: Reach, tasks: TaskScope, clock: Clock, facts: FactsOf, rounds: Rounds) -> None:
        self._reach = reach
        self._tasks = tasks
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
        answered: Answered | None = None
        try:
            answered = await connection.request(call, on_notice, timeout)
        except BackendFault as fault:
            if not self.may_repeat(server, call, fault):
                raise
        if answered is not None and self.is_last(server, call, answered):
            return answered
        return await self.go_on(server, call, on_notice, timeout, answered)

    def is_last(self, server: ServerName, call: Call, answered: Answered) -> bool:
        """Whether the caller is told just that."""
        if not isinstance(answered, InputNeeded):
            return True
        rounds = self._rounds
        return rounds.drives(call) or (call.relays_asks and not rounds.is_for(server, call, answered))

    async def go_on(
        self, server: ServerName, call: Call, on_notice: OnNotice | None, timeout: float, answered: Answered | None
    ) -> Answered:
        """After an attempt which was not the last, or came to nothing and is made again (None)."""
        if answered is None:
            profile = call.session_asks if call.method in MAY_ASK else None
            self._between.add(id(call))
            try:
                connection = await self._reach.connection(server, call.caller.scope, profile, call)
            finally:
                self._between.discard(id(call))
            answered = await connection.request(call, on_notice, timeout)
        if not isinstance(answered, InputNeeded) or self.is_last(server, call, answered):
            return answered
        return await self._rounds.drive(
            server, call, answered, lambda: self._carried(server, call, on_notice, timeout, None)
        )

    # -- without waiting

    def begin(
        self,
        server: ServerName,
        call: Call,
        on_notice: OnNotice | None,
        timeout: float,
        ended: OnEnd,
        connection: Connection | None = None,
    ) -> Begun | None:
        """`carry`, as far as that goes without waiting; see `Surface.begin`."""
        if connection is None:
            connection = self.ready(server, call)
        if connection is None or (call.method == TOOLS_CALL and _log.isEnabledFor(logging.DEBUG)):
            return None
        begun = BegunCall(self, server, call, on_notice, timeout, ended)
        try:
            begun.attempt = connection.begin(call, on_notice, timeout, begun)
        except BackendFault:
            # Nothing was asked; whoever can wait finds out what there is to do about it.
            return None
        return None if begun.attempt is None else begun

    def ready(self, server: ServerName, call: Call) -> Connection | None:
        """The connection that this call would go by now."""
        return self._reach.ready(server, call.caller.scope, call.session_asks if call.method in MAY_ASK else None)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._tasks.spawn(work, "carry")

    def may_repeat(self, server: ServerName, call: Call, fault: BackendFault) -> bool:
        if isinstance(fault, OutcomeUnknown):
            return self._harmless_twice(server, call, fault)
        return isinstance(fault, BackendUnavailable)

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


class BegunCall:
    """Implements `vocabulary.outcomes.Begun`, and hears how its attempt ended. What is not over with that goes on as a
    task: a second attempt, or rounds of questions."""

    __slots__ = ("_call", "_calls", "_ended", "_on_notice", "_server", "_task", "_timeout", "attempt")

    def __init__(
        self, calls: Calls, server: ServerName, call: Call, on_notice: OnNotice | None, timeout: float, ended: OnEnd
    ) -> None:
        self._calls = calls
        self._server = server
        self._call = call
        self._on_notice = on_notice
        self._timeout = timeout
        self._ended: OnEnd | None = ended
        self._task: asyncio.Task[None] | None = None
        self.attempt: Begun | None = None

    def __call__(self, answered: Answered | BackendFault) -> None:
        if self._ended is None:
            return
        if type(answered) is Done:
            self._end(answered)
            return
        calls = self._calls
        if isinstance(answered, BackendFault):
            first = None
            goes_on = calls.may_repeat(self._server, self._call, answered)
        else:
            first = answered
            goes_on = not calls.is_last(self._server, self._call, answered)
        if goes_on:
            self._task = calls.spawn(self._go_on(first))
        else:
            self._end(answered)

    def _end(self, answered: Answered | EmceepeeError) -> None:
        ended, self._ended, self._on_notice, self.attempt = self._ended, None, None, None
        if ended is not None:
            ended(answered)

    async def _go_on(self, first: Answered | None) -> None:
        try:
            self._end(await self._calls.go_on(self._server, self._call, self._on_notice, self._timeout, first))
        except EmceepeeError as error:
            self._end(error.with_traceback(None))

    def abandon(self) -> None:
        if self._ended is None:
            return
        self._ended = None
        if self._task is not None:
            self._task.cancel()
        elif self.attempt is not None:
            self.attempt.abandon()
