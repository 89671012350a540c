"""Tools of a 2025-11-25 server that are run as tasks or not at all: called as a task, and its result waited for.

Which they are its list of tools says; one that was not listed as such is called again when the server has refused the
plain call (-32601), for it has done nothing then. While the task runs, `tasks/result` is what is on its way for the
call, so that what the server asks finds whose it is. The one rule: each call has one task, and one that nobody waits
for any more is cancelled at its server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from emceepee.backends.carried import Carried
from emceepee.backends.conversation import Conversation
from emceepee.eras.legacy import far_tasks as wire
from emceepee.errors import BackendFault
from emceepee.protocol.messages import METHOD_NOT_FOUND, Failure, Result
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.notices import MadeTask
from emceepee.vocabulary.raw_json import Payload, read_text

Stage: TypeAlias = Literal["making", "looking", "waiting"]

_CANCEL_SECONDS = 10.0


@dataclass(slots=True)
class _Made:
    stage: Stage = "making"
    task_id: str = ""


class RequiredTasks:
    """Of one link. Costs nothing until a server refuses a call in this way."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._made: dict[Carried, _Made] = {}
        # One empty set for all: most links have none.
        self._names: frozenset[str] = frozenset()
        self.offered = False
        self.listed = False

    def met(self, about: About) -> None:
        """Whether this server runs tools as tasks."""
        self.offered = wire.runs_tools_as_tasks(about)

    def note(self, tools: Payload) -> None:
        """A page of its tools."""
        self.listed = True
        self._names |= wire.run_as_tasks_only(tools)

    def forget(self) -> None:
        """Its tools have changed."""
        self.listed = False
        self._names = frozenset()

    def question(self, carried: Carried) -> tuple[str, Call]:
        """What is asked for the call now: itself, itself as a task, or after its task."""
        made = self._made.get(carried)
        call = carried.call
        if made is None:
            if read_text(call.params.get("name")) not in self._names:
                return call.method, call
            made = self._made[carried] = _Made()
        if made.stage == "making":
            return call.method, wire.as_task(call, round(carried.timeout * 1000))
        return (wire.GET if made.stage == "looking" else wire.RESULT), wire.about(call, made.task_id)

    def goes_on(self, carried: Carried, answer: Result | Failure) -> bool:
        """Whether the answer is no end of the call, and the next question is to be asked. When it is one, the call is
        forgotten."""
        made = self._made.get(carried)
        if made is None:
            if isinstance(answer, Failure) and answer.error.code == METHOD_NOT_FOUND:
                self._made[carried] = _Made()
                return True
            return False
        if isinstance(answer, Result):
            if made.stage == "making" and (task := wire.read_created(answer.result)) is not None:
                made.stage, made.task_id = "looking", task.id
                if carried.on_notice is not None:
                    carried.on_notice(MadeTask(task.message, task.ttl_ms))
                return True
            if made.stage == "looking":
                made.stage = "waiting"
                return True
        del self._made[carried]
        return False

    def call_of(self, task_id: str) -> Call | None:
        """The call that this task was made for, as long as it runs."""
        return next((carried.call for carried, made in self._made.items() if made.task_id == task_id), None)

    def given_up(self, carried: Carried) -> None:
        made = self._made.pop(carried, None)
        if made is not None and made.task_id:
            self._cancel(made.task_id)

    def _cancel(self, task_id: str) -> None:
        try:
            self._conversation.begin(wire.CANCEL, wire.write_cancel(task_id), _CANCEL_SECONDS, lambda answer: None)
        except BackendFault:
            # It is gone, and its task with it.
            return
