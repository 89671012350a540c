"""Which model serves a request, and why that one. Pure.

    1. what the request holds   models that do not take it are out
    2. hints, in their order    the first that is part of a model's name, in any case, leaves only those
    3. priorities               the best of what is left; without any, the default, else the first of the catalogue

Hints are advice: when none matches, priorities decide over all, unless the operator wants them strict (X-CON-49).

The one rule: a choice can be explained by what it wrote down on the way, without running it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emceepee.sampling.model import Model, Need
from emceepee.sampling.refusals import no_model


@dataclass(slots=True, frozen=True)
class Catalogue:
    """The models there are, in the operator's order."""

    models: tuple[Model, ...] = ()
    default: str | None = None
    """Its name; taken where nothing else decides."""
    strict: bool = False
    """Whether a request whose hints match nothing is refused."""


@dataclass(slots=True, frozen=True)
class Choice:
    model: Model
    why: tuple[str, ...]
    """The steps that led to it, each a sentence."""


def choose(preferences: Mapping[str, Any] | None, catalogue: Catalogue, needs: frozenset[Need] = frozenset()) -> Choice:
    """Raises `SamplingRefused` when no model can serve."""
    wanted = preferences or {}
    hints = _named(wanted.get("hints"))
    fit = [model for model in catalogue.models if needs <= model.takes]
    why: list[str] = []
    if needs:
        why.append(f"the request needs {', '.join(sorted(needs))}: {_names(fit) or 'no model'} can take that")
    if not fit:
        names = [model.name for model in catalogue.models]
        raise no_model(hints, names, f"None of them takes {', '.join(sorted(needs))}" if names else "")
    candidates = _hinted(hints, fit, why)
    if candidates is None:
        if catalogue.strict and hints:
            raise no_model(hints, [model.name for model in fit])
        candidates = fit
    chosen = _best(candidates, wanted, catalogue.default, why)
    return Choice(chosen, tuple(why))


def _named(hints: Any) -> list[str]:
    """A hint without a name says nothing; it does not mean every model (X-BUG-56)."""
    names = [hint.get("name") for hint in hints or ()]
    return [name for name in names if isinstance(name, str) and name.strip()]


def _hinted(hints: Sequence[str], models: Sequence[Model], why: list[str]) -> list[Model] | None:
    for hint in hints:
        part = hint.strip().lower()
        matching = [model for model in models if any(part in name.lower() for name in (model.name, *model.aliases))]
        if matching:
            why.append(f"hint '{hint}' matches {_names(matching)}")
            return matching
        why.append(f"hint '{hint}' matches no model")
    return None


def _best(models: Sequence[Model], wanted: Mapping[str, Any], default: str | None, why: list[str]) -> Model:
    weights = {key: wanted.get(key) or 0.0 for key in ("costPriority", "speedPriority", "intelligencePriority")}
    if len(models) == 1:
        why.append(f"{models[0].name} is the only one left")
        return models[0]
    if not any(weights.values()):
        chosen = next((model for model in models if model.name == default), models[0])
        why.append(f"no priorities: {chosen.name} is {'the default' if chosen.name == default else 'the first'}")
        return chosen
    scores = {model.name: _score(model, weights) for model in models}
    chosen = max(models, key=lambda model: (scores[model.name], model.name == default))
    said = ", ".join(f"{key.removesuffix('Priority')} {weight:g}" for key, weight in weights.items() if weight)
    ranking = ", ".join(f"{name} {score:.2f}" for name, score in sorted(scores.items(), key=lambda one: -one[1]))
    why.append(f"priorities {said}: {ranking}")
    return chosen


def _score(model: Model, weights: Mapping[str, float]) -> float:
    return (
        weights["costPriority"] * (1 - model.cost)
        + weights["speedPriority"] * model.speed
        + weights["intelligencePriority"] * model.intelligence
    )


def _names(models: Sequence[Model]) -> str:
    return ", ".join(model.name for model in models)
