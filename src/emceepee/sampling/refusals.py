"""Every way in which a sampling request is refused, with exactly the code, message and data that its server receives.

It decides nothing. The one rule: whoever refuses takes the refusal from here, so that one reason has one form.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Literal, TypeAlias

from emceepee.errors import ClientFault
from emceepee.runtime.clock import iso

USER_REJECTED = -1
RATE_LIMITED = -32000
INVALID_PARAMS = -32602
INTERNAL = -32603

RejectionType: TypeAlias = Literal["explicit", "timeout", "policy"]

_SHOWN_CHARACTERS = 200
_SUGGESTED = 3


class SamplingRefused(ClientFault):
    """The request gets no answer from a model; what the server is told instead. Never a fault of the gateway."""


def invalid(field: str, value: Any, expected: str, says: str) -> SamplingRefused:
    data = {"field": field, "value": shown(value), "expected": expected, "reason": says}
    return SamplingRefused(INVALID_PARAMS, "Invalid params", data)


def rejected(reason: str = "User declined AI interaction", kind: RejectionType = "explicit") -> SamplingRefused:
    """Somebody, or a policy, said no before any model saw it."""
    return SamplingRefused(USER_REJECTED, "User rejected sampling request", {"reason": reason, "rejectionType": kind})


def answer_rejected(reason: str = "User declined the answer", kind: RejectionType = "explicit") -> SamplingRefused:
    """The model has answered, and the answer is kept back."""
    return SamplingRefused(USER_REJECTED, "User rejected AI response", {"reason": reason, "rejectionType": kind})


def no_model(hints: Sequence[str], available: Sequence[str], lacks: str = "") -> SamplingRefused:
    """`lacks` says why the models that exist do not serve, where it is not the hints."""
    named = " or ".join(f"'{name}'" for name in available[:_SUGGESTED])
    suggestion = lacks or (f"Try {named}" if named else "Configure a model, or connect a client that can sample")
    data = {"requestedHints": list(hints), "availableModels": list(available), "suggestion": suggestion}
    return SamplingRefused(INTERNAL, "No suitable model available", data)


def limited(reason: str, seconds: float, remaining: int, now: datetime) -> SamplingRefused:
    """Too many requests, or a budget that is used up; `seconds` until one is taken again."""
    whole = max(1, ceil(seconds))
    data = {
        "retryAfter": whole,
        "remainingQuota": remaining,
        "resetTime": iso(now + timedelta(seconds=whole)),
        "reason": reason,
    }
    return SamplingRefused(RATE_LIMITED, "Rate limit exceeded", data)


def model_failed(model: str, reason: str, suggestion: str) -> SamplingRefused:
    """The model was asked and gave nothing that can be used."""
    data = {"model": model, "reason": reason, "suggestion": suggestion}
    return SamplingRefused(INTERNAL, f"The model did not answer: {reason}", data)


def shown(value: Any) -> Any:
    """A value as an error may repeat it: whole when small, its beginning or its kind when not."""
    match value:
        case str() if len(value) > _SHOWN_CHARACTERS:
            return value[:_SHOWN_CHARACTERS] + "…"
        case float() if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        case dict() | list():
            return f"({'an object' if isinstance(value, dict) else 'a list'} of {len(value)})" if value else value
    return value
