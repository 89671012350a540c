"""What we give clients to carry can be made, read and changed by us alone."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emceepee.relay.seal import KEY_BYTES, MAX_TOKEN, NotOurs, Seal, key_of, slot_of

_count = itertools.count(1)


def chance(size: int) -> bytes:
    return next(_count).to_bytes(size, "big")


def seal(*keys: str) -> Seal:
    return Seal([key_of(key) for key in keys or ("a",)], chance)


@given(st.binary(max_size=300))
def test_what_is_closed_is_opened_again_and_shows_nothing_but_its_slot(plain: bytes) -> None:
    token = seal().close("slot0001", plain)
    assert token.startswith("g1.slot0001.")
    assert slot_of(token) == "slot0001"
    assert seal().open(token) == plain
    assert len(plain) < 4 or plain not in token.encode()


@pytest.mark.shows("EB-C11")
def test_one_changed_bit_anywhere_makes_it_nobodys() -> None:
    token = seal().close("slot0001", b"claims")
    for place in range(len(token)):
        for bit in range(7):
            changed = token[:place] + chr(ord(token[place]) ^ (1 << bit)) + token[place + 1 :]
            with pytest.raises(NotOurs):
                seal().open(changed)


def test_the_same_twice_is_two_tokens() -> None:
    one = seal()
    assert one.close("s", b"same") != one.close("s", b"same")


def test_keys_change_while_people_think() -> None:
    old = seal("old").close("s", b"claims")
    assert seal("new", "old").open(old) == b"claims"
    with pytest.raises(NotOurs):
        seal("new").open(old)
    with pytest.raises(NotOurs):
        seal("old").open(seal("new", "old").close("s", b"claims"))


BROKEN = "g1 g1. g1.s g1.s. g1..x g2.s.AAAA g1.s.!!!! g1.s.AAAA g1.s.A.A abc"


@pytest.mark.parametrize("text", ["", *BROKEN.split(), "g1.s." + "A" * MAX_TOKEN])
def test_what_has_not_our_form_is_nobodys(text: str) -> None:
    with pytest.raises(NotOurs):
        seal().open(text)


def test_a_key_is_as_long_as_a_key_and_depends_on_every_character() -> None:
    assert len(key_of("x")) == KEY_BYTES
    assert key_of("x") != key_of("y")
