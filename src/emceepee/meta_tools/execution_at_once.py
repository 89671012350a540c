"""`execute_tool` where nobody has to wait: the call is begun, and its answer is written by whoever brings it.

The words of every answer are those of `execution.py`, and what has to look further (a refusal, a tool's own error) goes
on there, in a task. The one rule: as there, a call belongs to its workspace, and whoever asked for it is answered once:
with its result, or with the task that it has become.
"""

from __future__ import annotations

import asyncio

from emceepee.errors import EmceepeeError
from emceepee.meta_tools.answers import error_answer, tool_error
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.execution import about, answered, onward, promoted
from emceepee.meta_tools.news_blocks import with_news
from emceepee.meta_tools.tool import Asked
from emceepee.relay.job import Job
from emceepee.relay.surface import OnEnd
from emceepee.sessions.workspace import Workspace
from emceepee.vocabulary.outcomes import Done


class Execution:
    """Implements `vocabulary.outcomes.Begun` and `waiting_line.Waits`, for the usual patience."""

    __slots__ = ("_asked", "_desk", "_ended", "_job", "_over", "_rest", "_ttl_ms", "_workspace")

    def __init__(self, desk: Desk, asked: Asked, workspace: Workspace, ended: OnEnd) -> None:
        """Raises `EmceepeeError` before anything was done."""
        self._desk = desk
        self._asked = asked
        self._workspace = workspace
        self._ended: OnEnd | None = ended
        self._rest: asyncio.Task[None] | None = None
        self._ttl_ms = workspace.tasks.ttl(asked.arguments.get("task_ttl_ms"))
        server = asked.arguments["server"]
        call = onward(asked, desk.middle.asks.promised(server, asked.call, tools=True))
        self._job = Job(workspace, server, call, asked.on_notice, desk.middle.news.told)
        self._over = False

    def begin(self) -> bool:
        """False where something would have to be waited for: nothing was done."""
        middle, job = self._desk.middle, self._job
        job.on_wake = self._woken
        middle.asks.interrupt(job.call, job.interrupt)
        if not job.begin(middle.calls, middle.settings.execute_timeout_ms / 1000):
            self._leave()
            return False
        if not self._over and self._rest is None:
            self._desk.patience.join(self)
        return True

    def _leave(self) -> None:
        self._over = True
        self._job.on_wake = None
        self._desk.patience.leave(self)
        self._desk.middle.asks.interrupt_no_more(self._job.call)

    def _woken(self) -> None:
        """It has ended, or its server wants to know something first."""
        if self._over or self._rest is not None:
            return
        job = self._job
        if job.running:
            self.overdue()
        elif (done := job.plain_result()) is not None:
            self._tell(done)
        else:
            self._desk.patience.leave(self)
            self._rest = self._desk.middle.tasks.spawn(self._look_further(), "execution")

    def overdue(self) -> None:
        """Whoever waits is given the task that it goes on as."""
        try:
            done = promoted(self._workspace, self._job, self._ttl_ms)
        except EmceepeeError as error:
            done = error_answer(tool_error(error, {}))
        self._tell(done, delivered=False)

    async def _look_further(self) -> None:
        desk, job = self._desk, self._job
        try:
            done = await answered(desk, self._asked, job)
        except EmceepeeError as error:
            what = about(job.server, self._asked.arguments["tool"])
            done = error_answer(tool_error(error, what, desk.middle.settings.execute_timeout_ms))
        self._tell(done)

    def _tell(self, done: Done, delivered: bool = True) -> None:
        ended, self._ended = self._ended, None
        self._leave()
        if ended is None:
            return
        if delivered:
            done.delivery = self._job
        self._workspace.touch()
        ended(with_news(done, self._workspace))

    def abandon(self) -> None:
        """If there is an answer already it is kept, as a task."""
        if self._ended is None:
            return
        self._ended = None
        self._leave()
        if self._rest is not None:
            self._rest.cancel()
        self._job.called_off()
