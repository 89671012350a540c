"""What we owe the other side: each of its requests is answered at most once, then forgotten.

Works alone (the front uses it for clients) and inside `Peer`. It knows neither what a method means nor how long it
takes.

The one rule: an id leaves the table when its request is answered, refused or cancelled, whichever is first, and only
the first of them says anything.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from emceepee.errors import ClientFault, LimitReached
from emceepee.protocol.cancellation import NEVER_CANCELLED
from emceepee.protocol.messages import INVALID_REQUEST, Request, RequestId, write_failure, write_result

MAX_OWED = 1024
"""Requests that one peer may leave open with us. Real clients have a handful; SDK clients at most some dozens."""


class Debt:
    """One request of theirs. `origin` is where it came from, opaque here; `work` is the driver's own slot."""

    __slots__ = ("origin", "request", "settled", "work")

    def __init__(self, request: Request, origin: object) -> None:
        self.request = request
        self.origin = origin
        self.settled = False
        self.work: Any = None

    @property
    def id(self) -> RequestId:
        return self.request.id

    @property
    def method(self) -> str:
        return self.request.method

    @property
    def params(self) -> Raw | None:
        return self.request.params

    def __repr__(self) -> str:
        return f"Debt({self.id!r}, {self.method!r}, {'settled' if self.settled else 'open'})"


class Owing:
    """The open requests of one other side, by exact id."""

    def __init__(self, limit: int = MAX_OWED) -> None:
        self._limit = limit
        self._open: dict[RequestId, Debt] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, request_id: RequestId) -> bool:
        return request_id in self._open

    def owed(self, request: Request, origin: object) -> Debt:
        """Note that an answer is owed. Raises `ClientFault` (-32600) when that id is still open, and `LimitReached`;
        the request already open under that id is not touched by either."""
        if request.id in self._open:
            raise ClientFault(INVALID_REQUEST, f"The id {request.id!r} belongs to a request that is still open")
        if len(self._open) >= self._limit:
            raise LimitReached("open requests", self._limit)
        debt = Debt(request, origin)
        self._open[request.id] = debt
        return debt

    def answer(self, debt: Debt, result: bytes | Raw) -> bytes | None:
        """The response to write; None when it has been answered or cancelled before."""
        return write_result(debt.id, result) if self._settle(debt) else None

    def refuse(self, debt: Debt, code: int, message: str, data: Any = None) -> bytes | None:
        """The error response to write; None when it has been answered or cancelled before."""
        return write_failure(debt.id, code, message, data) if self._settle(debt) else None

    def settle(self, debt: Debt) -> bool:
        """For a caller that writes the response itself: True exactly once, and only while it was not cancelled."""
        return self._settle(debt)

    def cancelled(self, request_id: RequestId, reason: str = "") -> Debt | None:
        """They no longer want it: the request to stop, never to be answered. None when nothing is open under that id
        (answered meanwhile, or never asked), or when it may not be cancelled. The reason is for whoever logs it."""
        debt = self._open.get(request_id)
        if debt is None or debt.method in NEVER_CANCELLED:
            return None
        self._settle(debt)
        return debt

    def close(self) -> list[Debt]:
        """Nobody is left to be answered: what was still open, to be stopped."""
        left = list(self._open.values())
        for debt in left:
            self._settle(debt)
        return left

    def _settle(self, debt: Debt) -> bool:
        if debt.settled:
            return False
        debt.settled = True
        self._open.pop(debt.id, None)
        return True
