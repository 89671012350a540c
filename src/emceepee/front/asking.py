"""What one legacy session is asked: requests of ours to its client, until they are answered, taken back, or over.

It opens no stream: where a request goes out is said with it, and by the session's standing stream.

The one rule: nothing is asked before the client has said that it is ready, and each ask is settled once: by the
client's answer or error, its cancellation, the time, or the end of the session.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final, Protocol

from emceepee.eras.asks import METHOD_OF, given_up
from emceepee.eras.legacy import asks as legacy
from emceepee.eras.notices import read_progress
from emceepee.eras.revisions import LATEST_LEGACY
from emceepee.errors import LimitReached
from emceepee.front.standing import Standing
from emceepee.protocol.events import Ended, ProgressFor
from emceepee.protocol.messages import INTERNAL_ERROR, Failure, Notification, Result
from emceepee.protocol.outbound import Asked
from emceepee.protocol.peer import Peer
from emceepee.runtime.clock import Clock, Timer
from emceepee.sessions.session import Session
from emceepee.vocabulary.asks import NO_ASKS, AskProfile, RaisedAsk, Withdraw
from emceepee.vocabulary.outcomes import Failed, Outcome

_log = logging.getLogger("emceepee.front")

LEG_SECONDS: Final = 600.0
"""How long a client may take for one answer; its progress begins that anew."""

MAX_ASKS: Final = 256
"""Of one session at one time."""

_TIMED_OUT: Final = -32001


class Voice(Protocol):
    """Where a call's own stream leads."""

    def ask(self, message: bytes, key: str, kept: bool) -> bool:
        """Write it there, whatever waits before it; with `kept`, also where nobody reads it now but may come back for
        it. False when that cannot be."""
        ...


@dataclass(slots=True, eq=False)
class _Open:
    """One ask on its way."""

    ask: RaisedAsk
    voice: Voice | None
    timer: Timer | None = None
    last: float = float("-inf")


class Asking:
    """One for each session that can be asked something. An `Ear` by itself, for what belongs to no call."""

    __slots__ = ("_clock", "_peer", "_session")

    def __init__(self, session: Session, clock: Clock) -> None:
        self._session = session
        self._clock = clock
        self._peer = Peer("ask-")

    @classmethod
    def of(cls, session: Session, clock: Clock) -> Asking:
        if not isinstance(session.asking, Asking):
            session.asking = cls(session, clock)
        return session.asking

    def __len__(self) -> int:
        return len(self._peer)

    # -- asking

    @property
    def hears(self) -> AskProfile:
        """What it can be asked now without a call: only by a stream that is open."""
        session = self._session
        listens = session.standing is not None and session.standing.busy
        return session.asks if session.ready and listens else NO_ASKS

    def ask(self, ask: RaisedAsk, voice: Voice | None = None) -> Withdraw | Failed:
        """For a call that has this voice."""
        session = self._session
        method = METHOD_OF[ask.kind]
        if not session.ready or self._peer.closed:
            return Failed(INTERNAL_ERROR, f"{method} cannot be asked: the client has not said that it is initialized")
        if len(self._peer) >= MAX_ASKS:
            return Failed(INTERNAL_ERROR, str(LimitReached("questions to one client at a time", MAX_ASKS)))
        asked = self._peer.open(method, None)
        one = _Open(ask, voice)
        asked.hearing = one
        message = legacy.write_ask(asked.id, ask.kind, ask.params, session.revision)
        if not self._write(voice, message, asked.id):
            self._peer.failed_to_send(asked)
            return Failed(INTERNAL_ERROR, f"{method} cannot be asked: no stream leads to the client")
        self._peer.sent(asked)
        self._arm(asked, one)
        return lambda reason: self._withdraw(asked, one, reason)

    def _write(self, voice: Voice | None, message: bytes, key: str) -> bool:
        """On the call's own stream; where that is lost or was none, on the session's; else where it is kept."""
        if voice is not None and voice.ask(message, key, kept=False):
            return True
        standing = Standing.of(self._session)
        return (
            standing.ask(message, key)
            or (voice is not None and voice.ask(message, key, kept=True))
            or standing.keep(message, key)
        )

    def _arm(self, asked: Asked, one: _Open) -> None:
        if one.timer is not None:
            one.timer.cancel()
        one.timer = self._clock.after(LEG_SECONDS, lambda: self._expire(asked, one))

    # -- ended

    def _settle(self, one: _Open, asked: Asked, outcome: Outcome) -> None:
        self._over(one, asked)
        one.ask.settle(outcome)

    def _over(self, one: _Open, asked: Asked) -> None:
        if one.timer is not None:
            one.timer.cancel()
            one.timer = None
        asked.hearing = None
        if isinstance(self._session.standing, Standing):
            self._session.standing.settled(asked.id)

    def answered(self, message: Result | Failure) -> None:
        """A response of the client. One to nothing that we ask is dropped."""
        asked = self._peer.answered(message)
        if asked is None:
            _log.debug("stray_answer", extra={"data": {"id": str(message.id)[:40]}})
            return
        one: _Open = asked.hearing
        if isinstance(message, Failure):
            error = message.error
            self._settle(one, asked, Failed(error.code, error.message, error.data))
        else:
            self._settle(one, asked, legacy.read_answer(one.ask.kind, message.result))

    def told(self, notification: Notification) -> None:
        """A cancellation or progress, which may be about something that we ask."""
        for event in self._peer.receive(notification):
            if isinstance(event, Ended):
                one: _Open = event.asked.hearing
                self._settle(one, event.asked, given_up(one.ask.kind, "The client cancelled this request"))
            elif isinstance(event, ProgressFor):
                self._moved_on(event)

    def _moved_on(self, event: ProgressFor) -> None:
        one: _Open = event.asked.hearing
        progress = read_progress(event.params)
        if progress is None or progress.progress <= one.last:
            return
        one.last = progress.progress
        self._arm(event.asked, one)
        if one.ask.on_progress is not None:
            one.ask.on_progress(progress)

    def _expire(self, asked: Asked, one: _Open) -> None:
        one.timer = None
        self._take_back(asked, one, "the request timed out")
        what = one.ask.kind.capitalize()
        self._settle(one, asked, Failed(_TIMED_OUT, f"{what} request timed out after {LEG_SECONDS * 1000:.0f}ms"))

    def _withdraw(self, asked: Asked, one: _Open, reason: str) -> None:
        if not asked.ended:
            self._take_back(asked, one, reason)
            self._over(one, asked)

    def _take_back(self, asked: Asked, one: _Open, reason: str) -> None:
        notice = self._peer.abandon(asked, reason)
        standing = self._session.standing
        if isinstance(standing, Standing) and standing.settled(asked.id) and standing.kept is None:
            # It was never shown to anybody, and never will be.
            return
        if notice is not None:
            self._write(one.voice, notice, f"over {asked.id}")

    def completed(self, elicitation_id: str, voice: Voice | None = None) -> None:
        """What the client was sent to an address for is done."""
        if self._session.revision == LATEST_LEGACY and "url" in self._session.asks:
            self._write(voice, legacy.write_complete(elicitation_id), f"complete {elicitation_id[:80]}")

    def close(self) -> None:
        """The session is over: whoever waits hears at once that no answer will come."""
        for ended in self._peer.close("the client is gone"):
            one: _Open = ended.asked.hearing
            self._settle(one, ended.asked, Failed(INTERNAL_ERROR, "The client is gone"))
