"""What servers ask of a person or a model, while it waits for the answer.

It sends nothing: each ask comes with a way to settle it, which is called once with what the server gets. It keeps no
timer: `expire` is called at `next_deadline`, or late.

The one rule: an ask has one outcome. Whoever takes it out of the table settles it; everybody else finds nothing there.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from msgspec import Raw

from emceepee.errors import ClientFault, LimitReached
from emceepee.runtime.clock import iso
from emceepee.state.answer_checks import elicitation_problem, sampling_problem
from emceepee.state.events import EventType
from emceepee.state.recording import Moment, Record, unheard
from emceepee.state.settings import AskSettings
from emceepee.vocabulary.asks import Settle as Settle
from emceepee.vocabulary.names import ServerName
from emceepee.vocabulary.outcomes import Done, Failed
from emceepee.vocabulary.raw_json import NotThatShape, Payload, read_value, to_raw

_log = logging.getLogger("emceepee.state")

ASK_NOT_FOUND = "request_not_found"
BAD_ANSWER = "bad_answer"
TIMED_OUT = -32001
GONE = -32603
_INVALID_PARAMS = -32602

CLOSING = "PendingRequestsManager shutting down"
CANCELLED_BY_SERVER = "cancelled by server"

PendingKind: TypeAlias = Literal["elicitation", "sampling"]
"""What has to wait for somebody; roots are known or not."""

AskState: TypeAlias = Literal["open", "answered", "expired", "rejected", "withdrawn"]
Step: TypeAlias = Literal["answer", "expire", "reject", "withdraw"]

NEXT: dict[tuple[AskState, Step], AskState] = {
    ("open", "answer"): "answered",
    ("open", "expire"): "expired",
    ("open", "reject"): "rejected",
    ("open", "withdraw"): "withdrawn",
}
"""An ask that is in the table is open; the four others are the end, and no ask in the table is at its end."""

_NAME: dict[PendingKind, str] = {"elicitation": "Elicitation", "sampling": "Sampling"}
_REQUESTED: dict[PendingKind, EventType] = {"elicitation": "elicitation_request", "sampling": "sampling_request"}
_EXPIRED: dict[PendingKind, EventType] = {"elicitation": "elicitation_expired", "sampling": "sampling_expired"}


@dataclass(slots=True, frozen=True)
class Ask:
    """One open question. `timeout_ms` is what it was given; `deadline` is on the monotonic clock."""

    id: str
    kind: PendingKind
    server: ServerName
    params: Raw
    received_at: datetime
    deadline: float
    timeout_ms: int
    settle: Settle = field(repr=False, compare=False)

    def shown(self) -> dict[str, Any]:
        """In full, for who asks for it."""
        at = iso(self.received_at)
        return {"requestId": self.id, "server": self.server, "timestamp": at, "params": self.params}

    def reminder(self) -> dict[str, Any]:
        """As every response shows it: enough to answer a question, not a whole conversation."""
        said: dict[str, Any] = {"requestId": self.id, "server": self.server}
        if self.kind == "sampling":
            return said
        params = self.read_params()
        said |= {"message": params.get("message", ""), "schema": params.get("requestedSchema")}
        return said | ({"url": params["url"]} if "url" in params else {})

    def read_params(self) -> dict[str, Any]:
        try:
            params = read_value(self.params)
        except NotThatShape:
            return {}
        return params if isinstance(params, dict) else {}


class PendingRequests:
    def __init__(self, record: Record, settings: AskSettings | None = None) -> None:
        self.settings = settings or AskSettings()
        self._record = record
        self._asks: dict[str, Ask] = {}
        self.closed = False

    def __len__(self) -> int:
        return len(self._asks)

    @property
    def has_pending_requests(self) -> bool:
        return bool(self._asks)

    def add(
        self,
        request_id: str,
        kind: PendingKind,
        server: ServerName,
        params: Raw,
        now: Moment,
        settle: Settle,
        timeout_ms: int | None = None,
    ) -> Ask:
        """Raises `LimitReached`, also when closed; `settle` is not called then."""
        if self.closed or len(self._asks) >= self.settings.max_pending:
            raise LimitReached("pending requests (max_pending)", 0 if self.closed else self.settings.max_pending)
        life = self.settings.default_timeout_ms if timeout_ms is None else timeout_ms
        ask = Ask(request_id, kind, server, params.copy(), now.wall, now.at + life / 1000, life, settle)
        self._asks[request_id] = ask
        self._record(_REQUESTED[kind], server, {"requestId": request_id, "params": ask.params})
        _log.info(f"{kind}_received", extra={"data": {"requestId": request_id, "server": server}})
        return ask

    # -- ending

    def answer(self, kind: PendingKind, request_id: str, answer: dict[str, Any], now: Moment) -> Ask:
        """The client's answer, on its way to the server. Raises `ClientFault` when there is no such ask (any more), and
        when the answer does not fit: then the ask stays open (X-BUG-55)."""
        ask = self._asks.get(request_id)
        if ask is None or ask.kind != kind:
            raise not_found(kind, request_id)
        check = elicitation_problem if kind == "elicitation" else sampling_problem
        if problem := check(ask.read_params(), answer):
            data = {"reason": BAD_ANSWER, "requestId": request_id, "problem": problem}
            raise ClientFault(_INVALID_PARAMS, f"The answer does not fit: {problem}", data)
        self._end(ask, "answer")
        took = round((now.at - ask.deadline) * 1000) + ask.timeout_ms
        said = {"requestId": request_id, "server": ask.server, "durationMs": took}
        _log.info(f"{kind}_responded", extra={"data": said})
        ask.settle(Done(Payload.of(answer)))
        return ask

    def expire(self, now: Moment) -> list[Ask]:
        over = [ask for ask in self._asks.values() if ask.deadline <= now.at]
        for ask in over:
            self._end(ask, "expire")
            _log.warning(f"{ask.kind}_timeout", extra={"data": {"requestId": ask.id, "server": ask.server}})
            self._tell_expired(ask, f"Timed out after {ask.timeout_ms}ms")
            self._refuse(ask, TIMED_OUT, f"{_NAME[ask.kind]} request timed out after {ask.timeout_ms}ms")
        return over

    def reject_server(self, server: ServerName, reason: str) -> list[Ask]:
        """The server is gone, removed or new: its questions are void."""
        void = [ask for ask in self._asks.values() if ask.server == server]
        for ask in void:
            self._end(ask, "reject")
            self._tell_expired(ask, reason)
            self._refuse(ask, GONE, reason)
        return void

    def withdraw(self, request_id: str, reason: str = CANCELLED_BY_SERVER) -> bool:
        """The server wants no answer any more, so it gets none (X-BUG-54). Whether it was open."""
        ask = self._asks.get(request_id)
        if ask is None:
            return False
        self._end(ask, "withdraw")
        self._tell_expired(ask, reason)
        return True

    def close(self) -> list[Ask]:
        """All are refused; no events, because nobody is left to read them."""
        self.closed = True
        self._record = unheard
        left = list(self._asks.values())
        for ask in left:
            self._end(ask, "reject")
        for ask in left:
            self._refuse(ask, GONE, CLOSING)
        return left

    def _end(self, ask: Ask, step: Step) -> None:
        del self._asks[ask.id]
        said = {"requestId": ask.id, "kind": ask.kind, "server": ask.server, "state": NEXT["open", step]}
        _log.debug("ask_ended", extra={"data": said})

    def _tell_expired(self, ask: Ask, reason: str) -> None:
        self._record(_EXPIRED[ask.kind], ask.server, {"requestId": ask.id, "reason": reason})

    def _refuse(self, ask: Ask, code: int, reason: str) -> None:
        ask.settle(Failed(code, reason, to_raw({"reason": reason})))

    # -- looking

    def open(self, kind: PendingKind | None = None, server: ServerName | None = None) -> list[Ask]:
        return [
            ask
            for ask in self._asks.values()
            if (kind is None or ask.kind == kind) and (server is None or ask.server == server)
        ]

    def open_until(self, server: ServerName) -> float | None:
        """When the last of this server's questions ends, or None when it asks nothing."""
        return max((ask.deadline for ask in self._asks.values() if ask.server == server), default=None)

    def next_deadline(self) -> float | None:
        return min((ask.deadline for ask in self._asks.values()), default=None)

    def reminders(self) -> dict[str, Any] | None:
        """What every response says of open questions, or None when there are none."""
        if not self._asks:
            return None
        return {
            "elicitations": [ask.reminder() for ask in self.open("elicitation")],
            "sampling_requests": [ask.reminder() for ask in self.open("sampling")],
        }


def not_found(kind: PendingKind, request_id: str) -> ClientFault:
    message = f"{_NAME[kind]} request '{request_id[:80]}' not found or already completed"
    return ClientFault(_INVALID_PARAMS, message, {"reason": ASK_NOT_FOUND, "requestId": request_id[:80]})
