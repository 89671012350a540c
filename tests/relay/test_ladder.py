"""Who answers: the first step that leads to somebody."""

from __future__ import annotations

import pytest

from emceepee.relay.ladder import Step, who_answers


@pytest.mark.parametrize(
    ("there", "found"),
    [((), "refuse"), (("tools",), "tools"), (("tools", "native"), "native"), (("native",), "native")],
)
def test_an_ask_goes_to_the_first_step_that_there_is(there: tuple[Step, ...], found: Step) -> None:
    assert who_answers(there) == found


def test_a_policy_may_leave_steps_out() -> None:
    assert who_answers(("native", "tools"), ("tools",)) == "tools"
    assert who_answers(("native",), ("tools",)) == "refuse"
