"""Hints in their order, then priorities, and always with the reasons."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.sampling.choice import Catalogue, choose
from emceepee.sampling.model import Model
from emceepee.sampling.refusals import SamplingRefused

HAIKU = Model("claude-3-haiku-20240307", "a", cost=0.1, speed=0.9, intelligence=0.4)
SONNET = Model("claude-3-sonnet-20240307", "a", cost=0.5, speed=0.6, intelligence=0.7, takes=frozenset({"image"}))
OPUS = Model("claude-3-opus-20240229", "a", cost=1.0, speed=0.2, intelligence=1.0)
TURBO = Model("gpt-4-turbo", "o", cost=0.6, speed=1.0, intelligence=0.8)
ALL = Catalogue((HAIKU, SONNET, OPUS, TURBO), default=SONNET.name)


def hints(*names: str) -> dict[str, Any]:
    return {"hints": [{"name": name} for name in names]}


@pytest.mark.shows("B-PREF-04", "B-PREF-05")
@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (("claude-3-sonnet",), SONNET),
        (("gpt-9", "opus", "haiku"), OPUS),
        (("haiku", "opus"), HAIKU),
        (("GPT-4",), TURBO),
        ((" Opus ",), OPUS),
    ],
)
def test_the_first_hint_that_is_part_of_a_name_decides(names: tuple[str, ...], chosen: Model) -> None:
    assert choose(hints(*names), ALL).model is chosen


@pytest.mark.shows("B-PREF-06")
def test_among_several_matches_priorities_decide() -> None:
    assert choose(hints("claude") | {"intelligencePriority": 1.0}, ALL).model is OPUS
    assert choose(hints("claude") | {"speedPriority": 1.0}, ALL).model is HAIKU
    assert choose(hints("claude"), ALL).model is SONNET


@pytest.mark.shows("B-PREF-03", "B-PREF-10")
@pytest.mark.parametrize(
    ("cost", "speed", "intelligence", "chosen"),
    [
        (0.9, 0.5, 0.3, HAIKU),
        (0.2, 0.9, 0.7, TURBO),
        (0.1, 0.3, 0.9, TURBO),
        (0.0, 0.1, 0.9, OPUS),
        (1.0, 0.0, 0.0, HAIKU),
        (0.0, 1.0, 0.0, TURBO),
        (0.0, 0.0, 1.0, OPUS),
    ],
)
def test_priorities_choose(cost: float, speed: float, intelligence: float, chosen: Model) -> None:
    given = {"costPriority": cost, "speedPriority": speed, "intelligencePriority": intelligence}
    assert choose(given, ALL).model is chosen


@pytest.mark.shows("B-PREF-10")
def test_the_profiles_of_the_seed_do_what_they_are_called() -> None:
    cost = hints("claude-3-haiku", "gpt-3.5") | {"costPriority": 0.9, "speedPriority": 0.5, "intelligencePriority": 0.3}
    speed = hints("gpt-4-turbo", "claude-3-sonnet") | {"costPriority": 0.2, "speedPriority": 0.9}
    mind = hints("claude-3-opus", "gpt-4") | {"costPriority": 0.1, "intelligencePriority": 0.9}
    assert [choose(one, ALL).model for one in (cost, speed, mind)] == [HAIKU, TURBO, OPUS]


@pytest.mark.shows("B-PREF-07", "X-CON-49")
def test_hints_that_match_nothing_are_advice_that_could_not_be_followed() -> None:
    choice = choose(hints("gpt-5", "claude-4") | {"costPriority": 1.0}, ALL)
    assert choice.model is HAIKU
    assert choice.why[0] == "hint 'gpt-5' matches no model"


@pytest.mark.shows("X-CON-49", "B-PREF-11", "B-ERR-04")
def test_strict_hints_that_match_nothing_are_refused() -> None:
    strict = Catalogue((SONNET, TURBO), strict=True)
    with pytest.raises(SamplingRefused) as raised:
        choose(hints("gpt-5", "claude-4"), strict)
    assert raised.value.data == {
        "requestedHints": ["gpt-5", "claude-4"],
        "availableModels": [SONNET.name, TURBO.name],
        "suggestion": f"Try '{SONNET.name}' or '{TURBO.name}'",
    }
    assert choose({"costPriority": 1.0}, strict).model is SONNET
    assert choose({"hints": [{}]}, strict).model is SONNET


@pytest.mark.shows("B-PREF-08", "X-BUG-57")
@pytest.mark.parametrize("preferences", [None, {}, {"hints": []}, {"hints": None}, {"costPriority": 0}])
def test_without_preferences_the_default_is_taken(preferences: Any) -> None:
    assert choose(preferences, ALL).model is SONNET
    assert choose(preferences, Catalogue((OPUS, HAIKU))).model is OPUS


@pytest.mark.shows("B-PREF-09", "X-BUG-56")
@pytest.mark.parametrize("nameless", [{}, {"name": ""}, {"name": "  "}, {"family": "x"}])
def test_a_hint_without_a_name_is_skipped(nameless: dict[str, Any]) -> None:
    assert choose({"hints": [nameless, {"name": "opus"}]}, ALL).model is OPUS


@pytest.mark.shows("B-PREF-11", "X-BUG-57")
def test_without_any_model_there_is_an_error_and_not_nothing() -> None:
    with pytest.raises(SamplingRefused, match="No suitable model available") as raised:
        choose(None, Catalogue())
    assert raised.value.code == -32603


def test_a_model_that_cannot_take_the_content_is_no_candidate() -> None:
    assert choose(hints("opus"), ALL, frozenset({"image"})).model is SONNET
    with pytest.raises(SamplingRefused) as raised:
        choose(None, ALL, frozenset({"audio"}))
    assert raised.value.data["suggestion"] == "None of them takes audio"


def test_a_model_answers_to_its_other_names() -> None:
    local = Model("smollm2-135m", "local", aliases=("claude-3-haiku",))
    assert choose(hints("haiku"), Catalogue((OPUS, local))).model is local


def test_a_choice_explains_itself() -> None:
    choice = choose(hints("gpt-9", "claude") | {"costPriority": 1.0, "speedPriority": 0.5}, ALL)
    assert choice.why == (
        "hint 'gpt-9' matches no model",
        f"hint 'claude' matches {HAIKU.name}, {SONNET.name}, {OPUS.name}",
        f"priorities cost 1, speed 0.5: {HAIKU.name} 1.35, {SONNET.name} 0.80, {OPUS.name} 0.10",
    )
    assert choose(None, ALL).why == (f"no priorities: {SONNET.name} is the default",)
    assert choose(hints("opus"), ALL).why[-1] == f"{OPUS.name} is the only one left"
