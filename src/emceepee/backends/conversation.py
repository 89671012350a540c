"""One peer over one transport: what we ask of a server, and what it tells us, without a word of either era.

The one rule: whatever ends a question, ends it here exactly once, and the caller learns which of the endings it was.
The reading path (`message`, `rubbish`, `lost`) never waits; what takes time is handed to the scope.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from msgspec import Raw

from emceepee.backends.transport import Header, Origin, Transport
from emceepee.eras.asks import undeclared
from emceepee.errors import BackendFault, BackendTimeout, BackendUnavailable, BackendViolation, OutcomeUnknown
from emceepee.protocol.events import Answer, CancelledByPeer, Ended, Event, Owed, ProgressFor, Refused, Stray, Told
from emceepee.protocol.messages import (
    INTERNAL_ERROR,
    Failure,
    Message,
    RequestId,
    Result,
    write_notification,
    write_request,
)
from emceepee.protocol.outbound import Asked, Lost, RemoteCancelled, TimedOut
from emceepee.protocol.peer import Debt, Peer
from emceepee.runtime.clock import Clock, Timer
from emceepee.runtime.spawn import TaskScope, bounded
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.outcomes import Done, Outcome
from emceepee.vocabulary.raw_json import Payload

_log = logging.getLogger("emceepee.backends")

Params: TypeAlias = bytes | Raw | Callable[[str], bytes] | None
"""What goes with a question, or what writes it once the progress token is known."""

LAST_WRITE_SECONDS = 5.0
"""A courtesy message (a cancellation, a farewell) may take this long; a wedged server must not hold a shutdown."""

MAX_COURTESIES = 1024
"""Of those, waiting to be written at one time; more than one client's calls that are called off at once."""

_PONG = Done(Payload(b"{}"))

FAREWELL_SECONDS = 1.0
"""What was about to be said when the conversation is closed has this long to leave."""


class Hearing(Protocol):
    """What a question wants to hear while it waits. `takes_logs` is False for what waits but is no call; `call` is what
    it carries, where that has to be known; `seen` what came last, in a word."""

    takes_logs: bool
    seen: str | None
    call: Call | None

    def progress(self, params: Raw) -> None: ...

    def told(self, method: str, params: Raw | None) -> None: ...


class Unasked(Protocol):
    """What the owner of the conversation wants to hear at any time."""

    def told(self, method: str, params: Raw | None, origin: Origin) -> None: ...

    def raised(self, owed: Debt) -> Outcome | None:
        """The server wants something. What it is answered at once; None when `reply` will be called for it."""
        ...

    def ask_cancelled(self, owed: Debt) -> None:
        """It wants that no more; `reply` would write nothing."""
        ...

    def lost(self, fault: BackendFault) -> None: ...


