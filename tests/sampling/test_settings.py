"""Which rule holds for a server in a workspace."""

from __future__ import annotations

import pytest

from emceepee.sampling.model import Model
from emceepee.sampling.settings import AnswerRule, ApproveRule, OwnRules, SamplingOptions

MODELS = (Model("m", "p"),)


def test_without_models_nobody_answers() -> None:
    assert SamplingOptions(answers="always").answers_for("s", "local") == "never"


def test_models_that_are_configured_answer_where_no_client_can_and_only_after_approval() -> None:
    options = SamplingOptions(models=MODELS)
    assert (options.answers_for("s", "local"), options.approve_for("s", "local")) == ("otherwise", "ask")


@pytest.mark.parametrize(
    ("server", "workspace", "holds"),
    [
        (None, None, "otherwise"),
        ("always", None, "always"),
        (None, "never", "never"),
        ("always", "never", "never"),
        ("never", "always", "never"),
        ("always", "otherwise", "otherwise"),
    ],
)
def test_of_the_rules_that_are_given_the_most_careful_holds(
    server: AnswerRule | None, workspace: AnswerRule | None, holds: AnswerRule
) -> None:
    options = SamplingOptions(
        models=MODELS, servers={"s": OwnRules(answers=server)}, workspaces={"night": OwnRules(answers=workspace)}
    )
    assert options.answers_for("s", "local/night") == holds


@pytest.mark.parametrize(("own", "holds"), [("always", "always"), ("never", "never"), (None, "ask")])
def test_approval_has_its_own_rule(own: ApproveRule | None, holds: ApproveRule) -> None:
    options = SamplingOptions(models=MODELS, workspaces={"local": OwnRules(approve=own)})
    assert options.approve_for("s", "local") == holds
    assert options.approve_for("s", "local/other") == "ask"
