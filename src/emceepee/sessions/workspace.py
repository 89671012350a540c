"""The named place a client works in: its events, tasks, asks, buffers, and the calls that outlive their requests.

It decides little: it gives its tables the time and ids, wakes who waits for an event, and ends what is due. It holds no
connection; those hang on its scope, in the pool.

The one rule: each change is one step without an await, and whatever it recorded has woken the waiters before it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Raw

from emceepee.errors import OutcomeUnknown
from emceepee.runtime.clock import Clock, Timer, iso
from emceepee.runtime.ids import Ulids
from emceepee.runtime.spawn import TaskScope
from emceepee.state.buffers import Buffers, KeptLog, KeptNotification, LogSource
from emceepee.state.events import Event, EventLog, EventType, Lease, Wanted
from emceepee.state.invalidated import Invalidated
from emceepee.state.kept_tasks import KeptTask
from emceepee.state.pending_requests import Ask, PendingKind, PendingRequests, Settle
from emceepee.state.recording import Moment
from emceepee.state.settings import StateSettings
from emceepee.state.tasks import UNKEPT, Keep, Lost, Stop, Tasks, TaskView
from emceepee.state.totals import EventTotals
from emceepee.state.waiting import Waiters
from emceepee.vocabulary.asks import DISCONNECTED, RECONNECTED
from emceepee.vocabulary.names import LogLevel, Scope, ServerName
from emceepee.vocabulary.outcomes import Failed, Outcome
from emceepee.vocabulary.raw_json import to_raw

_INTERNAL_ERROR = -32603
REMOVED = "Server removed"
CALL_UNKNOWN = "Server reconnected - tool call state unknown"
"""Why a task ends whose server may have forgotten it."""


class Stoppable(Protocol):
    def stop(self) -> None: ...


class Workspace:
    def __init__(
        self,
        scope: Scope,
        clock: Clock,
        ulids: Ulids,
        settings: StateSettings,
        totals: EventTotals | None = None,
        keep: Keep = UNKEPT,
    ) -> None:
        self.scope = scope
        self.settings = settings
        self.clock = clock
        self.created_at = clock.wall()
        self.last_used = clock.now()
        self.events = EventLog(settings.events, totals)
        self.asks = PendingRequests(self.record, settings.asks)
        self.tasks = Tasks(self.record, settings.tasks, self.asks.open_until, keep)
        self.notifications: Buffers[KeptNotification] = Buffers(settings.buffers.max_notifications)
        self.logs: Buffers[KeptLog] = Buffers(settings.buffers.max_logs)
        self.waiters = Waiters(clock)
        self.jobs = TaskScope("workspace")
        self.begun: set[Stoppable] = set()
        """What runs here without a task."""
        self._ulids = ulids
        self._max_item_bytes = settings.buffers.max_item_bytes
        self._timer: Timer | None = None
        self._due = float("inf")
        self.onlookers: list[Callable[[Event], None]] = []
        """Told of each event when it happens, beside its delivery."""
        self.by_tools = False
        """Whether its client has our tools, and so can be asked something by them."""
        self._asked_since: dict[ServerName, float] = {}
        self._taken: dict[ServerName, Invalidated] = {}
        """What lost connections took with them, until the server is told to be there again."""
        self.closed = False

    @property
    def busy(self) -> bool:
        """Whether somebody waits here, or something runs."""
        return bool(len(self.waiters) or len(self.jobs) or self.begun or self.tasks.views() or len(self.asks))

    def touch(self) -> None:
        self.last_used = self.clock.now()

    def now(self) -> Moment:
        return Moment(self.clock.now(), self.clock.wall())

    def new_id(self) -> str:
        return self._ulids.next()

    # -- events

    def record(self, kind: EventType, server: ServerName, data: dict[str, Any], about: str | None = None) -> str:
        """The event's id. Whoever waits is woken."""
        if self.closed:
            return ""
        event_id = self.events.append(kind, server, to_raw(data), self.new_id(), self.clock.wall(), about)
        self.waiters.wake(self.events.sequence)
        if self.onlookers and (event := self.events.find(event_id)) is not None:
            for look in tuple(self.onlookers):
                look(event)
        return event_id

    def mark_sent(self, event: Event) -> None:
        """It went out on a stream, which is not yet delivery: the next response has it all the same."""
        self.events.mark_sent(event.id, self.clock.wall())

    def lease(self, wanted: Wanted | None = None) -> Lease:
        return self.events.lease(wanted)

    def commit(self, lease: Lease) -> None:
        """The response that carries these was handed to a live connection."""
        for event in self.events.commit(lease, self.clock.wall()):
            if event.about is not None:
                self.tasks.delivered(event.about, self.now())
                self._wake_at(self.clock.now() + self.tasks.settings.retention_ms / 1000)

    def give_back(self, lease: Lease) -> None:
        """It was not, or nobody knows. Whoever waits may take them now."""
        if self.events.give_back(lease):
            self.waiters.wake(self.events.sequence)

    # -- what servers say unasked

    def heard(self, server: ServerName, method: str, params: Raw | None) -> None:
        """A notification: kept to be fetched, and told as an event (X-CON-33: two views, each at most once)."""
        now = self.clock.wall()
        kept = None if params is None else self._bounded(params)
        self.notifications.add(KeptNotification(server, now, method, kept))
        data: dict[str, Any] = {"method": method, "timestamp": iso(now)}
        self.record("notification", server, data if kept is None else data | {"params": kept})

    def logged(
        self, server: ServerName, level: LogLevel, data: Raw | None, logger: str | None, source: LogSource
    ) -> None:
        """A line of a server's log: kept to be fetched, and no event (A-EVT-16)."""
        kept = None if data is None else self._bounded(data)
        self.logs.add(KeptLog(server, self.clock.wall(), level, kept, logger, source))

    def _bounded(self, raw: Raw) -> Raw:
        size = len(memoryview(raw))
        if size <= self._max_item_bytes:
            return raw.copy()
        beginning = bytes(memoryview(raw)[: self._max_item_bytes // 8]).decode(errors="ignore")
        return to_raw({"truncated": True, "bytes": size, "beginning": beginning})

    # -- tasks and asks

    def begin_task(
        self,
        what: tuple[ServerName, str, Raw | None],
        stop: Stop | None,
        ttl_ms: int | None = None,
        lost: Lost | None = None,
    ) -> TaskView:
        """`what` is server, tool and arguments. Raises `LimitReached`, and `ClientFault` for a ttl that is no time."""
        view = self.tasks.create(self.new_id(), what, self.now(), stop, self.tasks.ttl(ttl_ms), lost)
        self._wake_at(self.clock.now() + view.ttl_ms / 1000)
        return view

    def inherit(self, task: KeptTask) -> None:
        """One that an earlier run of the gateway left."""
        self.tasks.restore(task.view, task.told, task.keep_until, self.now())
        due = self.tasks.next_deadline()
        if due is not None:
            self._wake_at(due)

    def begin_ask(
        self, kind: PendingKind, server: ServerName, params: Raw, settle: Settle, timeout_ms: int | None = None
    ) -> Ask:

        def settled(outcome: Outcome) -> None:
            self._asked_no_more(server)
            settle(outcome)

        ask = self.asks.add(self.new_id(), kind, server, params, self.now(), settled, timeout_ms)
        self._asked_since.setdefault(server, self.clock.now())
        self._wake_at(ask.deadline)
        return ask

    def answer_ask(self, kind: PendingKind, request_id: str, answer: dict[str, Any]) -> Ask:
        """Raises as `PendingRequests.answer`."""
        return self.asks.answer(kind, request_id, answer, self.now())

    def withdraw_ask(self, ask: Ask, reason: str) -> None:
        """Its server waits for no answer any more."""
        if self.asks.withdraw(ask.id, reason):
            self._asked_no_more(ask.server)
            if reason in (DISCONNECTED, RECONNECTED):
                self._note_taken(ask.server, _of_asks([ask]))

    def _asked_no_more(self, server: ServerName) -> None:
        """The time that a person took to answer is not the time of the calls that waited for it."""
        if self.asks.open_until(server) is None:
            since = self._asked_since.pop(server, None)
            if since is not None:
                self.tasks.waited(server, since, self.clock.now())
        self._clear_if_nothing_is_due()

    def _wake_at(self, due: float) -> None:
        """One timer, for whatever is due first. Ringing too early does no harm."""
        if due >= self._due or self.closed:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self.clock.after(max(0.0, due - self.clock.now()), self._ring)

    def _clear_if_nothing_is_due(self) -> None:
        if self._timer is not None and not len(self.asks) and not len(self.tasks):
            self._timer.cancel()
            self._timer, self._due = None, float("inf")

    def _ring(self) -> None:
        self._timer, self._due = None, float("inf")
        now = self.now()
        # Asks first: a task may live as long as its question, and no longer.
        self.asks.expire(now)
        self.tasks.expire(now)
        due = [at for at in (self.tasks.next_deadline(), self.asks.next_deadline()) if at is not None]
        if due:
            self._wake_at(min(due))

    def _lost(self, server: ServerName, reason: str) -> Invalidated:
        """This scope's connection is gone: what it carried is lost with it. Logs stay, they explain it (X-CON-08)."""
        tasks = self.tasks.fail_server(server, reason, self.now(), _nobody_knows(server, reason))
        return Invalidated(tuple(task.id for task in tasks)) + _of_asks(self.asks.reject_server(server, reason))

    def disconnected(self, server: ServerName, why: str | None = None, others: bool = False) -> None:
        """With `others`, this scope has further connections to the server, which carry on what they carry."""
        taken = self._carried(server, DISCONNECTED) if others else self._lost(server, DISCONNECTED)
        self._note_taken(server, taken)
        said = {"name": server} | ({} if why is None else {"reason": why})
        self.record("server_disconnected", server, said | taken.counts())

    def replaced(self, server: ServerName) -> None:
        """The connection is being replaced by another one: its server has forgotten the calls that it carried."""
        self._note_taken(server, self._carried(server, CALL_UNKNOWN))

    def _carried(self, server: ServerName, reason: str) -> Invalidated:
        """The calls of a connection that is gone. The questions that came over it end with it, one by one, because
        others may come over another one already."""
        tasks = self.tasks.fail_server(server, reason, self.now(), _nobody_knows(server, reason), carried=True)
        return Invalidated(tuple(task.id for task in tasks))

    def _note_taken(self, server: ServerName, taken: Invalidated) -> None:
        if taken:
            self._taken[server] = self._taken.get(server, Invalidated()) + taken

    def taken(self, server: ServerName) -> Invalidated:
        """All that connections to this server took with them since it was last told to be there. Asked once."""
        return self._taken.pop(server, Invalidated())

    def removed(self, server: ServerName) -> None:
        """The server is no more, for anybody."""
        self._lost(server, REMOVED)
        self._taken.pop(server, None)
        self.notifications.clear(server)
        self.logs.clear(server)

    # -- the end

    async def close(self, grace: float = 5.0, forget: bool = True) -> None:
        """In the order of A-SES-16. What hangs on the scope elsewhere (connections) is for others to close. Its tasks
        are forgotten, unless it ends only because the process does."""
        if self.closed:
            return
        self.closed = True
        if self._timer is not None:
            self._timer.cancel()
        self.asks.close()
        self.tasks.close(self.now(), forget)
        self.notifications.clear()
        self.logs.clear()
        self.waiters.close()
        self.onlookers.clear()
        for one in list(self.begun):
            one.stop()
        await self.jobs.close(grace)
        self.events.close()


def _nobody_knows(server: ServerName, why: str) -> Failed:
    """The server had the call, and may have done it."""
    data = OutcomeUnknown(server, why, {"sent": True}).told()
    return Failed(_INTERNAL_ERROR, why, to_raw(data))


def _of_asks(asks: list[Ask]) -> Invalidated:
    return Invalidated(
        elicitations=tuple(ask.id for ask in asks if ask.kind == "elicitation"),
        sampling_requests=tuple(ask.id for ask in asks if ask.kind == "sampling"),
    )
