"""The folders of a client: as it told them by the tool, or answered last."""

from __future__ import annotations

import pytest
from msgspec import Raw

from emceepee.errors import LimitReached
from emceepee.relay.roots import MAX_BYTES, Roots

ONE, TWO = Raw(b'{"roots":[1]}'), Raw(b'{"roots":[2]}')


def test_what_was_told_by_the_tool_stays_and_comes_first() -> None:
    roots = Roots()
    assert roots.last_known("s") is roots.given("s") is None
    roots.saw("s", ONE)
    assert (roots.last_known("s"), roots.given("s")) == (ONE, None)
    assert roots.give("s", TWO) is True
    assert roots.give("s", TWO) is False
    roots.saw("s", ONE)
    assert roots.last_known("s") == TWO
    roots.outdated("s")
    assert roots.last_known("s") == TWO
    roots.forget("s")
    assert (roots.last_known("s"), len(roots)) == (None, 0)


def test_what_a_client_answered_is_forgotten_when_it_has_others() -> None:
    roots = Roots()
    roots.saw("s", ONE)
    roots.outdated("s")
    assert roots.last_known("s") is None


def test_too_much_is_refused_by_the_tool_and_not_remembered_otherwise() -> None:
    roots, much = Roots(), Raw(b"x" * (MAX_BYTES + 1))
    with pytest.raises(LimitReached, match="bytes of roots"):
        roots.give("s", much)
    roots.saw("s", ONE)
    roots.saw("s", much)
    assert roots.last_known("s") is None
