"""Models, providers and approvers that do what a test says, and write down what they saw."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from emceepee.sampling.approval import AnswerDialog, RequestDialog, Verdict
from emceepee.sampling.choice import Catalogue
from emceepee.sampling.model import Model
from emceepee.sampling.pipeline import Parts, Pipeline, SamplingAsk
from emceepee.sampling.provider import ProviderAnswer
from emceepee.sampling.settings import SamplingSettings
from tests.support.fake_clock import FakeClock

SMALL = Model("small-1", "fake", cost=0.1, speed=0.9, intelligence=0.2, price_in=1.0, price_out=4.0)
LARGE = Model("large-1", "fake", cost=0.9, speed=0.2, intelligence=0.9, takes=frozenset({"image"}))


def said(text: str = "fine", model: str = "small-1-2026", **more: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": {"type": "text", "text": text},
        "model": model,
        "stopReason": "endTurn",
    } | more


@dataclass
class FakeProvider:
    """Answers with the next of `answers`, raises those that are exceptions, waits for ever when there are none."""

    answers: list[Any] = field(default_factory=list)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    input_tokens: int | None = 10
    output_tokens: int | None = 20

    async def ask(self, model: Model, params: Any, seconds: float) -> ProviderAnswer:
        self.asked.append((model.name, params))
        if not self.answers:
            await asyncio.get_running_loop().create_future()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return ProviderAnswer(answer, self.input_tokens, self.output_tokens)

    async def close(self) -> None:
        pass


YES = Verdict(True, "test")


@dataclass
class FakeApprover:
    on_request: Callable[[RequestDialog], Verdict | None] = lambda dialog: YES
    on_answer: Callable[[AnswerDialog], Verdict | None] = lambda dialog: YES
    requests: list[RequestDialog] = field(default_factory=list)
    answers: list[AnswerDialog] = field(default_factory=list)

    async def approve(self, dialog: RequestDialog) -> Verdict:
        self.requests.append(dialog)
        return self.on_request(dialog) or await asyncio.get_running_loop().create_future()

    async def review(self, dialog: AnswerDialog) -> Verdict:
        self.answers.append(dialog)
        return self.on_answer(dialog) or await asyncio.get_running_loop().create_future()


@dataclass
class KeptAudit:
    entries: list[dict[str, Any]] = field(default_factory=list)

    def record(self, entry: dict[str, Any]) -> None:
        self.entries.append(entry)


class Bench:
    """A pipeline with everything around it that a test may look at or change."""

    def __init__(self, *answers: Any, settings: SamplingSettings | None = None, **parts: Any) -> None:
        self.clock = FakeClock()
        self.provider = FakeProvider(list(answers))
        self.approver = FakeApprover()
        self.audit = KeptAudit()
        self.parts = Parts(
            **{
                "catalogue": Catalogue((SMALL, LARGE)),
                "providers": {"fake": self.provider},
                "approver": self.approver,
                "audit": self.audit,
                **parts,
            }
        )
        self.pipeline = Pipeline(self.parts, self.clock, settings)

    async def ask(self, params: Any, server: str = "tuner", scope: str = "local") -> Any:
        return await self.pipeline.answer(SamplingAsk("ask-1", scope, server, params))

    @property
    def steps(self) -> list[str]:
        return [step["step"] for step in self.audit.entries[-1]["steps"]]
