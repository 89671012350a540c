"""What is promised to a server when a model may answer too."""

from __future__ import annotations

import pytest

from emceepee.relay.model_step import ModelRule, with_model
from emceepee.vocabulary.asks import NO_ASKS, AskProfile

FORM: AskProfile = frozenset(("form",))
CLIENT: AskProfile = frozenset(("form", "sampling"))
MODEL: AskProfile = frozenset(("sampling", "sampling_tools"))


@pytest.mark.shows("X-GAP-06")
@pytest.mark.parametrize(
    ("profile", "rule", "promised"),
    [
        (NO_ASKS, "never", NO_ASKS),
        (CLIENT, "never", CLIENT),
        (NO_ASKS, "otherwise", MODEL),
        (FORM, "otherwise", FORM | MODEL),
        (CLIENT, "otherwise", CLIENT),
        (CLIENT | {"sampling_context"}, "always", FORM | MODEL),
        (NO_ASKS, "always", MODEL),
    ],
)
def test_it_is_exactly_what_whoever_answers_can_take(
    profile: AskProfile, rule: ModelRule, promised: AskProfile
) -> None:
    assert with_model(profile, rule, MODEL) == promised
