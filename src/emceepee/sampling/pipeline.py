"""Everything between a server's question and a model's answer, in its order:

    validate    params that are wrong are nobody's business                -32602 Invalid params
    rate        one server in one workspace, so often and no more          -32000 Rate limit exceeded
    budget      one server, so many calls and tokens in a window           -32000 Rate limit exceeded
    context     what the operator lets a server see of itself or others    (never refuses)
    approve     somebody says yes, no, or changes it                       -1 User rejected sampling request
    choose      a model, by what it has to take, hints and priorities      -32603 No suitable model available
    ask         with a time limit                                          -32603 The model did not answer
    review      content policy, then somebody says yes, no, or changes it  -1 User rejected AI response

Around all of it: one audit record, whatever happens. It knows no wire; refusals are `SamplingRefused`.

The one rule: no step is left out. What needs nobody's approval is an approver that says so, chosen by the operator.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from emceepee.runtime.clock import Clock
from emceepee.runtime.deadline import Deadline
from emceepee.sampling.approval import AnswerDialog, Approver, RequestDialog, Verdict
from emceepee.sampling.asking import ask_patiently
from emceepee.sampling.audit import AuditLog, End, NoAudit, Trail
from emceepee.sampling.budget import Budgets, Exhausted, Reservation
from emceepee.sampling.choice import Catalogue, Choice, choose
from emceepee.sampling.content import Json
from emceepee.sampling.content_policy import filtered
from emceepee.sampling.content_rule import ContentRule
from emceepee.sampling.context import ContextSource, NoContext, granted, with_context
from emceepee.sampling.model import needs_of
from emceepee.sampling.provider import Provider, ProviderFailed
from emceepee.sampling.rates import Rates
from emceepee.sampling.refusals import SamplingRefused, answer_rejected, limited, no_model, rejected
from emceepee.sampling.response import MalformedAnswer, read_response
from emceepee.sampling.risks import risks_of
from emceepee.sampling.settings import SamplingSettings
from emceepee.sampling.validation import check
from emceepee.vocabulary.names import Scope, ServerName

_log = logging.getLogger("emceepee.sampling")

_T = TypeVar("_T")


@dataclass(slots=True, frozen=True)
class SamplingAsk:
    """`params` as they came, of whatever shape."""

    id: str
    scope: Scope
    server: ServerName
    params: Any


@dataclass(slots=True, frozen=True)
class Parts:
    """What the pipeline works with. `providers` are named by the models of the catalogue."""

    catalogue: Catalogue
    providers: Mapping[str, Provider]
    approver: Approver
    context: ContextSource = field(default_factory=NoContext)
    rules: Sequence[ContentRule] = ()
    audit: AuditLog = field(default_factory=NoAudit)
    keep_prompts: bool = False


class Pipeline:
    def __init__(self, parts: Parts, clock: Clock, settings: SamplingSettings | None = None) -> None:
        self._parts = parts
        self._clock = clock
        self._settings = settings or SamplingSettings()
        self._rates = Rates(self._settings.rate)
        self._budgets = Budgets(self._settings.budget)
        self._running = 0

    async def answer(self, asked: SamplingAsk) -> Json:
        """The result of `sampling/createMessage`. Raises `SamplingRefused`."""
        trail = Trail(self._clock, asked.id, asked.scope, asked.server, self._parts.keep_prompts)
        self._running += 1
        try:
            answer = await self._steps(asked, trail)
        except SamplingRefused as refused:
            failed = bool(trail.steps) and trail.steps[-1][0] == "ask"
            self._record(trail, "failed" if failed else "refused", refused)
            raise
        except asyncio.CancelledError:
            self._record(trail, "cancelled")
            raise
        finally:
            self._running -= 1
        self._record(trail, "answered")
        return answer

    def _record(self, trail: Trail, end: End, refused: SamplingRefused | None = None) -> None:
        entry = trail.entry(end, *((refused.code, refused.message) if refused is not None else ()))
        told = {key: entry[key] for key in ("server", "outcome", "code", "model", "durationMs") if key in entry}
        _log.info("sampling_decided", extra={"data": told})
        self._parts.audit.record(entry)

    async def _steps(self, asked: SamplingAsk, trail: Trail) -> Json:
        with trail.step("validate"):
            params = check(asked.params, self._settings.max_temperature)
        with trail.step("rate"):
            self._take_turn(asked)
        with trail.step("budget"):
            reservation = self._reserve(asked.server, params)
        used, called = 0, False
        try:
            with trail.step("context"):
                params = await self._with_context(asked, params)
            trail.request = params
            with trail.step("approve"):
                params = await self._approved(asked, params, trail)
            with trail.step("choose"):
                choice = self._choose(params, trail)
            called = True
            with trail.step("ask"):
                answer = await self._ask(choice, params, trail)
            used = (trail.input_tokens or 0) + (trail.output_tokens or 0)
        finally:
            reservation.settle(used, called)
        with trail.step("review"):
            answer = await self._reviewed(asked, params, answer, trail)
        trail.stop_reason = answer.get("stopReason")
        trail.answer = answer
        return answer

    # -- limits

    def _take_turn(self, asked: SamplingAsk) -> None:
        if self._running > self._settings.max_running:
            raise limited(f"{self._settings.max_running} sampling requests run already", 1.0, 0, self._clock.wall())
        seconds = self._rates.take((asked.scope, asked.server), self._clock.now())
        if seconds:
            rate = self._settings.rate
            said = f"{rate.per_minute:g} requests a minute, {rate.burst} at once, for one server in one workspace"
            raise limited(said, seconds, 0, self._clock.wall())

    def _reserve(self, server: ServerName, params: Json) -> Reservation:
        reserved = self._budgets.reserve(server, params["maxTokens"], self._clock.now())
        if isinstance(reserved, Exhausted):
            window = self._settings.budget.window / 3600
            said = f"The budget of server '{server}' is used up: {reserved.what} in {window:g} h"
            raise limited(said, reserved.seconds, reserved.calls_left, self._clock.wall())
        return reserved

    # -- approval

    async def _with_context(self, asked: SamplingAsk, params: Json) -> Json:
        level = granted(params.get("includeContext"), self._settings.disclose)
        if level == "none":
            return params
        whose = asked.server if level == "thisServer" else None
        pieces = await self._parts.context.context(asked.scope, whose)
        return with_context(params, pieces, self._settings.max_context)

    async def _approved(self, asked: SamplingAsk, params: Json, trail: Trail) -> Json:
        dialog = RequestDialog(asked.scope, asked.server, params, risks_of(params), ask=asked.id)
        verdict = await self._decided(self._parts.approver.approve(dialog), "request")
        trail.approved_by = verdict.by
        if not verdict.approved:
            raise rejected(verdict.reason or "User declined AI interaction", verdict.kind)
        if verdict.edited is None:
            return params
        trail.edited = True
        return check(verdict.edited, self._settings.max_temperature)

    async def _reviewed(self, asked: SamplingAsk, params: Json, answer: Json, trail: Trail) -> Json:
        answer = filtered(answer, self._parts.rules)
        dialog = AnswerDialog(asked.scope, asked.server, params, answer, ask=asked.id)
        verdict = await self._decided(self._parts.approver.review(dialog), "answer")
        trail.reviewed_by = verdict.by
        if not verdict.approved:
            raise answer_rejected(verdict.reason or "User declined the answer", verdict.kind)
        if verdict.edited is None:
            return answer
        trail.edited = True
        return _readable(verdict.edited, "the edited answer")

    async def _decided(self, deciding: Awaitable[Verdict], what: str) -> Verdict:
        seconds = self._settings.approval_timeout
        try:
            async with Deadline(self._clock, seconds):
                return await deciding
        except TimeoutError:
            return Verdict(False, "nobody", reason=f"Nobody decided on the {what} within {seconds:g} s", kind="timeout")

    # -- the model

    def _choose(self, params: Json, trail: Trail) -> Choice:
        choice = choose(params.get("modelPreferences"), self._parts.catalogue, needs_of(params))
        trail.model, trail.why = choice.model.name, choice.why
        return choice

    async def _ask(self, choice: Choice, params: Json, trail: Trail) -> Json:
        model, settings = choice.model, self._settings
        provider = self._parts.providers.get(model.provider)
        if provider is None:
            raise no_model([model.name], [], f"The provider '{model.provider}' is not configured")
        try:
            given = await ask_patiently(provider, model, params, self._clock, settings.model_timeout, settings.retries)
        except ProviderFailed as failed:
            data = {"provider": model.provider, "model": model.name, "kind": failed.kind}
            _log.warning("sampling_provider_failed", extra={"data": data})
            raise failed.refusal(model.name) from None
        trail.input_tokens, trail.output_tokens = given.input_tokens, given.output_tokens
        trail.spent(model.price_in, model.price_out)
        answer = _readable(given.answer, "the provider's answer")
        trail.model = answer["model"]
        return answer


def _readable(answer: Json, what: str) -> Json:
    try:
        return read_response(answer).to_json()
    except MalformedAnswer as malformed:
        raise ProviderFailed("malformed").refusal(f"{what}: {malformed}") from None
