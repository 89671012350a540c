"""The table of a connection's states."""

import pytest

from emceepee.backends.lifecycle import NEXT, after


def test_what_is_listed_follows_and_what_is_not_is_a_mistake_of_ours() -> None:
    assert after("connecting", "ready") == "connected"
    with pytest.raises(AssertionError, match="a connection that is error cannot lose"):
        after("error", "lose")


def test_every_state_can_be_closed_and_every_state_can_be_reached() -> None:
    states = {state for state, _ in NEXT}
    assert all((state, "close") in NEXT for state in states)
    assert states == set(NEXT.values())
