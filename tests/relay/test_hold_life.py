"""The table of a held call: every state can end, and what is over stays over."""

from __future__ import annotations

from typing import get_args

import pytest

from emceepee.relay.hold_life import NEXT, OVER, Life, after


def test_every_state_can_be_reached_and_leads_to_an_end() -> None:
    assert {"attached", *NEXT.values()} == set(get_args(Life))
    ends = set(OVER)
    while more := {life for (life, _), following in NEXT.items() if following in ends} - ends:
        ends |= more
    assert ends == set(get_args(Life))


def test_nothing_follows_what_is_over() -> None:
    assert not [life for life, _ in NEXT if life in OVER]


def test_what_is_not_listed_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError, match="a held call that is done cannot park"):
        after("done", "park")
