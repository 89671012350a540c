"""Asks in any order of answering, expiring, withdrawing and losing the server: one outcome, and both sides told."""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import Raw

from emceepee.errors import ClientFault, LimitReached
from emceepee.state.pending_requests import PendingKind, PendingRequests
from emceepee.state.recording import Moment
from emceepee.state.settings import AskSettings
from tests.state.conftest import Recorded
from tests.state.soak import SETTINGS
from tests.support.fake_clock import FakeClock

GOOD = {"action": "decline", "role": "assistant", "model": "m", "content": {"type": "text", "text": ""}}
KIND = st.sampled_from(("elicitation", "sampling"))
SERVER = st.sampled_from(("a", "b"))


class AsksInAnyOrder(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.at = 0.0
        self.recorded = Recorded()
        self.asks = PendingRequests(self.recorded, AskSettings(max_pending=6))
        self.made: dict[str, PendingKind] = {}
        self.settled: Counter[str] = Counter()
        self.withdrawn: set[str] = set()
        self.answered: set[str] = set()

    def now(self) -> Moment:
        return Moment(self.at, self.clock.wall())

    @rule(kind=KIND, server=SERVER, ms=st.integers(1, 900_000))
    def ask(self, kind: PendingKind, server: str, ms: int) -> None:
        name = f"A{len(self.made):05}"
        try:
            self.asks.add(name, kind, server, Raw(b"{}"), self.now(), lambda outcome: self.settled.update([name]), ms)
        except LimitReached:
            assert self.asks.closed or len(self.asks) == 6
            return
        self.made[name] = kind

    @precondition(lambda self: self.made)
    @rule(data=st.data(), kind=KIND, fits=st.booleans())
    def answer(self, data: st.DataObject, kind: PendingKind, fits: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.made)))
        is_open = name in {ask.id for ask in self.asks.open(kind)}
        try:
            self.asks.answer(kind, name, GOOD if fits else {}, self.now())
        except ClientFault:
            assert not (is_open and fits)
        else:
            assert is_open
            assert fits
            self.answered.add(name)

    @precondition(lambda self: self.made)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.made)))
        if self.asks.withdraw(name):
            self.withdrawn.add(name)

    @rule(server=SERVER)
    def lose(self, server: str) -> None:
        self.asks.reject_server(server, "Server disconnected")
        assert not self.asks.open(server=server)

    @rule(seconds=st.floats(0, 500))
    def pass_time(self, seconds: float) -> None:
        self.at += seconds
        self.asks.expire(self.now())
        due = self.asks.next_deadline()
        assert due is None or due > self.at

    @precondition(lambda self: len(self.made) > 20)
    @rule()
    def close(self) -> None:
        self.asks.close()
        assert not len(self.asks)

    @invariant()
    def each_server_is_told_once_unless_it_took_its_question_back(self) -> None:
        ended = set(self.made) - {ask.id for ask in self.asks.open()}
        assert set(self.settled.values()) <= {1}
        assert set(self.settled) == ended - self.withdrawn

    @invariant()
    def each_client_is_told_once_of_what_it_did_not_answer(self) -> None:
        told = Counter(data["requestId"] for kind, _, data in self.recorded.events if kind.endswith("_expired"))
        assert set(told.values()) <= {1}
        assert not set(told) & self.answered
        if not self.asks.closed:
            assert set(told) == set(self.made) - {ask.id for ask in self.asks.open()} - self.answered


TestAsksInAnyOrder = AsksInAnyOrder.TestCase
TestAsksInAnyOrder.settings = SETTINGS
