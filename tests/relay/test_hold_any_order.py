"""Held calls, with servers and clients doing whatever they like in whichever order.

Whatever happens: a server hears at most one answer to each ask, and one of those that were given for it or that nobody
answers; a key names one ask for ever; and in the end every ask and every call has had an end, and nothing is left.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from emceepee.errors import ClientFault, OutcomeUnknown
from emceepee.relay.hold import Told
from emceepee.relay.settings import RelaySettings
from emceepee.vocabulary.outcomes import InputNeeded
from tests.support.fake_clock import settle
from tests.support.held_calls import ANSWERS, ServerAsk, ServerCall, Stage

STEPS = int(os.environ.get("SOAK_STEPS", "0")) // 100
AMONG = st.integers(0, 1 << 16)
GIVEN_UP: tuple[Any, ...] = ({"action": "cancel"}, -1, -32603)


class OneCall:
    def __init__(self, number: int) -> None:
        self.number = number
        self.served: ServerCall | None = None
        self.told: list[InputNeeded] = []
        self.sent: list[asyncio.Task[Told]] = []
        self.given: dict[str, list[Any]] = {}
        self.withdrawn: list[ServerAsk] = []
        self.answered = False


class Machine(RuleBasedStateMachine):
    at_once = False

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.runner.get_loop()
        self.calls: list[OneCall] = []
        self.given = 0
        self.run(self._open())

    async def _open(self) -> None:
        self.stage = Stage(RelaySettings(max_holds_each=2), at_once=self.at_once)

    def run(self, work: Coroutine[Any, Any, Any]) -> None:
        async def and_settle() -> None:
            await work
            await settle(20)
            for call in self.calls:
                self._collect(call)

        self.runner.run(and_settle())

    def _collect(self, call: OneCall) -> None:
        for task in [task for task in call.sent if task.done()]:
            call.sent.remove(task)
            if task.cancelled():
                continue
            if isinstance(task.exception(), ClientFault):
                continue
            told = task.result()
            call.answered = True
            if isinstance(told, InputNeeded):
                call.told.append(told)

    def _one(self, among: int) -> OneCall | None:
        return self.calls[among % len(self.calls)] if self.calls else None

    def _send(self, call: OneCall, request: Any) -> None:
        call.sent.append(self.stage.send(request, []))

    @rule()
    def begin(self) -> None:
        async def work() -> None:
            call = OneCall(len(self.calls))
            self._send(call, self.stage.call(n=call.number))
            await settle()
            call.served = self.stage.served[-1]
            self.calls.append(call)

        if len(self.calls) < 6:
            self.run(work())

    @rule(among=AMONG, what=st.sampled_from(["form", "form", "url", "sampling", "roots"]), beats=st.booleans())
    def ask(self, among: int, what: Any, beats: bool) -> None:
        async def work() -> None:
            call = self._one(among)
            if call is not None and call.served is not None and call.served.call.ear is not None:
                call.served.asks(what, beats)

        self.run(work())

    @rule(among=AMONG)
    def withdraw(self, among: int) -> None:
        async def work() -> None:
            call = self._one(among)
            for ask in call.served.asked if call is not None and call.served is not None else ():
                if callable(ask.taken) and not ask.heard and ask not in call.withdrawn:  # type: ignore[union-attr]
                    call.withdrawn.append(ask)  # type: ignore[union-attr]
                    ask.taken("cancelled by server")
                    return

        self.run(work())

    @rule(among=AMONG, how=st.sampled_from(["ends", "ends", "lost"]))
    def end(self, among: int, how: str) -> None:
        async def work() -> None:
            call = self._one(among)
            if call is not None and call.served is not None:
                call.served.ends(OutcomeUnknown("shop", "gone") if how == "lost" else None)

        self.run(work())

    @rule(seconds=st.sampled_from([0.03, 0.03, 5.0, 15.0, 120.0, 600.0]))
    def time_passes(self, seconds: float) -> None:
        self.run(self.stage.clock.advance(seconds))

    @rule(among=AMONG, which=AMONG, keys=st.integers(0, 7), broken=st.sampled_from([False, False, False, True]))
    def come_back(self, among: int, which: int, keys: int, broken: bool) -> None:
        async def work() -> None:
            call = self._one(among)
            if call is None or not call.told:
                return
            told = call.told[-1 - which % len(call.told)]
            answers: dict[str, Any] = {}
            for place, (key, want) in enumerate(told.wants.items()):
                if keys >> place & 1:
                    self.given += 1
                    answers[key] = {} if broken else ANSWERS[want.kind] | {"_n": self.given}
                    call.given.setdefault(key, []).append(answers[key])
            self._send(call, self.stage.call(told, answers, n=call.number))

        self.run(work())

    @rule(among=AMONG)
    def leave(self, among: int) -> None:
        async def work() -> None:
            call = self._one(among)
            if call is not None and call.sent:
                call.sent[0].cancel()

        self.run(work())

    @invariant()
    def each_ask_is_answered_once_with_what_was_given_for_it(self) -> None:
        for call in getattr(self, "calls", ()):
            keys = {id(want.params): key for told in call.told for key, want in told.wants.items()}
            for ask in call.served.asked if call.served is not None else ():
                assert len(ask.heard) <= 1
                assert not (ask.heard and ask in call.withdrawn)
                if ask.heard and ask.answer not in GIVEN_UP:
                    assert ask.answer in call.given[keys[id(ask.raised.params)]]

    @invariant()
    def a_key_names_one_ask(self) -> None:
        for call in getattr(self, "calls", ()):
            named: dict[str, Any] = {}
            for told in call.told:
                for key, want in told.wants.items():
                    assert named.setdefault(key, want.params) is want.params

    @invariant()
    def there_are_no_more_than_may_be(self) -> None:
        if hasattr(self, "stage"):
            assert self.stage.holds.of("p") <= 2

    async def _end_what_is_attached(self) -> None:
        for call in self.calls:
            if call.sent and call.served is not None:
                call.served.ends()

    def teardown(self) -> None:
        if not hasattr(self, "stage"):
            return
        self.run(self.stage.clock.advance(10_000))
        # A call that somebody waits for ends by its own time, which is not kept here.
        self.run(self._end_what_is_attached())
        self.run(self.stage.clock.advance(200))
        for call in self.calls:
            assert call.sent == [], "a client waits for ever"
            assert call.served is not None
            assert call.served.cancelled or call.served.end.done()
            for ask in call.served.asked:
                refused = not callable(ask.taken)
                assert refused or ask.heard or ask in call.withdrawn or call.served.cancelled
        assert (len(self.stage.holds), self.stage.holds.remembered) == (0, 0)
        assert self.stage.clock.waiting == 0
        self.run(self.stage.close())
        self.runner.close()


class AtOnce(Machine):
    """The same, begun without a task each."""

    at_once = True


SETTINGS = settings(
    max_examples=STEPS or 50,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


class TestAnyOrder(Machine.TestCase):  # type: ignore[misc, name-defined]
    settings = SETTINGS


class TestAnyOrderAtOnce(AtOnce.TestCase):  # type: ignore[misc, name-defined]
    settings = SETTINGS
