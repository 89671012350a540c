"""Questions of one local server to its client: sent, awaited, timed, and given up.

It does not know what is asked (that is `clients`). The one rule: whatever ends a question, its entry and its timer are
gone before whoever asked goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Raw

from emceepee.protocol.events import Answer, Ended
from emceepee.protocol.messages import Failure, Message, Result, write_request
from emceepee.protocol.outbound import Asked, Lost, RemoteCancelled, TimedOut
from emceepee.protocol.peer import Peer, PeerClosed
from emceepee.runtime.clock import Clock, Timer
from emceepee.tools import faults
from emceepee.vocabulary.raw_json import NotThatShape, read_value, write

Say: TypeAlias = Callable[[bytes], None]

PREFIX = "t"


class Outgoing:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._peer = Peer(PREFIX)
        self._timer: Timer | None = None

    def __len__(self) -> int:
        """How many questions wait for their answer."""
        return len(self._peer)

    async def ask(self, method: str, params: Any, say: Say, seconds: float) -> Raw:
        """The result as it came. Raises `AskFailed`."""
        try:
            asked = self._peer.open(method, self._clock.now() + seconds)
        except PeerClosed as closed:
            raise faults.ChannelClosed(closed.reason) from None
        asked.waiter = asyncio.get_running_loop().create_future()
        asked.hearing = say
        try:
            self._peer.sent(asked)
            say(write_request(asked.id, method, write(params)))
            self._arm()
            answer: Answer = await asked.waiter
        finally:
            # Does nothing where an answer ended it. Whoever is cancelled while waiting tells the client.
            given_up = self._peer.abandon(asked, "the tool waits for no answer any more")
            if given_up is not None:
                say(given_up)
            self._arm()
        return _result(method, answer, seconds)

    def heard(self, message: Message) -> None:
        """An answer, or a cancellation of what we asked. Anything that belongs to no question of ours is dropped."""
        for event in self._peer.receive(message):
            if isinstance(event, Ended):
                _wake(event.asked, event.answer)

    def close(self, reason: str) -> None:
        for ended in self._peer.close(reason):
            _wake(ended.asked, ended.answer)
        self._arm()

    def _arm(self) -> None:
        """One timer, for the question whose time is over first."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._peer.next_deadline()
        if due is not None:
            self._timer = self._clock.after(max(0.0, due - self._clock.now()), self._ring)

    def _ring(self) -> None:
        self._timer = None
        for asked, notice in self._peer.expire(self._clock.now()):
            if notice is not None:
                asked.hearing(notice)
            _wake(asked, TimedOut())
        self._arm()


def _wake(asked: Asked, answer: Answer) -> None:
    if asked.waiter is not None and not asked.waiter.done():
        asked.waiter.set_result(answer)


def _result(method: str, answer: Answer, seconds: float) -> Raw:
    match answer:
        case Result(result=result):
            return result
        case Failure(error=error):
            raise faults.Refused(error.code, error.message, _data(error.data))
        case RemoteCancelled(reason=reason):
            raise faults.RemoteCancelled(f"{method} was cancelled by the client: {reason or 'no reason given'}")
        case Lost(reason=reason):
            raise faults.ChannelClosed(reason)
        case TimedOut():
            raise faults.AskTimeout(f"{method} was not answered within {seconds:g} s")


def _data(raw: Raw | None) -> Any:
    try:
        return None if raw is None else read_value(raw)
    except NotThatShape:
        return None
