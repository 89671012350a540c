"""One call of a client that can be asked but not reached: when its server asks, the client is sent away with the
question and comes back with the answer, and the call waits at its server meanwhile.

It is the call's ear. It does not know who may come back (`request_state` does), and not how many of its kind there are
(`holds` does); a call whose server asks nothing never gets a place there.

The one rule: what a client is told depends on the round that he knows and on how the call stands, never on how often or
in which order he asks; each answer reaches the server once.
"""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import msgspec
from msgspec import Raw

from emceepee.errors import ClientFault, EmceepeeError, OutcomeUnknown
from emceepee.relay.hold_life import OVER, Life, Step, after
from emceepee.relay.open_asks import OpenAsks, unanswered
from emceepee.relay.settings import RelaySettings
from emceepee.relay.surface import OnNotice, Surface
from emceepee.relay.task_room import as_failed
from emceepee.runtime.clock import Clock, Timer
from emceepee.runtime.spawn import TaskScope
from emceepee.vocabulary.asks import NO_ASKS, AskKind, AskProfile, RaisedAsk, Withdraw
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.notices import LogLine, Notice, Progress
from emceepee.vocabulary.outcomes import Answered, Begun, Done, Failed, InputNeeded
from emceepee.vocabulary.tasks import GoesOn

Told: TypeAlias = Answered | GoesOn

_INTERNAL_ERROR, _INVALID_PARAMS = -32603, -32602
GONE = "Invalid or expired requestState"
WITHOUT_ANSWER: frozenset[AskKind] = frozenset(("sampling", "roots"))
"""What a client cannot decline in words: he just never comes back."""


@dataclass(slots=True, eq=False)
class Parked(InputNeeded):
    """What is asked in one round of a held call; its state is ours. Implements `vocabulary.outcomes.Delivery`, for the
    one who is told of it first."""

    hold: Hold | None = None

    def committed(self) -> None:
        self.hold = None

    def lost(self) -> None:
        hold, self.hold = self.hold, None
        if hold is not None:
            hold.undelivered()

    def again(self) -> Parked:
        return Parked(self.requests, self.wants, self.state)


class Keeper(Protocol):
    """Where held calls have their place; `holds` implements it."""

    @property
    def clock(self) -> Clock: ...

    @property
    def settings(self) -> RelaySettings: ...

    @property
    def tasks(self) -> TaskScope: ...

    def admit(self, hold: Hold) -> str | None:
        """A place among the others, and the id that goes with it; None where there is none."""
        ...

    def state(self, hold: Hold) -> Raw:
        """What lets the client come back for the round it is in."""
        ...

    def visited(self, elicitation_id: str) -> None:
        """An address that somebody was sent to was visited, as far as its server can tell."""
        ...

    def asked(self, hold: Hold, ask: RaisedAsk) -> None: ...

    def answered(self, hold: Hold, ask: RaisedAsk) -> None: ...

    def gave_up(self, hold: Hold, key: str, ask: RaisedAsk, why: str) -> None: ...

    def over(self, hold: Hold) -> None:
        """It takes up no place any more, and is remembered for a while."""
        ...


class _Waiter:
    """One request that waits for what comes next."""

    __slots__ = ("future", "on_notice")

    def __init__(self, on_notice: OnNotice | None) -> None:
        self.future: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
        self.on_notice = on_notice

    def tell(self, told: Told) -> None:
        if not self.future.done():
            self.future.set_result(told)


class _Caller:
    """One request for which nobody waits: it is told what comes next. Implements `vocabulary.outcomes.Begun`."""

    __slots__ = ("_hold", "on_notice", "tell")

    def __init__(self, hold: Hold, on_notice: OnNotice | None, tell: Callable[[Told], None]) -> None:
        self._hold: Hold | None = hold
        self.on_notice = on_notice
        self.tell = tell

    def abandon(self) -> None:
        hold, self._hold = self._hold, None
        if hold is not None:
            hold.left_by(self)