class Conversation:
    """Implements `transport.Inbox`. Ask, tell, close; everything else arrives by callback."""

    def __init__(self, server: str, transport: Transport, unasked: Unasked, clock: Clock) -> None:
        self.server = server
        self.transport = transport
        self.peer = Peer("g")
        self.unasked = unasked
        self._clock = clock
        # Over modern HTTP closing the stream is the cancellation; everywhere else a notice is.
        self.cancel_by_notice = True
        self._tasks = TaskScope(f"conversation:{server}")
        self._waiting: dict[str, Asked] = {}
        self._timer: Timer | None = None
        self._timer_at = 0.0
        self._fault: BackendFault | None = None
        self._closed = False
        self.unreadable = 0
        """What came and was no message."""

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def asked(self) -> int:
        """Questions so far."""
        return self.peer.asked

    async def start(self) -> None:
        await self.transport.start(self)

    # -- asking

    async def ask(
        self,
        method: str,
        params: Params,
        timeout: float | None,
        *,
        hearing: Hearing | None = None,
        headers: Sequence[Header] = (),
    ) -> Result | Failure:
        """Ask and wait for the answer. Cancelling the caller cancels at the server. Raises `BackendFault`.
        Only a stream, which ends with its connection, has no time-out."""
        if self._fault is not None or self._closed:
            raise self._fault or BackendUnavailable(self.server, "the connection is closed")
        asked = self.peer.open(method, None if timeout is None else self._clock.now() + timeout)
        asked.waiter = asyncio.current_task()
        asked.hearing = hearing
        self._waiting[asked.id] = asked
        try:
            if self._timer is None or (asked.deadline is not None and asked.deadline < self._timer_at):
                self._arm(asked.deadline)
            message = write_request(asked.id, method, params(asked.id) if callable(params) else params)
            self.peer.sent(asked)
            await self.transport.send(message, asked.id, headers)
            if asked.answer is None:
                asked.woken = asyncio.get_running_loop().create_future()
                await asked.woken
        except asyncio.CancelledError:
            if not asked.interrupted:
                self._abandon(asked, "the caller cancelled the request")
                raise
            asked.waiter.uncancel()
        except BackendFault as fault:
            # The answer may have been handed over before its stream broke.
            if not _is_answer(asked.answer):
                _witnessed(fault, asked)
                raise
        finally:
            if not asked.ended:
                self.peer.failed_to_send(asked)
            del self._waiting[asked.id]
            # A cancelled task keeps its exception, that its frames, and they this: it would be a circle.
            asked.waiter = None
        if _is_answer(asked.answer):
            answer: Result | Failure = asked.answer
            return answer
        raise _witnessed(self._missing(method, asked.answer, timeout), asked)

    def _missing(self, method: str, ending: Answer | None, timeout: float | None) -> BackendFault:
        """What a question is told that ended without an answer."""
        match ending:
            case TimedOut():
                return BackendTimeout(self.server, f"no answer to {method} within {timeout or 0:g} s")
            case RemoteCancelled():
                return BackendViolation(self.server, f"it cancelled our {method} request")
            case Lost(reason=reason):
                return OutcomeUnknown(self.server, f"the connection was lost before the answer to {method}: {reason}")
            case _:
                return OutcomeUnknown(self.server, f"the stream ended without an answer to {method}")

    def _abandon(self, asked: Asked, reason: str) -> None:
        notice = self.peer.abandon(asked, reason)
        if notice is not None and self.cancel_by_notice:
            self._courtesy(notice)

    def _courtesy(self, message: bytes) -> None:
        if self._closed:
            return
        if len(self._tasks) >= MAX_COURTESIES:
            # A server that asks and asks and does not read is owed nothing more.
            _log.debug("courtesy_dropped", extra={"data": {"server": self.server}})
            return
        self._tasks.spawn(self._write_last(message), "courtesy")

    async def _write_last(self, message: bytes) -> None:
        await bounded(self.transport.send(message), LAST_WRITE_SECONDS)

    async def tell(self, method: str, params: bytes | Raw | None = None, headers: Sequence[Header] = ()) -> None:
        await self.transport.send(write_notification(method, params), None, headers)

    # -- deadlines: one timer for all questions, armed at the earliest

    def _arm(self, deadline: float | None) -> None:
        if deadline is None or (self._timer is not None and self._timer_at <= deadline):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._clock.after(max(0.0, deadline - self._clock.now()), self._expire)

    def _expire(self) -> None:
        self._timer = None
        for asked, notice in self.peer.expire(self._clock.now()):
            self._wake(asked, TimedOut())
            if self.cancel_by_notice and notice is not None:
                self._courtesy(notice)
        self._arm(self.peer.next_deadline())

    # -- the reading path

    def message(self, message: Message, origin: Origin) -> None:
        if type(message) is Result or type(message) is Failure:
            asked = self.peer.answered(message)
            if asked is not None:
                self._wake(asked, message)
            else:
                self._stray(f"an answer to {message.id!r}, for which nothing waits")
            return
        for event in self.peer.receive(message, origin):
            self._happened(event)

    def _happened(self, event: Event) -> None:
        match event:
            case Ended(asked=asked, answer=answer):
                self._wake(asked, answer)
            case ProgressFor(asked=asked, params=params):
                if asked.hearing is not None:
                    asked.hearing.progress(params)
            case Told(method=method, params=params, origin=origin):
                self._told(method, params, origin)
            case Owed(owed=owed):
                self._owe(owed)
            case Refused(reply=reply):
                self._courtesy(reply)
            case Stray(detail=detail):
                self._stray(detail)
            case CancelledByPeer(owed=owed):
                self.unasked.ask_cancelled(owed)

    def _stray(self, detail: str) -> None:
        _log.debug("stray_message", extra={"data": {"server": self.server, "detail": detail}})

    def _told(self, method: str, params: Raw | None, origin: object) -> None:
        assert isinstance(origin, Origin)
        waiting = self._waiting.get(str(origin.request)) if origin.request is not None else None
        if waiting is not None and waiting.hearing is not None:
            waiting.hearing.told(method, params)
        else:
            self.unasked.told(method, params, origin)

    def _owe(self, owed: Debt) -> None:
        outcome = _PONG if owed.method == "ping" else self.unasked.raised(owed)
        if outcome is not None:
            self.reply(owed, outcome)

    def reply(self, owed: Debt, outcome: Outcome) -> None:
        """What the server asked is settled. Written once, and not at all when it came too late."""
        if isinstance(outcome, Done):
            answer = self.peer.answer(owed, outcome.payload.raw())
        else:
            answer = self.peer.refuse(owed, outcome.code, outcome.message, outcome.data)
        if answer is not None:
            self._courtesy(answer)

    def write_off(self, owed: Debt) -> None:
        """Nobody is left who would understand an answer."""
        self.peer.refuse(owed, INTERNAL_ERROR, "")

    def waits_for(self, request: RequestId | None) -> bool:
        return request in self._waiting

    def calls(self) -> list[tuple[str, Call]]:
        """What is being carried, by id, in order of beginning."""
        waiting = [asked for asked in self._waiting.values() if asked.hearing is not None and not asked.ended]
        return [(asked.id, asked.hearing.call) for asked in waiting if asked.hearing.call is not None]

    def _wake(self, asked: Asked, answer: Answer) -> None:
        asked.answer = answer
        if asked.woken is not None:
            if not asked.woken.done():
                asked.woken.set_result(None)
        elif not _is_answer(answer) and not asked.interrupted and asked.waiter is not None:
            # It is still inside `transport.send`, which ends by itself only for an answer.
            asked.interrupted = True
            asked.waiter.cancel()

    def only_listener(self) -> Hearing | None:
        """The one question in flight that hears anything, for what a single pipe brings without saying for whom."""
        hearings = [w.hearing for w in self._waiting.values() if w.hearing is not None and w.hearing.takes_logs]
        return hearings[0] if len(hearings) == 1 else None

    def rubbish(self, detail: str, origin: Origin) -> None:
        self.unreadable += 1
        _log.warning("backend_sent_rubbish", extra={"data": {"server": self.server, "detail": detail[:200]}})

    def lost(self, fault: BackendFault) -> None:
        if self._fault is not None or self._closed:
            return
        self._fault = fault
        self._end_all(str(fault))
        self.unasked.lost(fault)

    def _end_all(self, reason: str) -> None:
        for ended in self.peer.close(reason):
            self._wake(ended.asked, ended.answer)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def close(self) -> None:
        """Everything still pending ends as lost; the transport is closed. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._end_all("the connection was closed")
        await self._tasks.finish(FAREWELL_SECONDS)
        await self.transport.close()
        # Whoever hears us holds us.
        self.unasked = _NOBODY


class Nobody:
    """Implements `Unasked` for a conversation that has no owner yet, or is over."""

    def told(self, method: str, params: Raw | None, origin: Origin) -> None: ...

    def raised(self, owed: Debt) -> Outcome | None:
        return undeclared(owed.method)

    def ask_cancelled(self, owed: Debt) -> None: ...

    def lost(self, fault: BackendFault) -> None: ...


_NOBODY = Nobody()


def _witnessed(fault: BackendFault, asked: Asked) -> BackendFault:
    """With what there is to judge by, where nobody knows whether the work was done."""
    if isinstance(fault, OutcomeUnknown):
        seen = None if asked.hearing is None else asked.hearing.seen
        fault.evidence |= {"sent": asked.sent, "lastSeen": fault.evidence.get("lastSeen") or seen}
    return fault


def _is_answer(ending: Answer | None) -> bool:
    """Asked twice for each question, and several times faster so than with `isinstance` and a union."""
    kind = type(ending)
    return kind is Result or kind is Failure
