"""How much sampling is allowed and how long each step may take, each with its default and reason.

The one rule: a wait or a bound in `sampling/` has its number here, in seconds unless the name says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from emceepee.sampling.content_rule import ContentRule
from emceepee.sampling.model import Model
from emceepee.sampling.providers.definition import ProviderDefinition
from emceepee.vocabulary.names import Scope, ServerName

DEFAULT_MAX_TEMPERATURE = 1.0

Disclosure: TypeAlias = Literal["none", "thisServer", "allServers"]

DISCLOSURES: tuple[Disclosure, ...] = ("none", "thisServer", "allServers")

AnswerRule: TypeAlias = Literal["never", "otherwise", "always"]
"""Whether a configured model answers: never, when no client can, or before any client is asked."""

ANSWER_RULES: tuple[AnswerRule, ...] = ("never", "otherwise", "always")
"""The most careful first."""

ApproveRule: TypeAlias = Literal["never", "ask", "always"]

APPROVE_RULES: tuple[ApproveRule, ...] = ("never", "ask", "always")
"""The most careful first."""

ApproverKind: TypeAlias = Literal["client", "terminal"]

APPROVERS: tuple[ApproverKind, ...] = ("client", "terminal")


@dataclass(slots=True, frozen=True)
class RateSettings:
    """A token bucket for each workspace and server."""

    burst: int = 10
    per_minute: float = 30.0
    max_buckets: int = 10_000


@dataclass(slots=True, frozen=True)
class BudgetSettings:
    """What one server may use within one window, over all workspaces."""

    calls: int = 1000
    tokens: int = 1_000_000
    window: float = 86_400.0


@dataclass(slots=True, frozen=True)
class SamplingSettings:
    rate: RateSettings = field(default_factory=RateSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    max_temperature: float = DEFAULT_MAX_TEMPERATURE
    approval_timeout: float = 600.0
    """For a person, for the request and again for the answer."""

    model_timeout: float = 60.0
    """For the model, with all attempts."""

    retries: int = 2
    """When it says that it is overloaded, and only then."""

    max_running: int = 256
    """Requests that are being dealt with at the same time."""

    disclose: Disclosure = "none"
    """The most that a server gets of what it asks for with `includeContext`."""

    max_context: int = 8000
    """Characters of such context."""


@dataclass(slots=True, frozen=True)
class OwnRules:
    """Of one server or workspace; None where the general rule holds."""

    answers: AnswerRule | None = None
    approve: ApproveRule | None = None


@dataclass(slots=True, frozen=True)
class AuditSettings:
    file: str | None = None
    """Ends in .db or .sqlite for a table, else lines of JSON; None keeps no record but the log line."""
    max_bytes: int = 10_000_000
    """Of lines: then the file is put aside, and the one before it is let go."""
    max_records: int = 100_000
    """Of a table: the oldest go."""
    prompts: bool = False
    """Whether requests and answers are in it."""


@dataclass(slots=True, frozen=True)
class SamplingOptions:
    """All that an operator says about models: which there are, for whom, and how far."""

    providers: tuple[ProviderDefinition, ...] = ()
    models: tuple[Model, ...] = ()
    default: str | None = None
    strict_hints: bool = False
    answers: AnswerRule = "otherwise"
    approve: ApproveRule = "ask"
    approver: ApproverKind = "client"
    review: bool = True
    servers: Mapping[ServerName, OwnRules] = field(default_factory=dict)
    workspaces: Mapping[str, OwnRules] = field(default_factory=dict)
    """By the name in their path, or by their principal."""
    rules: tuple[ContentRule, ...] = ()
    audit: AuditSettings = field(default_factory=AuditSettings)
    limits: SamplingSettings = field(default_factory=SamplingSettings)

    def answers_for(self, server: ServerName, scope: Scope) -> AnswerRule:
        """Without models nobody answers. Where several rules are given, the most careful holds."""
        if not self.models:
            return "never"
        given = [rules.answers for rules in self._own(server, scope) if rules.answers is not None]
        return min(given, key=ANSWER_RULES.index) if given else self.answers

    def approve_for(self, server: ServerName, scope: Scope) -> ApproveRule:
        given = [rules.approve for rules in self._own(server, scope) if rules.approve is not None]
        return min(given, key=APPROVE_RULES.index) if given else self.approve

    def _own(self, server: ServerName, scope: Scope) -> list[OwnRules]:
        named = (self.servers.get(server), self.workspaces.get(scope.rpartition("/")[2]))
        return [rules for rules in named if rules is not None]
