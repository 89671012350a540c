"""A profile as one word, the same for the same promises."""

from __future__ import annotations

import pytest

from emceepee.vocabulary.profiles import NO_ASKS, Askable, profile_text


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        (NO_ASKS, "-"),
        ({"form"}, "e:f"),
        ({"url", "form"}, "e:f,u"),
        ({"sampling"}, "s"),
        ({"sampling", "sampling_tools"}, "s:t"),
        ({"roots", "roots_news", "sampling_context", "sampling", "url"}, "e:u s:c r:n"),
        ({"roots"}, "r"),
    ],
)
def test_equal_promises_are_equal_words(profile: set[Askable], text: str) -> None:
    assert profile_text(frozenset(profile)) == text
