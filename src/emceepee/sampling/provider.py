"""Whoever answers for a model, and the ways in which that fails.

The one rule: whatever a provider's library or server does wrong becomes a `ProviderFailed` of one of these kinds; its
text never holds a key or a prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from emceepee.errors import EmceepeeError
from emceepee.sampling.content import Json
from emceepee.sampling.model import Model
from emceepee.sampling.refusals import SamplingRefused, model_failed

FailureKind: TypeAlias = Literal[
    "overloaded",
    "timed_out",
    "unreachable",
    "refused_key",
    "context_too_long",
    "refused_request",
    "malformed",
    "broken",
]

_SAID: dict[FailureKind, tuple[str, str]] = {
    "overloaded": ("the provider is overloaded", "Try again later, or hint at another model"),
    "timed_out": ("it took too long", "Ask for fewer tokens, or raise the operator's model time-out"),
    "unreachable": ("the provider cannot be reached", "Try again later; the operator may check the network"),
    "refused_key": ("the provider refused our key", "The operator has to check the key of this provider"),
    "context_too_long": ("the request is longer than the model takes", "Send less, or hint at a larger model"),
    "refused_request": ("the provider refused the request", "Check the messages and options"),
    "malformed": ("the provider's answer cannot be read", "Hint at another model; the operator may check the address"),
    "broken": ("the provider failed", "Try again later, or hint at another model"),
}


class ProviderFailed(EmceepeeError):
    """`detail` is for the log; `retry_after` is what the provider said, in seconds."""

    def __init__(self, kind: FailureKind, detail: str = "", retry_after: float | None = None) -> None:
        super().__init__(f"{_SAID[kind][0]}{f' ({detail})' if detail else ''}")
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after

    def refusal(self, model: str) -> SamplingRefused:
        """What the server that asked is told."""
        return model_failed(model, *_SAID[self.kind])


@dataclass(slots=True, frozen=True)
class ProviderAnswer:
    """`answer` is a result of `sampling/createMessage`; tokens are None where the provider does not count."""

    answer: Json
    input_tokens: int | None = None
    output_tokens: int | None = None


class Provider(Protocol):
    async def ask(self, model: Model, params: Json, seconds: float) -> ProviderAnswer:
        """One attempt. Raises `ProviderFailed`. `seconds` is what is left for it; the caller cancels at their end."""
        ...

    async def close(self) -> None: ...
