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

from emceepee.backends.transport import Header, HttpRefusal, Origin, Transport
from emceepee.eras.asks import undeclared
from emceepee.errors import (
    BackendAuth,
    BackendFault,
    BackendTimeout,
    BackendUnavailable,
    BackendViolation,
    OutcomeUnknown,
)
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
from emceepee.runtime.awaited import Awaited
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

OnEnded: TypeAlias = "Callable[[Result | Failure | BackendFault], None]"
"""How a question ended: its answer, or the fault that came instead. It must not raise."""

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
        self._sends = TaskScope(f"sending:{server}")
        self._timer: Timer | None = None
        self._timer_at = 0.0
        self._fault: BackendFault | None = None
        self._closed = False
        self.unreadable = 0
        """What came and was no message."""

    def __len__(self) -> int:
        return len(self.peer)

    @property
    def asked(self) -> int:
        """Questions so far."""
        return self.peer.asked

    async def start(self) -> None:
        await self.transport.start(self)

    # -- asking

    def begin(
        self,
        method: str,
        params: Params,
        timeout: float | None,
        ended: OnEnded,
        *,
        hearing: Hearing | None = None,
        headers: Sequence[Header] = (),
    ) -> Asked:
        """Ask, and be told by `ended` how that ended: once, perhaps before this returns, and not after `abandon`.
        Raises `BackendFault` where nothing was asked. Only a stream, which ends with its connection, has no
        time-out."""
        if self._fault is not None or self._closed:
            raise self._fault or BackendUnavailable(self.server, "the connection is closed")
        asked = self.peer.open(method, None if timeout is None else self._clock.now() + timeout)
        asked.waiter, asked.hearing, asked.timeout = ended, hearing, timeout
        if self._timer is None or (asked.deadline is not None and asked.deadline < self._timer_at):
            self._arm(asked.deadline)
        try:
            message = write_request(asked.id, method, params(asked.id) if callable(params) else params)
            self.peer.sent(asked)
            sending = self.transport.begin(message, asked.id, headers)
        except BaseException:
            self.peer.failed_to_send(asked)
            raise
        if not asked.ended:
            asked.sending = self._send_later(asked, message, headers) if sending is None else sending
        return asked

    async def ask(
        self,
        method: str,
        params: Params,
        timeout: float | None,
        *,
        hearing: Hearing | None = None,
        headers: Sequence[Header] = (),
    ) -> Result | Failure:
        """`begin`, for one who awaits the answer. Cancelling him cancels at the server. Raises `BackendFault`."""
        answer: Awaited[Result | Failure] = Awaited()
        asked = self.begin(method, params, timeout, answer, hearing=hearing, headers=headers)
        return await answer.value(lambda: self.abandon(asked))

    def abandon(self, asked: Asked) -> None:
        """Nobody waits for the answer any more: the server is told so. Harmless after the end."""
        if asked.ended:
            return
        sending, asked.sending, asked.waiter, asked.hearing = asked.sending, None, None, None
        notice = self.peer.abandon(asked, "the caller cancelled the request")
        if sending is not None:
            sending.abandon()
        if notice is not None and self.cancel_by_notice:
            self._courtesy(notice)

    def _send_later(self, asked: Asked, message: bytes, headers: Sequence[Header]) -> _InTask:
        """Where the transport has to wait."""
        return _InTask(self._sends.spawn(self._send(message, asked.id, headers), asked.id))

    async def _send(self, message: bytes, request: str, headers: Sequence[Header]) -> None:
        try:
            await self.transport.send(message, request, headers)
        except BackendFault as fault:
            self.failed(request, fault)

    def _missing(self, asked: Asked, ending: Answer) -> BackendFault:
        """What a question is told that ended without an answer."""
        method = asked.method
        match ending:
            case TimedOut():
                return BackendTimeout(self.server, f"no answer to {method} within {asked.timeout or 0:g} s")
            case RemoteCancelled():
                return BackendViolation(self.server, f"it cancelled our {method} request")
            case Lost(reason=reason):
                return OutcomeUnknown(self.server, f"the connection was lost before the answer to {method}: {reason}")
            case _:
                return OutcomeUnknown(self.server, f"the stream ended without an answer to {method}")

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

    def tell_soon(self, method: str, params: bytes | Raw | None = None) -> None:
        """`tell`, where nobody can wait. Dropped when the server does not read."""
        self._courtesy(write_notification(method, params))

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
            self._end(asked, TimedOut())
            if self.cancel_by_notice and notice is not None:
                self._courtesy(notice)
        self._arm(self.peer.next_deadline())

    def pause(self, call: Call) -> None:
        """Its server waits for somebody: that is not the time of the call."""
        for asked in self._carrying(call):
            if asked.deadline is not None:
                asked.left = asked.deadline - self._clock.now()
                self.peer.postpone(asked, None)

    def resume(self, call: Call) -> None:
        """It waits no more."""
        for asked in self._carrying(call):
            if asked.left is not None:
                self.peer.postpone(asked, self._clock.now() + asked.left)
                asked.left = None
                self._arm(asked.deadline)

    def _carrying(self, call: Call) -> list[Asked]:
        return [one for one in self.peer.waiting() if one.hearing is not None and one.hearing.call is call]

    # -- the reading path

    def message(self, message: Message, origin: Origin) -> None:
        if type(message) is Result or type(message) is Failure:
            asked = self.peer.answered(message)
            if asked is not None:
                self._end(asked, message, origin)
            else:
                self._stray(f"an answer to {message.id!r}, for which nothing waits")
            return
        for event in self.peer.receive(message, origin):
            self._happened(event)

    def _happened(self, event: Event) -> None:
        match event:
            case Ended(asked=asked, answer=answer):
                self._end(asked, answer)
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
        waiting = self.peer.find(origin.request)
        if waiting is not None and waiting.hearing is not None:
            waiting.hearing.told(method, params)
        else:
            self.unasked.told(method, params, origin)

    def _owe(self, owed: Debt) -> None:
        outcome = _PONG if owed.method == "ping" else self.unasked.raised(owed)
        if outcome is not None:
            self.reply(owed, outcome)

    def reply(self, owed: Debt, outcome: Outcome, calls: Sequence[Call] = ()) -> None:
        """What the server asked is settled. Written once, and not at all when it came too late. `calls` are those that
        may wait for it: where that is one, and the server does not take the answer, it waits in vain and is ended."""
        if isinstance(outcome, Done):
            answer = self.peer.answer(owed, outcome.payload.raw())
        else:
            answer = self.peer.refuse(owed, outcome.code, outcome.message, outcome.data)
        if answer is not None and len(calls) == 1 and not self._closed and len(self._tasks) < MAX_COURTESIES:
            self._tasks.spawn(self._deliver(answer, calls[0]), "answer")
        elif answer is not None:
            self._courtesy(answer)

    async def _deliver(self, answer: bytes, call: Call) -> None:
        try:
            async with asyncio.timeout(LAST_WRITE_SECONDS):
                await self.transport.send(answer)
        except (BackendUnavailable, BackendAuth, HttpRefusal) as fault:
            _log.warning("answer_not_delivered", extra={"data": {"server": self.server, "error": fault.detail}})
            why = f"it did not take the answer to what it asked: {fault.detail}"
            for asked in self._carrying(call):
                self._give_up(asked, OutcomeUnknown(self.server, why))
        except (TimeoutError, BackendFault):
            # It may have been taken; nobody knows.
            pass

    def _give_up(self, asked: Asked, fault: BackendFault) -> None:
        notice = self.peer.abandon(asked, fault.detail)
        if notice is not None and self.cancel_by_notice:
            self._courtesy(notice)
        self._end_without(asked, fault)

    def write_off(self, owed: Debt) -> None:
        """Nobody is left who would understand an answer."""
        self.peer.refuse(owed, INTERNAL_ERROR, "")

    def waits_for(self, request: RequestId | None) -> bool:
        return self.peer.find(request) is not None

    def calls(self) -> list[tuple[str, Call]]:
        """What is being carried, by id, in order of beginning."""
        waiting = [asked for asked in self.peer.waiting() if asked.hearing is not None]
        return [(asked.id, asked.hearing.call) for asked in waiting if asked.hearing.call is not None]

    def _end(self, asked: Asked, answer: Answer, origin: Origin | None = None) -> None:
        """It is over, for the one time: whoever comes here has taken it out of the table."""
        kind = type(answer)
        if kind is Result or kind is Failure:
            ended, sending = asked.waiter, asked.sending
            asked.waiter = asked.hearing = asked.sending = None
            if sending is not None and origin is not None and origin.request != asked.id:
                # It was answered elsewhere, and what would have come on its own stream is wanted no more.
                sending.abandon()
            ended(answer)
        else:
            self._end_without(asked, self._missing(asked, answer))

    def _end_without(self, asked: Asked, fault: BackendFault) -> None:
        fault = _witnessed(fault, asked)
        ended, sending = asked.waiter, asked.sending
        asked.waiter = asked.hearing = asked.sending = None
        if sending is not None:
            sending.abandon()
        ended(fault)

    def failed(self, request: RequestId, fault: BackendFault) -> None:
        asked = self.peer.find(request)
        # Its answer may have been handed over before its stream broke.
        if asked is not None:
            self.peer.failed_to_send(asked)
            self._end_without(asked, fault)

    def only_listener(self) -> Hearing | None:
        """The one question in flight that hears anything, for what a single pipe brings without saying for whom."""
        hearings = [w.hearing for w in self.peer.waiting() if w.hearing is not None and w.hearing.takes_logs]
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
            self._end(ended.asked, ended.answer)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def close(self) -> None:
        """Everything still pending ends as lost; the transport is closed. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._end_all("the connection was closed")
        await self._sends.close(FAREWELL_SECONDS)
        await self._tasks.finish(FAREWELL_SECONDS)
        await self.transport.close()
        # Whoever hears us holds us.
        self.unasked = _NOBODY


class _InTask:
    """Implements `transport.Sending`."""

    __slots__ = ("_task",)

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def abandon(self) -> None:
        self._task.cancel()


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
