"""One record for each sampling request: who asked, what was decided at each step, which model, what it cost.

Where records go is somebody else's (`audit_lines`, `audit_table`). The one rule: prompts and answers are in it only
where the operator switched that on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from emceepee.errors import ClientFault
from emceepee.runtime.clock import Clock, iso
from emceepee.sampling.content import Json
from emceepee.vocabulary.names import Scope, ServerName, scope_label

End: TypeAlias = Literal["answered", "refused", "cancelled", "failed"]
StepName: TypeAlias = Literal["validate", "rate", "budget", "context", "approve", "choose", "ask", "review"]

_MILLION = 1_000_000


class AuditLog(Protocol):
    def record(self, entry: Json) -> None:
        """Returns soon and never raises: a request is not refused because its record could not be kept."""
        ...

    def close(self) -> None: ...


class NoAudit:
    """Implements `AuditLog` where nobody reads it; the log line of each request stays."""

    def record(self, entry: Json) -> None:
        pass

    def close(self) -> None:
        pass


@dataclass(slots=True)
class Trail:
    """What is known of one request so far."""

    clock: Clock
    id: str
    scope: Scope
    server: ServerName
    keep_prompts: bool = False
    steps: list[tuple[StepName, str]] = field(default_factory=list)
    approved_by: str | None = None
    edited: bool = False
    reviewed_by: str | None = None
    model: str | None = None
    why: tuple[str, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    stop_reason: str | None = None
    request: Json | None = None
    answer: Json | None = None
    began: float = field(init=False)
    at: str = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock.now()
        self.at = iso(self.clock.wall())

    @contextmanager
    def step(self, name: StepName) -> Iterator[None]:
        """Notes how this step ended."""
        outcome = "interrupted"
        try:
            yield
            outcome = "passed"
        except ClientFault as fault:
            reason = fault.data.get("reason") if isinstance(fault.data, dict) else None
            outcome = f"refused: {reason or fault.message}"
            raise
        finally:
            self.steps.append((name, outcome))

    def spent(self, price_in: float, price_out: float) -> None:
        """Prices of a million tokens. Unknown tokens have an unknown cost."""
        if self.input_tokens is not None and self.output_tokens is not None and (price_in or price_out):
            self.cost = (self.input_tokens * price_in + self.output_tokens * price_out) / _MILLION

    def entry(self, end: End, code: int | None = None, message: str | None = None) -> dict[str, Any]:
        """The record as it is kept."""
        said: dict[str, Any] = {
            "id": self.id,
            "timestamp": self.at,
            "workspace": scope_label(self.scope),
            "server": self.server,
            "outcome": end,
            "durationMs": round((self.clock.now() - self.began) * 1000),
            "steps": [{"step": name, "outcome": outcome} for name, outcome in self.steps],
            "code": code,
            "message": message,
            "approvedBy": self.approved_by,
            "edited": self.edited or None,
            "reviewedBy": self.reviewed_by,
            "model": self.model,
            "why": list(self.why) or None,
            "stopReason": self.stop_reason,
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "cost": self.cost,
        }
        if self.keep_prompts:
            said |= {"request": self.request, "answer": self.answer}
        return {key: value for key, value in said.items() if value is not None}
