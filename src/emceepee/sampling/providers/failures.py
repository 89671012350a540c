"""What a provider's status and error mean, for those that answer over HTTP. Pure.

The one rule: nothing of the provider's own sentence is kept, because it may repeat what it was sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from emceepee.sampling.provider import FailureKind, ProviderFailed

_TOO_LONG = re.compile(
    r"context[_ ](?:length|size|window)|prompt is too long|maximum context|too many tokens", re.IGNORECASE
)
_BUSY = frozenset((429, 503, 529))
_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,60}\Z", re.IGNORECASE)


def failed_with(status: int, body: Any, headers: Mapping[str, str]) -> ProviderFailed:
    kind = _kind(status, body)
    retry_after = _seconds(headers) if kind == "overloaded" else None
    named = _named(body)
    return ProviderFailed(kind, f"status {status}{f', {named}' if named else ''}", retry_after)


def _kind(status: int, body: Any) -> FailureKind:
    # Some call it one in an answer that is otherwise any refusal's, and some say so in the sentence only.
    if status == 413 or (status in (400, 422) and _TOO_LONG.search(str(body))):
        return "context_too_long"
    if status in (401, 403):
        return "refused_key"
    if status in _BUSY:
        return "overloaded"
    if status in (408, 504):
        return "timed_out"
    return "refused_request" if 400 <= status < 500 else "broken"


def _named(body: Any) -> str | None:
    """The error's own short name, where it is one."""
    match body:
        case (
            {"error": {"code": str(name)}} | {"error": {"type": str(name)}} | {"code": str(name)} | {"type": str(name)}
        ):
            return name if _NAME.match(name) else None
    return None


def _seconds(headers: Mapping[str, str]) -> float | None:
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < 86_400 else None
