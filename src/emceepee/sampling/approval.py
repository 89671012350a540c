"""Who is asked before a model sees a request, and before its server sees the answer: what they see, what they can say.

The one rule: an approver says yes or no, or changes what it was shown; it never asks a model itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from emceepee.sampling.content import Json
from emceepee.sampling.refusals import RejectionType
from emceepee.vocabulary.names import Scope, ServerName


@dataclass(slots=True, frozen=True)
class RequestDialog:
    """All that would leave, as it would leave: `params` hold the messages, the system prompt with what context was
    added, the model preferences, token limit and temperature."""

    scope: Scope
    server: ServerName
    params: Json
    risks: tuple[str, ...] = ()
    allow_edit: bool = True
    show_risks: bool = True
    ask: str = ""
    """Which request it is, for whoever has to know its caller."""


@dataclass(slots=True, frozen=True)
class AnswerDialog:
    scope: Scope
    server: ServerName
    params: Json
    answer: Json
    allow_edit: bool = True
    ask: str = ""


Dialog: TypeAlias = RequestDialog | AnswerDialog


@dataclass(slots=True, frozen=True)
class Verdict:
    """`edited` is the whole of what was shown, changed; None where it stays as it is."""

    approved: bool
    by: str
    edited: Json | None = None
    reason: str = ""
    kind: RejectionType = "explicit"


class Approver(Protocol):
    """A verdict may take as long as it takes: whoever asks for it has a deadline and cancels."""

    async def approve(self, dialog: RequestDialog) -> Verdict: ...

    async def review(self, dialog: AnswerDialog) -> Verdict: ...
