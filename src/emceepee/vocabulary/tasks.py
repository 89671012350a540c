"""A call that goes on while nobody waits for its answer, in words that hold for every revision.

The one rule: a task is known by the id that we gave it; the id that a server gave to a task of its own stays on that
server's connection.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from emceepee.vocabulary.outcomes import Done, Failed
from emceepee.vocabulary.raw_json import Fields

TaskTerms: TypeAlias = Literal["unable", "silent", "takes", "asks"]
"""What a client says about tasks with a call: it has no word for them, it could have spoken and did not, it takes one
instead of the answer, it wants one at once."""

TAKE_TASKS: tuple[TaskTerms, ...] = ("takes", "asks")

TaskState: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled", "expired"]


@dataclass(slots=True, frozen=True)
class Task:
    """One task as it stood when somebody looked. `result` is what the call would have answered, also where that says
    that the tool failed; `fault` is the error it would have been answered with instead."""

    id: str
    status: TaskState
    created_at: str
    updated_at: str
    ttl_ms: int
    poll_ms: int
    message: str | None = None
    result: Done | None = None
    fault: Failed | None = None
    asks: Fields = field(default_factory=dict)
    """What its server wants of the client before it goes on, by the server's keys."""

    @property
    def ended(self) -> bool:
        return self.status not in ("working", "input_required")


@dataclass(slots=True, frozen=True)
class GoesOn:
    """In place of an outcome: the call has become a task."""

    task: Task
