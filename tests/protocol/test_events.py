"""Events are facts: they cannot be changed, and ignoring them breaks nothing."""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest

from emceepee.protocol.events import Event, Stray
from tests.support.peer_pair import PeerPair


def test_an_event_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Stray("x").detail = "y"  # type: ignore[misc]
    assert all(dataclasses.is_dataclass(kind) for kind in get_args(Event))


def test_a_driver_that_ignores_every_event_leaves_the_peer_in_order() -> None:
    pair = PeerPair()
    asked = pair.left.ask("tools/call")
    pair.left.tell("notifications/unheard-of")
    pair.left.tell("notifications/cancelled", {"requestId": "nobody"})
    pair.flow()
    pair.right.events.clear()
    assert len(pair.left.peer) == 1
    assert pair.right.peer.owing == 1
    assert pair.left.peer.close("done")[0].asked is asked
    pair.right.peer.close("done")
    assert pair.right.peer.owing == 0
