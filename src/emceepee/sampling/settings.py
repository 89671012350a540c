"""How much sampling is allowed and how long each step may take, each with its default and reason.

The one rule: a wait or a bound in `sampling/` has its number here, in seconds unless the name says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from emceepee.sampling.validation import DEFAULT_MAX_TEMPERATURE

Disclosure: TypeAlias = Literal["none", "thisServer", "allServers"]


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
