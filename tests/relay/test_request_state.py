"""A state serves the caller and the call that it was given for, until it expires."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from emceepee.errors import ClientFault
from emceepee.relay.request_state import REFUSED, RequestStates, digest, slot_named
from emceepee.relay.seal import ANYWHERE, Seal, key_of
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.raw_json import read_text, to_raw
from tests.support.fake_clock import FakeClock


def chance(size: int) -> bytes:
    return b"\x07" * size


def states(clock: FakeClock, key: str = "k", slot: str = "slot0001") -> RequestStates:
    return RequestStates(Seal([key_of(key)], chance), slot, clock, chance)


def a_call(principal: str = "p", method: str = "tools/call", **params: Any) -> Call:
    return Call(method, {key: to_raw(value) for key, value in params.items()}, Caller("s", principal))


def with_state(call: Call, state: Raw | None) -> Call:
    return replace(call, state=state)


def test_it_says_what_was_written_to_whoever_it_is_for() -> None:
    clock = FakeClock()
    call = a_call(name="ask", arguments={"a": 1})
    state = states(clock).write(call, "shop", "hold", 60, n="slot0001", h="H", r=3)
    claims = states(clock).read(with_state(call, state), "shop")
    assert (claims.k, claims.h, claims.r, claims.n, claims.m, claims.t) == (
        "hold",
        "H",
        3,
        "slot0001",
        "tools/call",
        "ask",
    )
    assert slot_named(with_state(call, state)) == "slot0001"
    token = read_text(state)
    assert token is not None
    assert not any(word in token for word in ("ask", "hold", "shop"))


@pytest.mark.shows("EB-C8", "EB-C9", "EB-E14")
@pytest.mark.parametrize(
    ("other", "surface"),
    [
        (a_call("q", name="ask", arguments={"a": 1}), "shop"),
        (a_call(name="ask", arguments={"a": 2}), "shop"),
        (a_call(name="ask", arguments={"a": "1"}), "shop"),
        (a_call(name="other", arguments={"a": 1}), "shop"),
        (a_call(name="ask", arguments={"a": 1}, extra=0), "shop"),
        (a_call(method="prompts/get", name="ask", arguments={"a": 1}), "shop"),
        (a_call(name="ask", arguments={"a": 1}), "elsewhere"),
    ],
)
def test_it_serves_nobody_else_and_nothing_else_and_says_not_why(other: Call, surface: str) -> None:
    clock = FakeClock()
    state = states(clock).write(a_call(name="ask", arguments={"a": 1}), "shop", "relay", 60, s="x")
    with pytest.raises(ClientFault) as refused:
        states(clock).read(with_state(other, state), surface)
    assert (refused.value.code, refused.value.message, refused.value.data) == (-32602, REFUSED, None)


@pytest.mark.parametrize("state", [to_raw("abc"), to_raw(7), Raw(b"nonsense"), to_raw("g1.-.AAAA")])
def test_what_is_none_of_ours_is_refused_in_the_same_words(state: Raw) -> None:
    with pytest.raises(ClientFault, match=REFUSED):
        states(FakeClock()).read(with_state(a_call(name="x"), state), "shop")
    assert slot_named(with_state(a_call(name="x"), state)) == ANYWHERE


async def test_it_expires() -> None:
    clock = FakeClock()
    call = a_call(name="ask")
    state = states(clock).write(call, "shop", "relay", 60, s="x")
    await clock.advance(59)
    states(clock).read(with_state(call, state), "shop")
    await clock.advance(1)
    with pytest.raises(ClientFault, match=REFUSED):
        states(clock).read(with_state(call, state), "shop")


def test_the_slot_inside_has_to_be_the_slot_outside() -> None:
    clock = FakeClock()
    call = a_call(name="ask")
    inner = states(clock).write(call, "shop", "hold", 60, n="slot0001")
    text = read_text(inner)
    assert text is not None
    with pytest.raises(ClientFault, match=REFUSED):
        states(clock).read(with_state(call, to_raw(text.replace("slot0001", "slot0002"))), "shop")


def test_a_digest_is_of_what_was_asked_and_not_of_how_it_was_written() -> None:
    spaced = {"name": Raw(b' "n"'), "arguments": Raw(b'{ "b": 1.0, "a": [1, 2.5] }')}
    tight = {"arguments": Raw(b'{"a":[1.0,2.5],"b":1}'), "name": Raw(b'"n"')}
    assert digest(spaced) == digest(tight)
    assert digest(spaced) != digest(tight | {"arguments": Raw(b'{"a":[2.5,1],"b":1}')})
    # What nobody can read has a digest too.
    assert digest({"name": Raw(b'"\\ud800"')}) != digest({"name": Raw(b'"\\ud801"')})
