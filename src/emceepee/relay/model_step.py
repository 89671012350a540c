"""The step of the ladder at which a configured model answers, as the relay sees it; `sampling.answering` is one.

The one rule: what is promised to a server because of it is what it takes; which clients come first is the operator's
rule, asked for each question.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from emceepee.vocabulary.asks import AskProfile, RaisedAsk, TakeAsk, Withdraw
from emceepee.vocabulary.names import Scope, ServerName
from emceepee.vocabulary.outcomes import Failed

ModelRule: TypeAlias = Literal["never", "otherwise", "always"]
"""Whether it answers: never, when no client can, or before any client is asked."""

SAMPLING: AskProfile = frozenset(("sampling", "sampling_tools", "sampling_context"))


class ModelStep(Protocol):
    @property
    def takes(self) -> AskProfile:
        """What of sampling it can answer."""
        ...

    def rule(self, server: ServerName, scope: Scope) -> ModelRule: ...

    def take(self, server: ServerName, scope: Scope, ask: RaisedAsk, climb: TakeAsk) -> Withdraw | Failed:
        """As `TakeAsk`. `climb` leads to the client of the same call, for a question about the question."""
        ...


def with_model(profile: AskProfile, first: bool, takes: AskProfile) -> AskProfile:
    """What can be promised when a model answers too, before every client or behind. Pure."""
    return profile if "sampling" in profile and not first else (profile - SAMPLING) | takes
