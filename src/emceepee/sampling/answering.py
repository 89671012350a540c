"""Configured models as a step of the ladder: a server's question goes in, the pipeline's answer or refusal settles it.

It decides nothing about the other steps (that is `relay.ladder`). Where somebody has to approve, he is asked by a
question of our own, which climbs the ladder from the same call.

The one rule: each question that is taken is settled once, or withdrawn; what goes wrong inside is told as an error.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import logging
from collections.abc import Callable

from emceepee.errors import ClientFault
from emceepee.runtime.spawn import TaskScope
from emceepee.sampling.approval import Dialog
from emceepee.sampling.approvers.elicitation import NOBODY_IN_TIME, ElicitationApprover
from emceepee.sampling.approvers.policy import PolicyApprover
from emceepee.sampling.content import Json
from emceepee.sampling.pipeline import Pipeline, SamplingAsk
from emceepee.sampling.refusals import INTERNAL
from emceepee.sampling.settings import AnswerRule, SamplingOptions
from emceepee.vocabulary.asks import Askable, AskProfile, RaisedAsk, TakeAsk, Withdraw
from emceepee.vocabulary.names import Scope, ServerName
from emceepee.vocabulary.outcomes import Done, Failed, Outcome
from emceepee.vocabulary.raw_json import NotThatShape, Payload, read_value, to_raw

_log = logging.getLogger("emceepee.sampling")

_TIMED_OUT = -32001


@dataclasses.dataclass(slots=True, frozen=True)
class _Open:
    """A question that is being dealt with; `climb` leads to its caller, for a question of ours."""

    ask: RaisedAsk
    climb: TakeAsk


class Answering:
    """Implements `relay.model_step.ModelStep`. `new_id` names each request in its record."""

    def __init__(self, options: SamplingOptions, new_id: Callable[[], str]) -> None:
        self._options = options
        self._new_id = new_id
        self._open: dict[str, _Open] = {}
        self._running = TaskScope("sampling")
        self.approver = PolicyApprover(options.approve_for, ElicitationApprover(self._elicit), options.review)
        self.pipeline: Pipeline | None = None

    @property
    def takes(self) -> AskProfile:
        """What of sampling can be promised because of the models that there are."""
        tools = any("tools" in model.takes for model in self._options.models)
        told = self._options.limits.disclose != "none"
        parts: dict[Askable, bool] = {"sampling": True, "sampling_tools": tools, "sampling_context": told}
        return frozenset(part for part, there in parts.items() if there)

    def __len__(self) -> int:
        return len(self._open)

    def rule(self, server: ServerName, scope: Scope) -> AnswerRule:
        return self._options.answers_for(server, scope)

    def take(self, server: ServerName, scope: Scope, ask: RaisedAsk, climb: TakeAsk) -> Withdraw | Failed:
        name = self._new_id()
        self._open[name] = _Open(ask, climb)
        task = self._running.spawn(self._answer(ask, SamplingAsk(name, scope, server, _read(ask))), f"answer {name}")
        # Also when it is cancelled before its first step.
        task.add_done_callback(functools.partial(self._ended, name))
        return functools.partial(_withdraw, task)

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        del self._open[name]

    async def _answer(self, ask: RaisedAsk, asked: SamplingAsk) -> None:
        ask.settle(await self._outcome(asked))

    async def _outcome(self, asked: SamplingAsk) -> Outcome:
        assert self.pipeline is not None, "set by whoever made both"
        try:
            return Done(Payload.of(await self.pipeline.answer(asked)))
        except ClientFault as fault:
            return Failed(fault.code, fault.message, None if fault.data is None else to_raw(fault.data))
        except Exception as error:  # noqa: BLE001 - the wall: a server that asked is owed an answer, whatever broke here
            _log.error(
                "sampling_failed_inside", extra={"data": {"server": asked.server, "error": type(error).__name__}}
            )
            return Failed(INTERNAL, "Internal error")

    async def _elicit(self, dialog: Dialog, params: Json) -> Json | None:
        """A question of ours to whoever made the call in whose course the server asks."""
        one = self._open[dialog.ask]
        answered: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        raised = dataclasses.replace(
            one.ask,
            kind="elicitation",
            wanted="form",
            params=to_raw(params),
            settle=functools.partial(_settle, answered),
        )
        taken = one.climb(raised)
        if isinstance(taken, Failed):
            return None
        try:
            outcome = await answered
        finally:
            if not answered.done() or answered.cancelled():
                taken("nobody waits for this decision any more")
        match outcome:
            case Done(payload=payload):
                return _object(payload)
            case Failed(code=code) if code == _TIMED_OUT:
                return NOBODY_IN_TIME
        return None

    async def close(self) -> None:
        await self._running.close()


def _settle(answered: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if not answered.done():
        answered.set_result(outcome)


def _withdraw(task: asyncio.Task[None], reason: str) -> None:
    task.cancel()


def _read(ask: RaisedAsk) -> object:
    try:
        return read_value(ask.params)
    except NotThatShape:
        return None


def _object(payload: Payload) -> Json:
    try:
        read = read_value(payload.raw())
    except NotThatShape:
        read = None
    return read if isinstance(read, dict) else {}
