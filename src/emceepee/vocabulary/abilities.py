"""What a server behind us offers, in words that hold for every revision.

The one rule: the middle of the gateway asks an `About`, never which era somebody speaks; `revision` is for display.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import Raw

from emceepee.vocabulary.raw_json import Fields


@dataclass(slots=True, frozen=True)
class About:
    """One server as it described itself on connecting. Capabilities stay raw: unknown ones cross too."""

    capabilities: Fields = field(default_factory=dict)
    server_info: Raw | None = None
    instructions: str | None = None
    revision: str = ""

    def offers(self, family: str) -> bool:
        """Whether it declared `tools`, `prompts`, `resources`, `completions` or `logging` at all."""
        return family in self.capabilities
