"""Who answers: the first step that leads to somebody."""

from __future__ import annotations

import pytest

from emceepee.relay.ladder import Step, model_in, who_answers
from emceepee.relay.model_step import ModelRule


@pytest.mark.parametrize(
    ("there", "found"),
    [((), "refuse"), (("tools",), "tools"), (("tools", "native"), "native"), (("native",), "native")],
)
def test_an_ask_goes_to_the_first_step_that_there_is(there: tuple[Step, ...], found: Step) -> None:
    assert who_answers(there) == found


def test_a_policy_may_leave_steps_out() -> None:
    assert who_answers(("native", "tools"), ("tools",)) == "tools"
    assert who_answers(("native",), ("tools",)) == "refuse"


@pytest.mark.parametrize(
    ("ladder", "rule", "steps"),
    [
        (("native", "tools"), "never", ("native", "tools")),
        (("native", "tools"), "otherwise", ("native", "tools", "model")),
        (("native", "tools"), "always", ("model", "native", "tools")),
        (("native", "refuse", "tools"), "otherwise", ("native", "model")),
        ((), "otherwise", ("model",)),
    ],
)
def test_a_model_stands_before_the_client_or_behind_by_its_rule(
    ladder: tuple[Step, ...], rule: ModelRule, steps: tuple[Step, ...]
) -> None:
    assert model_in(ladder, rule) == steps
