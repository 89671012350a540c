"""A server that needs something before it goes on, and a client that would not call again by itself: what is needed is
collected from whoever can give it, and the call made again, until it ends (era-bridging 2.6).

It knows neither wire nor client: what is asked goes where everything goes that a server asks (`relay.asks`).

The one rule: one call, one loop. Whatever ends it takes back what is still asked, and each answer is sent once, with
the state of its own round.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

from msgspec import Raw

from emceepee.relay.asks import Asks
from emceepee.runtime.clock import Clock
from emceepee.runtime.ids import uuid_of_chance
from emceepee.vocabulary.asks import Belonging, RaisedAsk, Withdraw
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.names import ServerName
from emceepee.vocabulary.outcomes import Answered, Done, Failed, InputNeeded, Outcome, Wanted
from emceepee.vocabulary.raw_json import EMPTY_OBJECT, Fields, NotThatShape, Payload, read_fields, to_raw

MAX_ROUNDS = 8
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.25
_INTERNAL_ERROR = -32603
_CANCELLED = to_raw({"action": "cancel"})

Again: TypeAlias = Callable[[], Awaitable[Answered]]


class Rounds:
    def __init__(self, asks: Asks, clock: Clock, new_id: Callable[[], str] = uuid_of_chance) -> None:
        self._asks = asks
        self._clock = clock
        self._new_id = new_id
        self._driven: set[int] = set()

    def is_for(self, server: ServerName, call: Call, needed: InputNeeded) -> bool:
        """Whether somebody else than a client that would call again by itself has to be asked, for some of it."""
        return id(call) not in self._driven and self._asks.goes_to_model(server, call, needed.wants.values())

    def drives(self, call: Call) -> bool:
        return id(call) in self._driven

    async def drive(self, server: ServerName, call: Call, needed: InputNeeded, again: Again) -> Outcome:
        """Raises what `again` raises. Cancelled, it takes back what is asked."""
        opened: list[str] = []
        wait = _FIRST_PAUSE
        # For its whole length the call is ours: what is needed next comes here.
        call.relays_asks = True
        self._driven.add(id(call))
        try:
            for _ in range(MAX_ROUNDS):
                if needed.wants:
                    collected = await self._collected(server, call, needed, opened)
                    if not isinstance(collected, dict):
                        return collected
                    call.answers = collected
                else:
                    await self._clock.sleep(wait)
                    wait = min(2 * wait, _LONGEST_PAUSE)
                    call.answers = None
                call.state = needed.state
                answered = await again()
                if not isinstance(answered, InputNeeded):
                    self._completed(call, opened)
                    return answered
                needed = answered
        finally:
            self._driven.discard(id(call))
            call.relays_asks = False
            call.answers = call.state = None
        return failure(call, f"Server '{server}' asked again and again: too many rounds ({MAX_ROUNDS})")

    async def _collected(
        self, server: ServerName, call: Call, needed: InputNeeded, opened: list[str]
    ) -> Fields | Outcome:
        """The answers by the server's keys, or how the call ends without them."""
        round_ = _Round(len(needed.wants))
        try:
            for key, wanted in needed.wants.items():
                params = wanted.params if wanted.what != "url" else self._with_id(wanted.params, opened)
                ask = RaisedAsk(
                    wanted.kind, wanted.what, params, Belonging("exact", (call,)), round_.settle(key, wanted)
                )
                taken = self._asks.take(server, (call.caller.scope,), ask)
                if isinstance(taken, Failed):
                    ask.settle(taken)
                else:
                    round_.open[key] = taken
                if round_.failed is not None:
                    break
            await round_.complete()
        finally:
            round_.withdraw("the call needs no answer any more")
        if round_.failed is not None:
            return failure(call, round_.failed.message)
        return {key: round_.answers[key] for key in needed.wants}

    def _with_id(self, params: Raw, opened: list[str]) -> Raw:
        """Clients with a handshake know an address they were sent to by an id, which a server without does not give."""
        fields: Fields = {}
        with suppress(NotThatShape):
            fields = read_fields(params or EMPTY_OBJECT)
        opened.append(self._new_id())
        return to_raw({**fields, "elicitationId": opened[-1]})

    def _completed(self, call: Call, opened: list[str]) -> None:
        """What it was sent to an address for must be done: its server went on."""
        for elicitation_id in opened if call.ear is not None else ():
            call.ear.completed(elicitation_id)  # type: ignore[union-attr]


class _Round:
    """What is asked at one time, and what has been answered of it."""

    def __init__(self, expected: int) -> None:
        self.open: dict[str, Withdraw] = {}
        self.answers: Fields = {}
        self.failed: Failed | None = None
        self._expected = expected
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settle(self, key: str, wanted: Wanted) -> Callable[[Outcome], None]:
        def settled(outcome: Outcome) -> None:
            self.open.pop(key, None)
            if isinstance(outcome, Done):
                self.answers[key] = outcome.payload.raw()
            elif wanted.kind == "elicitation":
                self.answers[key] = _CANCELLED
            else:
                # In this era there is no way to say no to these.
                self.failed = outcome
            if (self.failed is not None or len(self.answers) == self._expected) and not self._done.done():
                self._done.set_result(None)

        return settled

    async def complete(self) -> None:
        await self._done

    def withdraw(self, reason: str) -> None:
        left, self.open = self.open, {}
        for withdraw in left.values():
            withdraw(reason)


def failure(call: Call, message: str) -> Outcome:
    """How a call ends that cannot go on: a tool says so to the model, anything else to the client."""
    if call.method != "tools/call":
        return Failed(_INTERNAL_ERROR, message)
    return Done(Payload.of({"content": [{"type": "text", "text": message}], "isError": True}))
