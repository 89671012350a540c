"""A model that can be asked: who serves it, what it takes, and where it stands in cost, speed and intelligence.

The one rule: the three figures are places between the models of one catalogue, from 0 to 1, not measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Need: TypeAlias = Literal["image", "audio", "tools"]
"""What a request may hold that not every model takes. Text is taken by all."""

Option: TypeAlias = Literal["temperature", "stop"]

NEEDS: tuple[Need, ...] = ("image", "audio", "tools")
OPTIONS: tuple[Option, ...] = ("temperature", "stop")


@dataclass(slots=True, frozen=True)
class Model:
    name: str
    provider: str
    cost: float = 0.5
    """1 is the dearest."""
    speed: float = 0.5
    """1 is the fastest."""
    intelligence: float = 0.5
    """1 is the most capable."""
    takes: frozenset[Need] = frozenset()
    aliases: tuple[str, ...] = ()
    """Names that it answers to as well, for hints that mean something like it."""
    price_in: float = 0.0
    """Of a million tokens, in the operator's currency; 0 where that is not known or nothing."""
    price_out: float = 0.0
    lacks: frozenset[Option] = frozenset()
    """Options that its provider refuses for it, and is not sent therefore."""


def needs_of(params: Mapping[str, Any]) -> frozenset[Need]:
    """What a model has to take to serve this request, which `validation` has passed."""
    found: set[Need] = {"tools"} if params.get("tools") else set()
    for message in params["messages"]:
        content = message["content"]
        for block in content if isinstance(content, list) else [content]:
            match block["type"]:
                case "image" | "audio" as kind:
                    found.add(kind)
                case "tool_use" | "tool_result":
                    found.add("tools")
    return frozenset(found)
