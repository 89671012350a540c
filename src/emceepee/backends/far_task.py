"""A task that a server made of one call: looked after until it ends, so that the call has its answer.

It does not read the wire (`eras.modern.far_tasks`). The one rule: whoever waits for the call is told its outcome once,
and a task that nobody waits for any more is cancelled at its server.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from emceepee.backends.carried import Carried
from emceepee.eras.faults import Violation
from emceepee.eras.modern import far_tasks as wire
from emceepee.eras.modern.far_tasks import FarTask
from emceepee.errors import BackendFault, BackendTimeout, BackendViolation, OutcomeUnknown
from emceepee.protocol.messages import INTERNAL_ERROR, ErrorObject, Failure, Result
from emceepee.runtime.clock import Clock
from emceepee.vocabulary.notices import MadeTask
from emceepee.vocabulary.raw_json import Fields

FIRST_PAUSE: Final = 0.2
USUAL_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 5.0
_FAULTS_IN_A_ROW: Final = 3


class AskAbout(Protocol):
    """One request about a task. Raises `BackendFault`."""

    async def __call__(self, method: str, task_id: str, answers: Fields | None = None) -> Result | Failure: ...


class FollowedTask:
    def __init__(self, server: str, made: FarTask, carried: Carried, ask: AskAbout, clock: Clock) -> None:
        self._server = server
        self._task = made
        self._carried = carried
        self._ask = ask
        self._clock = clock
        self._until = clock.now() + carried.timeout
        self._next_pause = FIRST_PAUSE
        self.known_to_be_over = False
        """Else it may go on at its server."""

    @property
    def id(self) -> str:
        return self._task.id

    async def follow(self) -> None:
        """To its end, whatever that is."""
        try:
            outcome = await self._outcome()
        except BackendFault as fault:
            self._carried(fault.with_traceback(None))
        except asyncio.CancelledError:
            # Nothing to whoever has given up; only a connection that is closed leaves somebody waiting.
            self._carried(OutcomeUnknown(self._server, "the connection was closed while its task ran"))
            raise
        else:
            self._carried(outcome)

    async def _outcome(self) -> Result | Failure:
        while True:
            self._check_asks()
            self._tell()
            task = self._task
            if task.ended:
                self.known_to_be_over = True
                return self._ended(task)
            await self._clock.sleep(self._pause())
            if self._clock.now() >= self._until:
                raise BackendTimeout(self._server, f"its task did not end within {self._carried.timeout:g} s")
            if (refusal := await self._look()) is not None:
                return refusal

    def _pause(self) -> float:
        """As the server wishes it, in the end; a task that asks does so early, and somebody waits for that."""
        poll_ms = self._task.poll_ms
        wanted = USUAL_PAUSE if poll_ms is None else poll_ms / 1000
        pause = min(self._next_pause, max(wanted, FIRST_PAUSE), LONGEST_PAUSE)
        self._next_pause = pause * 2
        return pause

    async def _look(self) -> Failure | None:
        """Ask how it stands. A server that cannot be reached for a moment keeps its tasks."""
        for attempt in range(_FAULTS_IN_A_ROW):
            try:
                answer = await self._ask(wire.GET, self.id)
            except BackendFault:
                if attempt == _FAULTS_IN_A_ROW - 1:
                    raise
                await self._clock.sleep(self._pause())
                continue
            if isinstance(answer, Failure):
                self.known_to_be_over = True
                return answer
            try:
                self._task = self._task.told_again(wire.read_task(answer.result))
            except Violation as violation:
                raise BackendViolation(self._server, str(violation)) from None
            return None
        return None

    def _check_asks(self) -> None:
        problem = wire.unwelcome(self._task, self._carried.call.asks)
        if problem is not None:
            raise BackendViolation(self._server, f"its task asks for what it may not: {problem}")

    def _tell(self) -> None:
        """Whoever carries the call may hand it over as a task of ours."""
        hear, task = self._carried.on_notice, self._task
        if hear is not None and not task.ended:
            hear(MadeTask(task.message, task.ttl_ms, task.asks, self._answer if task.asks else None))

    async def _answer(self, answers: Fields) -> None:
        """What was asked, answered; what is still open is known when this returns."""
        answer = await self._ask(wire.UPDATE, self.id, answers)
        if isinstance(answer, Failure):
            raise BackendViolation(self._server, f"it refused the answer: {answer.error.message}")
        self._next_pause = FIRST_PAUSE
        await self._look()
        self._check_asks()
        self._tell()

    def _ended(self, task: FarTask) -> Result | Failure:
        if task.status == "completed" and task.result is not None:
            return Result("", task.result)
        if task.error is not None:
            return Failure("", task.error)
        what = task.message or f"the server's task ended as {task.status}"
        return Failure("", ErrorObject(INTERNAL_ERROR, what))
