"""One end of one JSON-RPC conversation, sans-IO.

What a driver does, and all it does:

    asking      asked = peer.open(method, deadline); peer.sent(asked) as the write starts; write;
                peer.failed_to_send(asked) if it failed; peer.abandon(asked, why) if the caller goes away
    hearing     for event in peer.receive(message, origin): act on it; never wait for a handler here
    answering   write what peer.answer(...) or peer.refuse(...) returns, if it returns anything
    time        at peer.next_deadline(), peer.expire(now)
    the end     peer.close(why)

It is not a connection: it knows no bytes but those it returns, no stream, no loop, no clock, and it never waits.

The one rule: each ask ends exactly once, and each request of theirs is answered at most once, whatever comes and in
whatever order.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from emceepee.errors import ClientFault, LimitReached
from emceepee.protocol.cancellation import CANCELLED, must_tell, read_cancelled, write_cancelled
from emceepee.protocol.events import (
    CancelledByPeer,
    Ended,
    Event,
    Owed,
    ProgressFor,
    Refused,
    Stray,
    Told,
)
from emceepee.protocol.faults import LocalMisuse, PeerClosed
from emceepee.protocol.inbound import MAX_OWED, Debt, Owing
from emceepee.protocol.messages import (
    INTERNAL_ERROR,
    Failure,
    Message,
    Notification,
    Request,
    Result,
    write_failure,
)
from emceepee.protocol.outbound import Asked, Lost, Outbound, RemoteCancelled
from emceepee.protocol.progress import PROGRESS, token_of

__all__ = ["Asked", "Debt", "LocalMisuse", "Peer", "PeerClosed"]


class Peer:
    def __init__(self, prefix: str, max_owed: int = MAX_OWED) -> None:
        self._out = Outbound(prefix)
        # As they stand there: no step in between for each ask.
        self.open, self.find = self._out.open, self._out.find
        self._owing = Owing(max_owed)

    def __len__(self) -> int:
        """How many of our asks wait for their answer."""
        return len(self._out)

    @property
    def asked(self) -> int:
        """How much we have asked so far."""
        return self._out.count

    @property
    def owing(self) -> int:
        """How many answers we owe."""
        return len(self._owing)

    @property
    def closed(self) -> bool:
        return self._out.closed is not None

    def waiting(self) -> list[Asked]:
        """Our asks without an answer, in the order in which they were asked."""
        return self._out.waiting()

    def sent(self, asked: Asked) -> None:
        """Call it as the write starts: bytes that may have left count as sent."""
        asked.sent = True

    def failed_to_send(self, asked: Asked) -> None:
        """The write failed; the entry is gone and no event follows. Harmless when it had ended already."""
        self._out.end(asked)

    def abandon(self, asked: Asked, reason: str) -> bytes | None:
        """Nobody waits for it any more. The cancellation to write, or None: never sent, ended already, or forbidden."""
        if self._out.end(asked) and must_tell(asked.method, asked.sent):
            return write_cancelled(asked.id, reason)
        return None

    def receive(self, message: Message, origin: object = None) -> list[Event]:
        """What this message means to us. Never raises for anything the other side can send."""
        kind = type(message)
        if kind is Result or kind is Failure:
            return [self._answered(message)]  # type: ignore[arg-type]
        if self._out.closed is not None:
            return [Stray("came after the end of the conversation")]
        if kind is Notification:
            return self._told(message, origin)  # type: ignore[arg-type]
        return [self._asked(message, origin)]  # type: ignore[arg-type]

    def answered(self, message: Result | Failure) -> Asked | None:
        """`receive` for what is an answer, without an event: the ask that it ended, or None for a stray one."""
        return self._out.take(message.id)

    def answer(self, owed: Debt, result: bytes | Raw) -> bytes | None:
        """The response to write, at most once for each request; None when too late."""
        return self._owing.answer(owed, result)

    def refuse(self, owed: Debt, code: int, message: str, data: Any = None) -> bytes | None:
        """The error response to write, at most once for each request; None when too late."""
        return self._owing.refuse(owed, code, message, data)

    def next_deadline(self) -> float | None:
        """When `expire` has to be called next; it may move with every call made here."""
        return self._out.next_deadline()

    def postpone(self, asked: Asked, deadline: float | None) -> None:
        """It may take until then, or as long as it likes."""
        self._out.postpone(asked, deadline)

    def expire(self, now: float) -> list[tuple[Asked, bytes | None]]:
        """The asks whose time is over (each ended, as `TimedOut`), with the cancellation to write where one is due."""
        reason = "the request timed out"
        return [
            (asked, write_cancelled(asked.id, reason) if must_tell(asked.method, asked.sent) else None)
            for asked in self._out.expire(now)
        ]

    def close(self, reason: str) -> list[Ended]:
        """The conversation is over: every ask ends as `Lost`, every answer comes too late. Twice is harmless."""
        self._owing.close()
        return [Ended(asked, Lost(reason)) for asked in self._out.close(reason)]

    def _answered(self, message: Result | Failure) -> Event:
        asked = self._out.take(message.id)
        if asked is None:
            return Stray(f"an answer to {message.id!r}, for which nothing waits")
        return Ended(asked, message)

    def _asked(self, request: Request, origin: object) -> Event:
        try:
            return Owed(self._owing.owed(request, origin))
        except ClientFault as fault:
            # Its id means the request that is still open: an error under that id would end that one at the peer.
            return Refused(request, origin, write_failure(None, fault.code, fault.message), fault.message)
        except LimitReached as limit:
            return Refused(request, origin, write_failure(request.id, INTERNAL_ERROR, str(limit)), str(limit))

    def _told(self, message: Notification, origin: object) -> list[Event]:
        if message.method == PROGRESS:
            asked = self._out.find(token_of(message.params))
            if asked is None or message.params is None:
                return []
            return [ProgressFor(asked, message.params)]
        if message.method == CANCELLED:
            return [self._cancelled(message.params)]
        return [Told(message.method, message.params, origin)]

    def _cancelled(self, params: Raw | None) -> Event:
        """Among their own requests first: only an id that we made can mean one of ours (both sides number alike)."""
        read = read_cancelled(params)
        if read is None:
            return Stray("a cancellation that names no request")
        request_id, reason = read
        if request_id in self._owing:
            debt = self._owing.cancelled(request_id, reason)
            if debt is None:
                return Stray(f"a cancellation of {request_id!r}, which cannot be cancelled")
            return CancelledByPeer(debt, reason)
        asked = self._out.take(request_id)
        if asked is None:
            return Stray(f"a cancellation of {request_id!r}, for which nothing waits")
        return Ended(asked, RemoteCancelled(reason))