class Hold:
    """Implements `vocabulary.asks.Ear`."""

    __slots__ = (
        "_asks",
        "_begun",
                "_body",
        "_coalescing",
        "_created",
        "_due",
        "_heart",
        "_keeper",
        "_logs",
        "_outcome",
        "_progress",
        "_running",
        "_shown",
        "_waiters",
        "call",
        "id",
        "life",
        "params",
        "round",
        "surface",
    )  # fmt: skip

    def __init__(self, keeper: Keeper, surface: Surface, call: Call) -> None:
        self.surface = surface
        self.call = call
        self.params = call.params
        """As its client sent them, whatever becomes of the call on its way."""
        self.life: Life = "attached"
        self.round = 0
        self.id = ""
        """Empty until its server asked something."""
        self._keeper = keeper
        self._created = keeper.clock.now()
        self._waiters: list[_Waiter | _Caller] = []
        self._begun: Begun | None = None
        self._running: asyncio.Task[None] | None = None
        self._outcome: Told | None = None
        # What only a call that was asked something needs:
        self._asks: OpenAsks | None = None
        self._body: Parked | None = None
        self._shown: tuple[str, ...] = ()
        self._coalescing: Timer | None = None
        self._due: Timer | None = None
        self._heart: Timer | None = None
        self._progress: Progress | None = None
        self._logs: deque[LogLine] | None = None

    # -- the call

    def begin(self) -> None:
        self.call.ear = self
        self._running = self._keeper.tasks.spawn(self._run(), "call")
        self._running.add_done_callback(self._ran)

    def begin_at_once(self, on_notice: OnNotice | None, tell: Callable[[Told], None]) -> Begun | None:
        """As `Surface.begin`: `begin` and `attend` in one, without a task."""
        caller = _Caller(self, on_notice, tell)
        self._waiters.append(caller)
        self.call.ear = self
        begun = self.surface.begin(self.call, self._hear, self._ended_with)
        if self.life in OVER:
            return caller
        if begun is None:
            self.call.ear = None
            self._waiters.clear()
            return None
        self._begun = begun
        return caller

    def _ended_with(self, outcome: Told | EmceepeeError) -> None:
        """Implements `surface.OnEnd`."""
        self._begun = None
        self.call.ear = None
        if isinstance(outcome, EmceepeeError):
            self._ended(as_failed(outcome), "lose" if isinstance(outcome, OutcomeUnknown) else "finish")
        else:
            self._ended(outcome, "finish")

    async def _run(self) -> None:
        try:
            outcome = await self.surface.carry(self.call, self._hear)
        except OutcomeUnknown as error:
            self._ended(as_failed(error), "lose")
        except EmceepeeError as error:
            self._ended(as_failed(error), "finish")
        else:
            self._ended(outcome, "finish")

    def _ran(self, task: asyncio.Task[None]) -> None:
        """However it ended, nobody goes on waiting for it."""
        self._running = None
        self.call.ear = None
        if not task.cancelled() and (error := task.exception()) is not None:
            for waiter in self._waiters:
                if isinstance(waiter, _Waiter) and not waiter.future.done():
                    waiter.future.set_exception(error)
        if self.life not in OVER and self.life != "settled":
            self._ended(Failed(_INTERNAL_ERROR, "The call was stopped"), "finish")

    def _ended(self, outcome: Told, step: Step) -> None:
        if self.life in OVER:
            return
        self._outcome = outcome
        self._goes(step)
        self._move_asks()
        self._give_up_asks("the call has ended", told=False)
        if self.life == "settled":
            self._wait_for_client()
        else:
            self._over()
        if self._waiters:
            self._answer(self._told_again())

    def _hear(self, notice: Notice) -> None:
        if self._waiters:
            for waiter in self._waiters:
                if waiter.on_notice is not None:
                    waiter.on_notice(notice)
        elif isinstance(notice, Progress):
            self._progress = notice
        elif isinstance(notice, LogLine):
            if self._logs is None:
                self._logs = deque(maxlen=self._keeper.settings.hold_log_lines)
            self._logs.append(notice)

    # -- the ear

    @property
    def hears(self) -> AskProfile:
        return NO_ASKS if self.life in OVER or self.life == "settled" else self.call.asks

    def completed(self, elicitation_id: str) -> None:
        """This era has no word for it: its client finds out by coming back."""
        self._keeper.visited(elicitation_id)

    def ask(self, ask: RaisedAsk) -> Withdraw | Failed:
        if self.life in OVER or self.life == "settled":
            return Failed(_INTERNAL_ERROR, "The call is over")
        if self._asks is None:
            refused = self._keeper.admit(self)
            if refused is not None:
                # After it was taken, because an answer is for what was taken.
                asyncio.get_running_loop().call_soon(ask.settle, unanswered(ask.kind))
                return _nothing
            self._asks = OpenAsks()
        if len(self._asks) >= self._keeper.settings.max_asks_per_call:
            return Failed(_INTERNAL_ERROR, "Too many open questions in one call")
        key = self._asks.add(ask, self.round + 1)
        self._keeper.asked(self, ask)
        if self.life == "parked":
            self._start_heart()
        elif self._coalescing is None:
            self._coalescing = self._keeper.clock.after(self._keeper.settings.coalesce, self._coalesced)
        return functools.partial(self._withdrawn, key)

    def _withdrawn(self, key: str, why: str) -> None:
        ask = self._asks.withdrawn(key) if self._asks is not None else None
        if ask is not None:
            self._keeper.gave_up(self, key, ask, why)

    def _coalesced(self) -> None:
        self._coalescing = None
        if self._asks and self.life in ("attached", "detached"):
            self._park()

    def _park(self) -> None:
        assert self._asks is not None
        self._goes("park")
        self.round += 1
        self._shown = self._asks.keys
        first = Parked(self._asks.requests(), self._asks.wants(), self._keeper.state(self))
        self._body = first.again()
        if self.round == 1:
            first.hold = self
        self._wait_for_client()
        self._start_heart()
        self._answer(first)

    def _start_heart(self) -> None:
        if self._heart is None and self._asks is not None and self._asks.can_be_told:
            self._heart = self._keeper.clock.after(self._keeper.settings.heartbeat, self._beat)

    def _beat(self) -> None:
        self._heart = None
        if self.life == "parked" and self._asks is not None:
            self._asks.tell_waiting()
            self._start_heart()

    # -- the client

    async def attend(self, on_notice: OnNotice | None) -> Told:
        """What comes next: how it ended, or what is asked. When cancelled, this client has gone away."""
        waiter = _Waiter(on_notice)
        self._waiters.append(waiter)
        try:
            return await waiter.future
        except asyncio.CancelledError:
            self.left_by(waiter)
            raise

    def left_by(self, waiter: _Waiter | _Caller) -> None:
        """This client has gone away."""
        self._waiters = [one for one in self._waiters if one is not waiter]
        self._left()

    def _left(self) -> None:
        if self._waiters or self.life in OVER:
            return
        if self.life != "attached":
            # He was told just now, and will never know it.
            self.undelivered()
        elif self.round == 0:
            self._give_up()
        else:
            self._goes("leave")
            self._due = self._keeper.clock.after(self._keeper.settings.reattach_grace, self._gone)

    def _gone(self) -> None:
        """He did not come back."""
        self._due = None
        self._give_up()

    def _give_up(self) -> None:
        self._goes("give_up")
        self._move_asks()
        self._end_call()
        self._over()

    def undelivered(self) -> None:
        """The answer that would let him come back has not reached him, as far as we know: he has a moment to prove us
        wrong."""
        if self.round == 1 and self.life in ("parked", "settled"):
            self._stop(due=True)
            self._due = self._keeper.clock.after(self._keeper.settings.reattach_grace, self._expired)

    async def again(self, known: int, call: Call, on_notice: OnNotice | None) -> Told:
        """He comes back with the state of a round. Raises `ClientFault` where nothing is left to come back to, and for
        an answer that has no form; then he may come back with a better one."""
        if not 0 < known <= self.round or self.life in ("cancelled", "expired"):
            raise ClientFault(_INVALID_PARAMS, GONE)
        if self.life in ("done", "lost"):
            return self._told_again()
        if self.life == "settled":
            self._goes("tell")
            outcome = self._told_again()
            self._over()
            return outcome
        if self.life == "parked":
            body = self._resume(known, call)
            if body is not None:
                self._wait_for_client()
                return body
        elif self.life == "detached":
            self._stop(due=True)
            self._goes("come_back")
        self._tell_what_was_missed(on_notice)
        return await self.attend(on_notice)

    def _told_again(self) -> Told:
        """Whether it arrives matters for the first time only."""
        assert self._outcome is not None
        told = self._outcome
        if isinstance(told, Done) and told.delivery is not None:
            self._outcome = msgspec.structs.replace(told, delivery=None)
        return told

    def _resume(self, known: int, call: Call) -> Parked | None:
        """Hand on what he answers; or what he has to be told instead, because nothing of it answers anything."""
        assert self._asks is not None
        assert self._body is not None
        if known < self.round:
            return self._body
        given = self._asks.read(call.answers or {})
        if not given and self._asks and self._asks.keys == self._shown:
            return self._body
        self._goes("resume")
        self._stop(due=True, heart=True)
        for key, outcome in given.items():
            self._keeper.answered(self, self._asks.settle(key, outcome))
        if self._asks and self._coalescing is None:
            self._coalescing = self._keeper.clock.after(self._keeper.settings.coalesce, self._coalesced)
        return None

    def _tell_what_was_missed(self, on_notice: OnNotice | None) -> None:
        progress, self._progress = self._progress, None
        lines, self._logs = self._logs or (), None
        if on_notice is not None:
            for notice in (*lines, *((progress,) if progress is not None else ())):
                on_notice(notice)

    # -- the end

    def expire(self, why: str, at_once: bool = False) -> None:
        """Nobody will answer: its server is told so, and a moment later that nobody wants its result. Does nothing to
        what is over."""
        if self.life in OVER:
            return
        self._goes("expire")
        self._lose_outcome()
        self._give_up_asks(why, told=True)
        if at_once:
            self._end_call()
        else:
            self._keeper.clock.after(self._keeper.settings.expiry_grace, self._end_call)
        self._over()
        self._answer(Failed(_INTERNAL_ERROR, f"Nobody waits for this call any more: {why}"))

    def _lose_outcome(self) -> None:
        """There was an answer, and nobody came for it."""
        told, self._outcome = self._outcome, None
        if isinstance(told, Done) and told.delivery is not None:
            told.delivery.lost()

    def _expired(self) -> None:
        self._due = None
        self.expire("nobody answered in time")

    def _end_call(self) -> None:
        begun, self._begun = self._begun, None
        if begun is not None:
            self.call.ear = None
            begun.abandon()
        if self._running is not None:
            self._running.cancel()

    def _over(self) -> None:
        self._stop(due=True, heart=True)
        if self._coalescing is not None:
            self._coalescing.cancel()
            self._coalescing = None
        self._body, self._progress, self._logs = None, None, None
        if self.id:
            self._keeper.over(self)

    def _move_asks(self) -> None:
        if self._asks:
            self._asks.move()

    def _give_up_asks(self, why: str, told: bool) -> None:
        for key, ask in self._asks.give_up() if self._asks else ():
            if told:
                self._keeper.gave_up(self, key, ask, why)

    def _answer(self, told: Told) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.tell(told)
            told = told.again() if isinstance(told, Parked) else self._told_again() if isinstance(told, Done) else told

    def _goes(self, step: Step) -> None:
        self.life = after(self.life, step)

    # -- time

    def _wait_for_client(self) -> None:
        """Until then, from his last sign of life; never longer than a held call may live at all."""
        settings, clock = self._keeper.settings, self._keeper.clock
        self._stop(due=True)
        patience = settings.hold_ttl
        if self._asks and self._asks.kinds <= WITHOUT_ANSWER:
            patience = min(patience, settings.hold_ttl_unrefusable)
        left = self._created + settings.hold_cap - clock.now()
        self._due = clock.after(max(0.0, min(patience, left)), self._expired)

    def _stop(self, *, due: bool = False, heart: bool = False) -> None:
        if due and self._due is not None:
            self._due.cancel()
            self._due = None
        if heart and self._heart is not None:
            self._heart.cancel()
            self._heart = None

    @property
    def parked(self) -> bool:
        return self.life in ("parked", "settled")

    @property
    def kept_bytes(self) -> int:
        """Of how it ended."""
        return len(memoryview(self._outcome.payload.raw())) if isinstance(self._outcome, Done) else 0


def _nothing(why: str) -> None: ...
