"""What a client said it can be asked. Pure.

The one rule: a capability is there when its key is, whatever its value: an empty object is a yes (X-PY-02).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, frozen=True)
class ClientAbilities:
    """`ready` once the client has said `notifications/initialized`: before that nothing may be asked."""

    capabilities: Mapping[str, Any] = field(default_factory=dict)
    ready: bool = False

    @property
    def supports_sampling(self) -> bool:
        return _has(self.capabilities, "sampling")

    @property
    def supports_sampling_context(self) -> bool:
        return self.supports_sampling and _has(self.capabilities["sampling"], "context")

    @property
    def supports_sampling_tools(self) -> bool:
        return self.supports_sampling and _has(self.capabilities["sampling"], "tools")

    @property
    def supports_elicitation(self) -> bool:
        return _has(self.capabilities, "elicitation")

    @property
    def supports_elicitation_url(self) -> bool:
        return self.supports_elicitation and _has(self.capabilities["elicitation"], "url")

    @property
    def supports_roots(self) -> bool:
        return _has(self.capabilities, "roots")


def _has(capabilities: Any, name: str) -> bool:
    return isinstance(capabilities, Mapping) and capabilities.get(name) is not None
