"""What is promised to a server when a model may answer too."""

from __future__ import annotations

import pytest

from emceepee.relay.model_step import with_model
from emceepee.vocabulary.asks import NO_ASKS, AskProfile

FORM: AskProfile = frozenset(("form",))
CLIENT: AskProfile = frozenset(("form", "sampling"))
MODEL: AskProfile = frozenset(("sampling", "sampling_tools"))


@pytest.mark.shows("X-GAP-06")
@pytest.mark.parametrize(
    ("profile", "first", "promised"),
    [
        (NO_ASKS, False, MODEL),
        (FORM, False, FORM | MODEL),
        (CLIENT, False, CLIENT),
        (CLIENT | {"sampling_context"}, True, FORM | MODEL),
        (NO_ASKS, True, MODEL),
    ],
)
def test_it_is_exactly_what_whoever_answers_can_take(profile: AskProfile, first: bool, promised: AskProfile) -> None:
    assert with_model(profile, first, MODEL) == promised
