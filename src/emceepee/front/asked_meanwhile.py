"""What a task wants to know of a legacy client, asked on the stream of the request by which it waits for the result.

Elsewhere the task only says that it needs input. The one rule: each question is asked once on one stream, names its
task, and is taken back when that stream ends; it stays with the task until it is answered.
"""

from __future__ import annotations

import functools
from types import TracebackType

from msgspec import Raw

from emceepee.eras.asks import ASKS
from emceepee.eras.legacy.tasks import about_task
from emceepee.front.answers import logged
from emceepee.front.asking import Asking, Voice
from emceepee.front.shop import Shop
from emceepee.relay.task_room import Following, TaskRoom
from emceepee.sessions.session import Session
from emceepee.vocabulary.asks import AskKind, Belonging, RaisedAsk, Withdraw
from emceepee.vocabulary.notices import Notice, TaskChanged
from emceepee.vocabulary.outcomes import Done, Failed, Outcome
from emceepee.vocabulary.raw_json import EMPTY_OBJECT, Fields, NotThatShape, read_fields, read_text, to_raw
from emceepee.vocabulary.tasks import Task

_CANCELLED = to_raw({"action": "cancel"})
"""An error to an elicitation is no decline: that is for a person to say."""


class AskedMeanwhile:
    """`with` it, the client is asked."""

    def __init__(self, room: TaskRoom, session: Session, task_id: str, shop: Shop, voice: Voice | None) -> None:
        self._room = room
        self._session = session
        self._task_id = task_id
        self._shop = shop
        self._voice = voice
        self._following: Following | None = None
        self._asked: dict[str, Withdraw | None] = {}

    def __enter__(self) -> None:
        """Raises `ClientFault` for a task that is not this session's."""
        task = self._room.get(self._session.caller, self._task_id)
        if self._session.asks and not task.ended:
            self._following = self._room.follow(self._session.caller, (self._task_id,), self._hear)
            self._show(task)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._following is not None:
            self._following.close()
        asked, self._asked = self._asked, {}
        for withdraw in asked.values():
            if withdraw is not None:
                withdraw("nobody waits for the result any more")

    def _hear(self, notice: Notice) -> None:
        if isinstance(notice, TaskChanged):
            self._show(notice.task)

    def _show(self, task: Task) -> None:
        for key in [key for key in self._asked if key not in task.asks]:
            withdraw = self._asked.pop(key)
            if withdraw is not None:
                withdraw("the server wants it no more")
        for key, raw in task.asks.items():
            if key not in self._asked:
                self._ask(key, raw)

    def _ask(self, key: str, raw: Raw) -> None:
        read = _read(raw)
        method = read_text(read.get("method")) or ""
        kind = ASKS.get(method)
        if kind is None:
            return
        params = about_task(read.get("params") or EMPTY_OBJECT, self._task_id)
        wanted = "form" if kind == "elicitation" else kind
        ask = RaisedAsk(kind, wanted, params, Belonging("exact"), functools.partial(self._settled, key, kind))
        self._asked[key] = None
        taken = Asking.of(self._session, self._shop.clock).ask(ask, self._voice)
        if isinstance(taken, Failed):
            # It stays with the task; the next who waits for the result is asked again.
            self._asked.pop(key, None)
        elif key in self._asked:
            self._asked[key] = taken

    def _settled(self, key: str, kind: AskKind, outcome: Outcome) -> None:
        if key not in self._asked:
            return
        self._asked[key] = None
        if isinstance(outcome, Done):
            answer = outcome.payload.raw()
        elif kind == "elicitation":
            answer = _CANCELLED
        else:
            # A task has no words for it: the question stays, until its time is over or the task is cancelled.
            return
        work = self._room.answer(self._session.caller, self._task_id, {key: answer})
        self._shop.tasks.spawn(logged(work, "task_answer_refused"), "answer task")


def _read(raw: Raw) -> Fields:
    try:
        return read_fields(raw)
    except NotThatShape:
        return {}
