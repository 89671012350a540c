"""What the server behind one link has asked and not been answered yet.

It answers nothing by itself but what cannot be taken: whoever is behind the door does.

The one rule: each ask leaves the table once, by its answer, by the server's own cancellation, by the end of the call
that it belongs to, or by the end of the link; and both sides hear of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec import Raw

from emceepee.backends.conversation import Conversation
from emceepee.backends.correlation import Running, belongs
from emceepee.backends.transport import Origin
from emceepee.eras.asks import given_up, read_ask
from emceepee.eras.legacy.asks import answer_for, elicitation_id, read_complete, required_ids
from emceepee.eras.legacy.far_tasks import task_named
from emceepee.eras.meta import CALL_MARK, PROGRESS_TOKEN, RELATED_TASK
from emceepee.eras.revisions import LATEST_LEGACY
from emceepee.protocol.inbound import Debt
from emceepee.vocabulary.asks import AskDoor, AskKind, AskProfile, Belonging, Ear, RaisedAsk, Withdraw
from emceepee.vocabulary.calls import MAY_ASK, Call
from emceepee.vocabulary.notices import Progress
from emceepee.vocabulary.outcomes import Failed, Outcome
from emceepee.vocabulary.raw_json import Fields, read_text, to_raw

CANCELLED_BY_SERVER = "cancelled by server"
CALL_IS_OVER = "the call it belongs to was cancelled"

MAX_VISITED = 256
"""Addresses that somebody was sent to, of which it is remembered whom to tell when that is done."""


@dataclass(slots=True, frozen=True)
class _Open:
    kind: AskKind
    belonging: Belonging
    withdraw: Withdraw


class LinkAsks:
    def __init__(self, conversation: Conversation, door: AskDoor) -> None:
        self._conversation = conversation
        self._door = door
        self._open: dict[Debt, _Open] = {}
        self._visited: dict[str, Ear] = {}
        self.call_of_task: Callable[[str], Call | None] = lambda task_id: None
        """The call behind a task of the server's."""
        self.revision = LATEST_LEGACY

    def __len__(self) -> int:
        return len(self._open)

    @property
    def profile(self) -> AskProfile:
        return self._door.profile

    def raised(self, owed: Debt, leased: bool = False) -> Outcome | None:
        """Implements `conversation.Unasked.raised`; `leased` where the link carries one call at a time."""
        read = read_ask(owed.method, owed.params, self._door.profile)
        if isinstance(read, Failed):
            return read
        belonging = self._belonging(owed, read.meta, leased)
        if belonging.certainty == "over":
            return given_up(read.kind)
        settle = functools.partial(self._settle, owed, read.kind)
        token = read.meta.get(PROGRESS_TOKEN)
        on_progress = None if token is None else functools.partial(self._moved_on, owed, token)
        guessed = belonging.certainty in ("probable", "ambiguous")
        running = functools.partial(self._still_running, belonging) if guessed else None
        ask = RaisedAsk(read.kind, read.wanted, read.params, belonging, settle, on_progress, running=running)
        taken = self._door.take(ask)
        if isinstance(taken, Failed):
            return taken
        if read.wanted == "url" and (visited := elicitation_id(read.params)) is not None:
            self._remember(visited, belonging.calls)
        if not owed.settled:
            self._open[owed] = _Open(read.kind, belonging, taken)
            for call in belonging.calls:
                self._conversation.pause(call)
        return None

    def _closed(self, owed: Debt) -> _Open | None:
        """It is open no more; what belongs to it goes on, if nothing else is asked in its course."""
        one = self._open.pop(owed, None)
        for call in () if one is None else one.belonging.calls:
            if not any(call is other for left in self._open.values() for other in left.belonging.calls):
                self._conversation.resume(call)
        return one

    def _belonging(self, owed: Debt, meta: Fields, leased: bool) -> Belonging:
        origin = owed.origin
        assert isinstance(origin, Origin)
        if RELATED_TASK in meta and (made_for := self.call_of_task(task_named(meta))) is not None:
            # It names the task: rule 2.
            return Belonging("exact", (made_for,))
        asking = {id(call) for one in self._open.values() for call in one.belonging.calls}
        running = [Running(key, call, id(call) in asking) for key, call in self._running()]
        if (named := read_text(meta.get(CALL_MARK))) is not None and origin.request is None:
            # It said itself which one: rule 4.
            own = next((one.call for one in running if one.id == named), None)
            if own is not None:
                return Belonging("exact", (own,))
        found = belongs(origin, running, self._conversation.waits_for(origin.request))
        return Belonging("exact", found.calls) if leased and len(running) == 1 and found.calls else found

    def _running(self) -> list[tuple[str, Call]]:
        return [(key, call) for key, call in self._conversation.calls() if call.method in MAY_ASK]

    def _still_running(self, belonging: Belonging) -> list[Call]:
        candidates = {id(call) for call in (*belonging.calls, *belonging.others)}
        return [call for _, call in self._running() if id(call) in candidates]

    def _settle(self, owed: Debt, kind: AskKind, outcome: Outcome) -> None:
        one = self._closed(owed)
        calls = () if one is None else one.belonging.calls
        self._conversation.reply(owed, answer_for(kind, outcome, self.revision), calls)

    def _moved_on(self, owed: Debt, token: Raw, progress: Progress) -> None:
        if not owed.settled:
            params = to_raw({PROGRESS_TOKEN: token, **progress.params})
            self._conversation.tell_soon("notifications/progress", params)

    # -- addresses that somebody was sent to

    def _remember(self, visited: str, calls: Sequence[Call]) -> None:
        ear = next((call.ear for call in reversed(calls) if call.ear is not None), None)
        if ear is None:
            return
        while len(self._visited) >= MAX_VISITED:
            del self._visited[next(iter(self._visited))]
        self._visited[visited] = ear

    def required(self, call: Call, failed: Failed) -> None:
        """A call has failed because somebody has to go to some addresses first."""
        for visited in required_ids(failed.data):
            self._remember(visited, (call,))

    def completed(self, params: Raw | None) -> None:
        """The server says that this is done: whoever was sent there is told, and nobody else."""
        visited = read_complete(params)
        ear = None if visited is None else self._visited.pop(visited, None)
        if ear is not None and visited is not None:
            ear.completed(visited)

    # -- ended without an answer

    def cancelled(self, owed: Debt) -> None:
        """By the server, which is owed nothing any more (X-BUG-54)."""
        one = self._closed(owed)
        if one is not None:
            one.withdraw(CANCELLED_BY_SERVER)

    def call_is_over(self, call: Call) -> None:
        """Nobody waits for this call any more: its questions are given up. One that may be another call's lives as long
        as any of those runs (rule R8)."""
        if not self._open:
            return
        running = {id(other) for _, other in self._running()} - {id(call)}
        for owed, one in list(self._open.items()):
            own = {id(candidate) for candidate in (*one.belonging.calls, *one.belonging.others)}
            if id(call) in own and running.isdisjoint(own):
                self._closed(owed)
                one.withdraw(CALL_IS_OVER)
                self._conversation.reply(owed, given_up(one.kind))

    def write_off(self) -> None:
        """Whoever asked is gone, or has forgotten that it did: nothing is written any more."""
        for owed in self._open:
            self._conversation.write_off(owed)

    def void(self, reason: str) -> None:
        self.write_off()
        left, self._open = self._open, {}
        self._visited.clear()
        for one in left.values():
            one.withdraw(reason)
