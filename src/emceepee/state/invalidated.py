"""What a connection took with it when it was lost or replaced: the ids of what was open.

The one rule: an id is in here once, and what is in here has ended, with an event of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True, frozen=True)
class Invalidated:
    tasks: tuple[str, ...] = ()
    elicitations: tuple[str, ...] = ()
    sampling_requests: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tasks or self.elicitations or self.sampling_requests)

    def __add__(self, other: Invalidated) -> Invalidated:
        return Invalidated(
            self.tasks + other.tasks,
            self.elicitations + other.elicitations,
            self.sampling_requests + other.sampling_requests,
        )

    def ids(self) -> dict[str, Any]:
        return {
            "invalidatedTasks": list(self.tasks),
            "invalidatedElicitations": list(self.elicitations),
            "invalidatedSamplingRequests": list(self.sampling_requests),
        }

    def counts(self) -> dict[str, Any]:
        """As events and log lines say it."""
        return {
            "invalidatedTasks": len(self.tasks),
            "invalidatedElicitations": len(self.elicitations),
            "invalidatedSampling": len(self.sampling_requests),
        }
