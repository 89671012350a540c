"""Who answers what a server asks, as an entry of the configuration says it.

    "asks": {"elicitation": ["native", "tools"], "sampling": "refuse"}, "ambiguous": "refuse"

The one rule: a kind that is not named keeps the usual steps; one that is named has those and no others.
"""

from __future__ import annotations

from typing import Final, cast

from emceepee.backends.definition import AskKind, AskPolicy, Concurrency, Step
from emceepee.config.fields import Fields, a
from emceepee.config.jsonc import Node

KINDS: Final = ("elicitation", "sampling", "roots")
STEPS: Final = ("native", "tools", "model", "refuse")


def read_ask_policy(own: Fields) -> AskPolicy:
    """What is wrong is reported, and then absent."""
    node = own.take("asks")
    ambiguous = _among(own, own.take("ambiguous"), "ambiguous", ("carrier", "refuse")) or "carrier"
    steps = () if node is None else _steps(own, node)
    return AskPolicy(steps, "refuse" if ambiguous == "refuse" else "carrier")


def read_concurrency(own: Fields) -> Concurrency:
    found = _among(own, own.take("concurrency"), "concurrency", ("parallel", "serialize"))
    return "serialize" if found == "serialize" else "parallel"


def _steps(own: Fields, node: Node) -> tuple[tuple[AskKind, tuple[Step, ...]], ...]:
    if node.kind != "object":
        own.wrong(node, "asks", f"this has to be a map of kinds to steps, not {a(node.kind)}")
        return ()
    found: list[tuple[AskKind, tuple[Step, ...]]] = []
    for kind, member in node.members.items():
        if kind not in KINDS:
            own.report.at_key(member, own.path(f"asks.{kind}"), "servers ask nothing of that kind", _CURE)
            continue
        words = own.texts(member, f"asks.{kind}") if member.kind == "array" else [own.text(member, f"asks.{kind}")]
        strange = [word for word in words if word not in STEPS]
        if strange:
            own.wrong(member, f"asks.{kind}", "these are not all steps", f"the steps are {', '.join(STEPS)}")
        else:
            found.append((cast(AskKind, kind), tuple(cast(list[Step], words))))
    return tuple(found)


_CURE: Final = f"the kinds are {', '.join(KINDS)}"


def _among(own: Fields, node: Node | None, field: str, words: tuple[str, str]) -> str | None:
    text = own.text(node, field)
    if node is None or text is None or text in words:
        return text
    own.wrong(node, field, f"this has to be '{words[0]}' or '{words[1]}'")
    return None
