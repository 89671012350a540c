"""Who answers what a server asks: the steps that are tried, in order. Pure.

    native    the client itself, if it declared that it can be asked
    tools     the client by our tools, if it uses them
    refuse    nobody, and the server is told so

The one rule: an ask goes to one step, the first that there is; it is never shown to two who could both answer.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, TypeAlias

Step: TypeAlias = Literal["native", "tools", "refuse"]

LADDER: tuple[Step, ...] = ("native", "tools")


def who_answers(there: Collection[Step], ladder: tuple[Step, ...] = LADDER) -> Step:
    """`there` are the steps that lead to somebody at this moment."""
    return next((step for step in ladder if step in there), "refuse")
