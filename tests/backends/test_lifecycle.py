"""The table of a connection's lives, and the words that users see for them."""

from __future__ import annotations

import pytest

from emceepee.backends.lifecycle import NEXT, Status, after, shown


def test_what_is_listed_follows_and_what_is_not_is_a_mistake_of_ours() -> None:
    assert after("starting", "ready") == "ready"
    with pytest.raises(AssertionError, match="a connection that is waiting cannot degrade"):
        after("waiting", "degrade")


def test_every_life_can_be_stopped_and_every_life_can_be_reached() -> None:
    lives = {life for life, _ in NEXT}
    assert all((life, "stop") in NEXT for life in lives)
    assert lives == set(NEXT.values())


@pytest.mark.shows("A-CON-01", "A-REC-01")
def test_users_see_the_words_of_the_seeds() -> None:
    assert shown("starting", "error") == "connecting"
    assert shown("ready", "disconnected") == shown("unwell", "disconnected") == "connected"
    assert shown("waiting", "disconnected") == "disconnected"
    assert shown("stopped", "error") == "error"
    assert Status().state == "not_connected"
    assert (Status(connects=3).restarts, Status().restarts) == (2, 0)
