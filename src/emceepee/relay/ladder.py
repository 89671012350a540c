"""Who answers what a server asks: the steps that are tried, in order. Pure.

    native    the client itself, if it declared that it can be asked
    tools     the client by our tools, if it uses them
    model     for sampling, a configured model, by its own rule: before the client, or where no client can
    refuse    nobody, and the server is told so

Which steps there are for a server's asks of a kind is a policy of its configuration. The one rule: an ask goes to one
step, the first that there is; it is never shown to two who could both answer.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import Literal, TypeAlias

from emceepee.backends.definition import AskPolicy
from emceepee.relay.model_step import ModelRule
from emceepee.vocabulary.asks import Askable, AskProfile
from emceepee.vocabulary.profiles import KIND_OF, Step

Interaction: TypeAlias = Literal["auto", "native", "meta"]
"""How clients are asked: themselves where they can be and else by our tools, only themselves, or only by our tools."""

LADDERS: dict[Interaction, tuple[Step, ...]] = {
    "auto": ("native", "tools"),
    "native": ("native",),
    "meta": ("tools",),
}
LADDER = LADDERS["auto"]


def who_answers(there: Collection[Step], ladder: tuple[Step, ...] = LADDER) -> Step:
    """`there` are the steps that lead to somebody at this moment."""
    return next((step for step in ladder if step in there), "refuse")


@functools.lru_cache(maxsize=256)
def deliverable(
    policy: AskPolicy, native: AskProfile, tools: AskProfile, usual: tuple[Step, ...] = LADDER
) -> AskProfile:
    """What can be promised to a server: of each kind, what some step of its ladder can take. Kept: it is asked for each
    call, and there are few policies and profiles."""
    if not native and not tools:
        return native
    of = {"native": native, "tools": tools, "model": frozenset[str](), "refuse": frozenset[str]()}

    def taken(one: Askable) -> bool:
        return any(one in of[step] for step in _before_refusal(policy.ladder(KIND_OF[one], usual)))

    return frozenset(one for one in native | tools if taken(one))


def _before_refusal(ladder: tuple[Step, ...]) -> tuple[Step, ...]:
    return ladder[: ladder.index("refuse")] if "refuse" in ladder else ladder


def sampling_ladder(policy: AskPolicy, usual: tuple[Step, ...], rule: ModelRule) -> tuple[Step, ...]:
    """Where a model may answer by this rule. What is written for the server itself is all there is for it."""
    ladder = policy.ladder("sampling", usual)
    if rule == "never":
        return tuple(step for step in ladder if step != "model")
    if any(kind == "sampling" for kind, _ in policy.steps):
        return ladder
    return ("model", *ladder) if rule == "always" else (*_before_refusal(ladder), "model")


def model_first(ladder: tuple[Step, ...]) -> bool | None:
    """Whether it stands before every client; None where it is not reached at all."""
    reached = _before_refusal(ladder)
    return reached.index("model") == 0 if "model" in reached else None
