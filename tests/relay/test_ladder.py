"""Who answers: the first step that leads to somebody."""

from __future__ import annotations

import pytest

from emceepee.backends.definition import AskPolicy
from emceepee.relay.ladder import Step, model_first, sampling_ladder, who_answers
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


USUAL: tuple[Step, ...] = ("native", "tools")


@pytest.mark.parametrize(
    ("own", "rule", "steps", "first"),
    [
        (None, "never", ("native", "tools"), None),
        (None, "otherwise", ("native", "tools", "model"), False),
        (None, "always", ("model", "native", "tools"), True),
        (("tools",), "otherwise", ("tools",), None),
        (("model", "native"), "otherwise", ("model", "native"), True),
        (("native", "model"), "always", ("native", "model"), False),
        (("native", "model"), "never", ("native",), None),
        (("refuse",), "always", ("refuse",), None),
        (("refuse", "model"), "always", ("refuse", "model"), None),
    ],
)
def test_a_model_stands_before_the_client_or_behind_and_what_is_written_for_a_server_is_all_there_is(
    own: tuple[Step, ...] | None, rule: ModelRule, steps: tuple[Step, ...], first: bool | None
) -> None:
    policy = AskPolicy() if own is None else AskPolicy((("sampling", own),))
    found = sampling_ladder(policy, USUAL, rule)
    assert (found, model_first(found)) == (steps, first)
