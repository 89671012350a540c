"""One call that belongs to its workspace and not to the request that began it.

It decides nothing about patience: whoever waits for it does, and promotes it when he waits no more. The one rule: an
answer has one place to go, the response while somebody waits, and the task after that; if the response is lost, a task
is made for it, so that it can still be had.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace

from msgspec import Raw

from emceepee.errors import ClientFault, EmceepeeError, LimitReached
from emceepee.relay.call import Calls
from emceepee.relay.job_ears import CountedEar, TaskEar
from emceepee.relay.ports import Connection
from emceepee.relay.surface import OnNotice
from emceepee.relay.task_room import as_failed, as_task
from emceepee.runtime.clock import Timer
from emceepee.sessions.workspace import Workspace
from emceepee.state.tasks import TaskView
from emceepee.vocabulary.asks import AskProfile
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.names import Scope, ServerName
from emceepee.vocabulary.notices import LogLine, MadeTask, Notice
from emceepee.vocabulary.outcomes import Answered, Begun, Done, Failed, InputNeeded, Outcome, failed, settled
from emceepee.vocabulary.raw_json import read_text
from emceepee.vocabulary.tasks import TAKE_TASKS, GoesOn

Told = Callable[[ServerName, Scope, Notice], None]

Mark = Callable[[Done], None]
"""Says of a result what only the surface knows that the call came by."""

_TRUE = Raw(b"true")


class Job:
    """Implements `vocabulary.outcomes.Delivery` for the response that carries its answer."""

    def __init__(
        self,
        workspace: Workspace,
        server: ServerName,
        call: Call,
        on_notice: OnNotice | None,
        told: Told,
        mark: Mark | None = None,
    ) -> None:
        self.workspace = workspace
        self.server = server
        self.call = call
        self._on_notice = on_notice
        self._told = told
        self._mark = mark
        self._made: MadeTask | None = None
        self._running: asyncio.Task[None] | None = None
        self._sent_by: tuple[Calls, Connection] | None = None
        self._begun: Begun | None = None
        self.on_wake: Callable[[], None] | None = None
        """Told when it has ended, or whoever waits has to look at it; for one who does not `wait`."""
        self._waiting: asyncio.Future[None] | None = None
        self._answer: Answered | EmceepeeError | None = None
        self._task_id: str | None = None
        self.asked = False
        """Whether its server asked something before it ended."""
        self._ear: TaskEar | None = None
        self._impatience: Timer | None = None
        self._impatient_at = 0.0
        self._left = 0.0

    def hear_asks(self, native: AskProfile, coalesce: float) -> None:
        """Its client is asked with the task that it takes, as far as it can be asked itself (`native`); or by its own
        ear, while it waits. One that wants a task at once does not wait."""
        if self.call.ear is not None and self.call.tasks != "asks":
            self.call.ear = CountedEar(self.call.ear, self._asking)
        elif self.call.tasks in TAKE_TASKS and native:
            self._ear = TaskEar(native, self.workspace.clock, coalesce, self._asked_in_task)
            self.call.ear = self._ear

    @property
    def running(self) -> bool:
        return self._running is not None or self._begun is not None

    def begin(self, calls: Calls, patience: float) -> bool:
        """`start` without a task, where nothing has to be waited for. False: nothing was done."""
        connection = calls.ready(self.server, self.call)
        if connection is None:
            return False
        self._sent_by = calls, connection
        begun = calls.begin(self.server, self.call, self._hear, self._longest(patience), self._ended, connection)
        if self._answer is not None:
            return True
        if begun is None:
            return False
        self._begun = begun
        self.workspace.begun.add(self)
        return True

    def _ended(self, outcome: Answered | GoesOn | EmceepeeError) -> None:
        if isinstance(outcome, EmceepeeError):
            self._answer = outcome
        else:
            assert not isinstance(outcome, GoesOn), "servers make no tasks of ours"
            self._answer = outcome
            if self._mark is not None and type(self._answer) is Done:
                self._mark(self._answer)
        self._no_more()

    def _no_more(self) -> None:
        self._begun = None
        self.workspace.begun.discard(self)
        self.call.ear = None
        if self._ear is not None:
            self._ear.close()
        self._wake()
        if self._task_id is not None and self._answer is not None:
            self._report(self._task_id)

    def plain_result(self) -> Done | None:
        """A result in which nothing speaks of an error."""
        answer = self._answer
        return answer if type(answer) is Done and not answer.payload.may_have("isError") else None

    def _longest(self, patience: float) -> float:
        """The call may last as long as it is waited for, and as long as a task can live after that (X-BUG-27)."""
        return patience + self.workspace.tasks.settings.max_ttl_ms / 1000

    def start(self, calls: Calls, connection: Connection, patience: float) -> None:
        longest = self._longest(patience)
        self._sent_by = calls, connection
        work = self._run(calls, connection, longest)
        self._running = self.workspace.jobs.spawn(work, f"call {self.server}")
        # Stopped before its first step, it never comes to say that it is over.
        self._running.add_done_callback(self._over)

    def _over(self, _: asyncio.Task[None]) -> None:
        self._running = None
        self._wake()

    async def _run(self, calls: Calls, connection: Connection, longest: float) -> None:
        try:
            self._answer = await calls.carry(self.server, self.call, self._hear, longest, connection)
            if self._mark is not None and type(self._answer) is Done:
                self._mark(self._answer)
        except EmceepeeError as error:
            self._answer = error
        finally:
            self._running = None
            self.call.ear = None
            if self._ear is not None:
                self._ear.close()
            self._wake()
        if self._task_id is not None:
            self._report(self._task_id)

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
        if self.on_wake is not None:
            self.on_wake()

    def _hear(self, notice: Notice) -> None:
        if isinstance(notice, MadeTask):
            self._note(notice)
            return
        if isinstance(notice, LogLine):
            self._told(self.server, self.workspace.scope, notice)
        if self._on_notice is not None:
            self._on_notice(notice)

    def _note(self, made: MadeTask) -> None:
        """The server does it as a task: a client that takes one need not wait any longer to be given ours."""
        self._made = made
        if self._task_id is not None:
            self.workspace.tasks.note(self._task_id, self.workspace.now(), made.message, made.asks, made.answer)
        elif self._hands_over:
            self._wake()

    def _asked_in_task(self, asked: MadeTask) -> None:
        made = self._made or MadeTask()
        self._note(replace(made, asks=asked.asks, answer=asked.answer))

    @property
    def _hands_over(self) -> bool:
        return self._made is not None and self.call.tasks == "takes"

    async def wait(self, seconds: float) -> bool:
        """Whether it has ended within that time, which is over early where the client rather takes a task, or has to
        answer first. Cancelling the wait calls it off."""
        if not self.running or seconds <= 0 or self._hands_over:
            return not self.running
        self._waiting = asyncio.get_running_loop().create_future()
        self._be_impatient(seconds)
        try:
            await self._waiting
        except asyncio.CancelledError:
            self.called_off()
            raise
        finally:
            self._be_patient()
            self._waiting = None
        return not self.running

    def _be_impatient(self, seconds: float) -> None:
        clock = self.workspace.clock
        self._impatient_at = clock.now() + seconds
        self._impatience = clock.after(seconds, self._wake)

    def _be_patient(self) -> None:
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None

    def _asking(self, asking: bool) -> None:
        """The time that a person takes to answer is not the time of the call."""
        if self._waiting is None:
            return
        if asking:
            self._be_patient()
            self._left = max(0.0, self._impatient_at - self.workspace.clock.now())
        else:
            self._be_impatient(self._left)

    def interrupt(self) -> None:
        """Its server wants to know something: whoever waits has to go and answer."""
        self.asked = True
        self._wake()

    def answer(self) -> Outcome:
        """As `told`, for a client that cannot be asked by its answer."""
        return settled(self.told())

    def told(self) -> Answered:
        """After it ended. Raises what the call raised."""
        if isinstance(self._answer, EmceepeeError):
            raise self._answer
        if self._answer is None:
            raise ClientFault(-32603, "The session ended during the call")
        return self._answer

    def promote(self, ttl_ms: int | None = None) -> TaskView:
        """Nobody waits any more. Raises `LimitReached`, and `ClientFault` for a ttl that is no time."""
        params = self.call.params
        what = (self.server, read_text(params.get("name")) or "", _kept(params.get("arguments")))
        made = self._made or MadeTask()
        view = self.workspace.begin_task(what, self.stop, _lifetime(ttl_ms, made.ttl_ms), self._lost)
        self._task_id = view.id
        # Its client has its answer, and comes back no more: what is needed from here on is asked with the task.
        self.call.relays_asks = False
        self._on_notice = None
        self.workspace.tasks.note(view.id, self.workspace.now(), made.message, made.asks, made.answer)
        return view

    def _lost(self) -> bool:
        """Whether the connection that it is on is gone. One that waits for the next is on none, and
        others of this scope may live."""
        if self._sent_by is None:
            return True
        calls, connection = self._sent_by
        return not connection.alive and not calls.waits(self.call)

    def goes_on(self, ttl_ms: int | None) -> GoesOn:
        """`promote`, for a client that takes tasks. Where there can be no more of them the call is stopped, because
        nobody could ask for its answer. Raises as `promote`."""
        try:
            view = self.promote(ttl_ms)
        except EmceepeeError:
            self.stop()
            raise
        tasks = self.workspace.tasks
        return GoesOn(as_task(tasks.get(view.id), tasks.settings.poll_ms))

    def called_off(self) -> None:
        """Nobody wants its answer any more; if there is one already, it is kept: its server cannot take it back."""
        if not self.running:
            self.lost()
        self.stop()

    def stop(self) -> None:
        """The server is told that nobody wants its answer."""
        if self._running is not None:
            self._running.cancel()
        begun, self._begun = self._begun, None
        if begun is not None:
            begun.abandon()
            self._no_more()

    def _report(self, task_id: str) -> None:
        tasks, now = self.workspace.tasks, self.workspace.now()
        # The task has it from here. Kept, an error would hold on to the frames it came through, and they to us.
        answer, self._answer = self._answer, None
        # A task that was cancelled or has expired meanwhile wants no answer (A-EXE-10).
        with contextlib.suppress(ClientFault):
            match answer:
                case Done(payload=payload, wrapped=wrapped):
                    is_error = payload.may_have("isError") and payload.get("isError") == _TRUE
                    tasks.complete(task_id, payload.raw().copy(), is_error, now, wrapped)
                case Failed() | InputNeeded():
                    why = failed(answer)
                    tasks.fail(task_id, why.message, now, why, theirs=True)
                case EmceepeeError() as error:
                    tasks.fail(task_id, str(error), now, as_failed(error))
                case None:
                    tasks.fail(task_id, "The session ended during the call", now)

    # -- delivery

    def committed(self) -> None:
        # An answer names us as its delivery, an error holds frames that hold us.
        self._answer = None

    def lost(self) -> None:
        if self._answer is None or self._task_id is not None:
            return
        # In a workspace that is over or full there is nobody left to ask for it.
        with contextlib.suppress(LimitReached):
            self._report(self.promote().id)


def _lifetime(ttl_ms: int | None, servers_ms: int | None) -> int | None:
    """What a task lives: as asked for, else as long as its server keeps its own."""
    return servers_ms if ttl_ms is None and servers_ms is not None and servers_ms > 0 else ttl_ms


def _kept(raw: Raw | None) -> Raw | None:
    """A copy lets go of the message it came in."""
    return None if raw is None else raw.copy()
