"""A peer in every order of events: each ask ends exactly once, each request is answered at most once.

A state machine of hypothesis drives one peer beside a plain model of it. The invariants are stated once, below, and
hold after every step.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec import Raw

from emceepee.framing.json_text import Limits, read_message
from emceepee.protocol.events import CancelledByPeer, Ended, Event, Owed, ProgressFor, Refused
from emceepee.protocol.messages import ErrorObject, Failure, Notification, Request, Result
from emceepee.protocol.peer import Asked, Debt, Peer, PeerClosed

EMPTY = Raw(b"{}")
THEIR_IDS: list[int | str] = [1, "1", 2, "g1", "g2"]


class AnyOrder(RuleBasedStateMachine):
    asks: Bundle[Asked] = Bundle("asks")
    debts: Bundle[Debt] = Bundle("debts")

    @initialize()
    def start(self) -> None:
        self.peer = Peer("g", max_owed=3)
        self.now = 0.0
        self.closed = False
        self.endings: Counter[str] = Counter()
        self.waiting: dict[str, Asked] = {}
        self.sent: set[str] = set()
        self.owed: dict[int | str, Debt] = {}
        self.answered: Counter[int] = Counter()
        self.never_again: set[int] = set()

    def _ended(self, asked: Asked) -> None:
        self.endings[asked.id] += 1
        assert self.waiting.pop(asked.id, None) is asked
        assert asked.ended

    def _hear(self, message: Request | Notification | Result | Failure) -> list[Event]:
        events = self.peer.receive(message, "here")
        for event in events:
            match event:
                case Ended(asked=asked):
                    self._ended(asked)
                case ProgressFor(asked=asked):
                    assert asked.id in self.waiting
                case Owed(owed=debt):
                    assert debt.id not in self.owed
                    self.owed[debt.id] = debt
                case CancelledByPeer(owed=debt):
                    assert self.owed.pop(debt.id) is debt
                    self.never_again.add(id(debt))
                case Refused():
                    assert message.id in self.owed or len(self.owed) == 3  # type: ignore[union-attr]
        return events

    @rule(target=asks, patience=st.none() | st.floats(0, 10))
    @precondition(lambda self: not self.closed)
    def open(self, patience: float | None) -> Asked:
        asked = self.peer.open("m", None if patience is None else self.now + patience)
        assert asked.id not in self.endings
        assert asked.id not in self.waiting
        self.waiting[asked.id] = asked
        return asked

    @rule()
    @precondition(lambda self: self.closed)
    def open_after_closing(self) -> None:
        with pytest.raises(PeerClosed):
            self.peer.open("m", None)

    @rule(asked=asks)
    def send(self, asked: Asked) -> None:
        self.peer.sent(asked)
        self.sent.add(asked.id)

    @rule(asked=asks)
    def fail_to_send(self, asked: Asked) -> None:
        self.peer.failed_to_send(asked)
        if self.waiting.get(asked.id) is asked:
            self._ended(asked)

    @rule(asked=asks)
    def abandon(self, asked: Asked) -> None:
        waited = asked.id in self.waiting
        notice = self.peer.abandon(asked, "x")
        assert (notice is not None) == (waited and asked.id in self.sent)
        if waited:
            self._ended(asked)

    @rule(asked=asks, well=st.booleans())
    def receive_an_answer(self, asked: Asked, well: bool) -> None:
        waited = asked.id in self.waiting
        answer = Result(asked.id, EMPTY) if well else Failure(asked.id, ErrorObject(1, "no"))
        [event] = self._hear(answer)
        assert isinstance(event, Ended) == waited

    @rule(identity=st.sampled_from([1, 2, "1", "g", "g0", "h1", None]))
    def receive_an_answer_to_nothing(self, identity: int | str | None) -> None:
        [event] = self._hear(Failure(identity, ErrorObject(1, "no")))
        assert not isinstance(event, Ended)

    @rule(asked=asks)
    def receive_progress(self, asked: Asked) -> None:
        params = Raw(f'{{"progressToken":"{asked.id}","progress":1}}'.encode())
        events = self._hear(Notification("notifications/progress", params))
        assert any(isinstance(event, ProgressFor) for event in events) == (asked.id in self.waiting)

    @rule(identity=st.sampled_from(['"g1"', '"g2"', '"g3"', "1", '"1"', "2", "null"]))
    def receive_a_cancellation(self, identity: str) -> None:
        self._hear(Notification("notifications/cancelled", Raw(f'{{"requestId":{identity}}}'.encode())))

    @rule(target=debts, identity=st.sampled_from(THEIR_IDS))
    @precondition(lambda self: not self.closed)
    def receive_a_request(self, identity: int | str) -> Debt:
        self._hear(Request(identity, "m"))
        # A refused one leaves the debts as they were; any open one will do for the rules that follow.
        return self.owed.get(identity) or next(iter(self.owed.values()))

    @rule(debt=debts, well=st.booleans())
    def answer(self, debt: Debt, well: bool) -> None:
        is_open = self.owed.get(debt.id) is debt
        written = self.peer.answer(debt, b"{}") if well else self.peer.refuse(debt, 1, "no")
        assert (written is not None) == is_open
        if written is not None:
            message = read_message(written, Limits())
            assert isinstance(message, Result | Failure)
            assert (message.id, type(message.id)) == (debt.id, type(debt.id))
            assert id(debt) not in self.never_again
            self.answered[id(debt)] += 1
            del self.owed[debt.id]

    @rule(seconds=st.floats(0, 5))
    def let_time_pass(self, seconds: float) -> None:
        self.now += seconds
        for asked, notice in self.peer.expire(self.now):
            assert asked.deadline is not None
            assert asked.deadline <= self.now
            assert (notice is not None) == (asked.id in self.sent)
            self._ended(asked)

    @rule()
    def close(self) -> None:
        for ended in self.peer.close("over"):
            self._ended(ended.asked)
        self.closed = True
        self.owed.clear()

    @invariant()
    def each_ask_ends_at_most_once_and_is_pending_until_then(self) -> None:
        assert all(count == 1 for count in self.endings.values())
        assert len(self.peer) == len(self.waiting)
        assert not any(asked.ended for asked in self.waiting.values())

    @invariant()
    def each_request_is_answered_at_most_once(self) -> None:
        assert all(count == 1 for count in self.answered.values())
        assert self.peer.owing == len(self.owed)

    @invariant()
    def the_next_deadline_is_that_of_the_most_urgent_ask(self) -> None:
        deadlines = [asked.deadline for asked in self.waiting.values() if asked.deadline is not None]
        assert self.peer.next_deadline() == (min(deadlines) if deadlines else None)

    @invariant()
    def nothing_is_pending_after_the_end(self) -> None:
        assert not self.closed or (len(self.peer) == 0 and self.peer.owing == 0)

    def teardown(self) -> None:
        if hasattr(self, "peer"):
            self.close()
            assert not self.waiting


AnyOrder.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestAnyOrder = pytest.mark.shows("X-BUG-66", "C-DISP-13", "C-DISP-16")(AnyOrder.TestCase)
