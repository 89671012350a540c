"""Clients that come back: to a held call here or elsewhere, to a modern server's own state, to an address visited."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from emceepee.errors import ClientFault
from emceepee.relay.coming_back import HELD_CALL_LOST, ComingBack
from emceepee.relay.hold import Told
from emceepee.relay.settings import RelaySettings
from emceepee.vocabulary.calls import NO_ASKS, Call
from emceepee.vocabulary.outcomes import Done, Failed, InputNeeded, Wanted
from emceepee.vocabulary.raw_json import read_text, to_raw
from tests.support.fake_clock import settle
from tests.support.held_calls import PARAMS, Stage, answers_to

REFUSED = "Invalid or expired requestState"


def needs(state: Any = "abc", what: Any = "form") -> InputNeeded:
    request = to_raw({"method": "elicitation/create", "params": PARAMS["form"]})
    wanted = {"k": Wanted("elicitation", what, to_raw(PARAMS["form"]))}
    return InputNeeded({"k": request}, wanted, None if state is None else to_raw(state))


async def relayed(stage: Stage, what: InputNeeded) -> Told:
    sent, served = await stage.begin()
    served.ends(what)
    return await sent


async def test_a_call_of_a_client_that_can_be_asked_nothing_is_the_surfaces_own() -> None:
    stage = Stage()
    call = Call("tools/call", {}, stage.call().caller, asks=NO_ASKS)
    work = stage.coming.carry(stage.surface, call, None)
    assert work.__qualname__ == "FakeSurface.carry"
    work.close()
    other = Call("completion/complete", {}, stage.call().caller, asks=stage.call().asks)
    work = stage.coming.carry(stage.surface, other, None)
    assert work.__qualname__ == "FakeSurface.carry"
    work.close()
    await stage.close()


@pytest.mark.shows("EB-E13")
@pytest.mark.parametrize("inner", ["abc", "g1.-.looks-like-ours", "", "ü\u2028", "x" * 7000])
async def test_a_modern_servers_state_is_closed_and_given_back_byte_for_byte(inner: str) -> None:
    stage = Stage()
    told = await relayed(stage, needs(inner))
    assert isinstance(told, InputNeeded)
    token = read_text(told.state)
    assert token is not None
    assert token.startswith("g1.")
    assert inner == "" or inner not in token
    assert stage.coming.kept == (len(inner) > 6144)
    back = stage.send(stage.call(told, {"k": {"action": "decline"}}))
    await settle()
    call = stage.served[-1].call
    assert call.state is not None
    assert bytes(call.state) == bytes(to_raw(inner))
    assert call.answers is not None
    assert bytes(call.answers["k"]) == b'{"action":"decline"}'
    stage.served[-1].ends()
    assert isinstance(await back, Done)
    assert len(stage.holds) == 0
    await stage.close()


async def test_a_state_too_large_to_carry_is_kept_for_a_while_and_so_many_of_them() -> None:
    stage = Stage(RelaySettings(max_kept_states=2, kept_state_ttl=100))
    told = [await relayed(stage, needs("x" * 7000)) for _ in range(3)]
    assert stage.coming.kept == 2
    with pytest.raises(ClientFault, match=REFUSED):
        await stage.send(stage.call(told[0]))
    await stage.clock.advance(100)
    assert stage.coming.kept == 0
    with pytest.raises(ClientFault, match=REFUSED):
        await stage.send(stage.call(told[2]))
    await stage.close()


async def test_without_a_state_there_is_none() -> None:
    stage = Stage()
    told = await relayed(stage, needs(None))
    assert isinstance(told, InputNeeded)
    assert told.state is None
    await stage.close()


async def test_a_modern_server_that_wants_what_was_not_declared_has_made_a_mistake() -> None:
    stage = Stage()
    told = await relayed(stage, needs("abc", "sampling_tools"))
    assert isinstance(told, Failed)
    assert "sampling_tools" in told.message
    await stage.close()


async def test_rights_that_are_gone_end_the_call() -> None:
    stage = Stage()
    told, served = await stage.parked()
    stage.coming.allowed = lambda surface, call: False
    with pytest.raises(ClientFault) as refused:
        await stage.send(stage.call(told, answers_to(told)))
    assert (refused.value.code, refused.value.data) == (-32603, {"reason": "not_authorized"})
    await settle()
    assert (served.asked[0].answer, served.cancelled) == ({"action": "cancel"}, True)
    await stage.close()


class Joined:
    """Implements `coming_back.Others` over two of them in one process."""

    def __init__(self, **parts: ComingBack) -> None:
        self._parts = parts

    def know(self, slot: str) -> bool:
        return slot in self._parts

    async def forward(self, slot: str, surface: str, call: Call, on_notice: Any) -> Told:
        return await self._parts[slot].held(surface, call, on_notice)


async def test_a_call_held_by_another_process_is_answered_there_once() -> None:
    here, there = Stage(slot="slot0001"), Stage(slot="slot0002")
    here.coming.others = there.coming.others = Joined(slot0001=here.coming, slot0002=there.coming)
    told, served = await here.parked()
    heard: list[Any] = []
    backs = [there.send(there.call(told, answers_to(told)), heard) for _ in range(2)]
    await settle()
    assert len(served.asked[0].heard) == 1
    served.ends()
    assert [type(one) for one in await asyncio.gather(*backs)] == [Done, Done]
    assert there.served == []
    with pytest.raises(ClientFault, match=REFUSED):
        await there.send(there.call(told, answers_to(told), principal="q"))
    await here.close()
    await there.close()


@pytest.mark.parametrize("harmless", [False, True])
async def test_a_call_whose_process_is_gone_is_made_again_only_where_that_is_harmless(harmless: bool) -> None:
    gone, here = Stage(slot="slot0001"), Stage(slot="slot0002")
    here.surface.harmless = harmless
    told, _ = await gone.parked()
    await gone.close()
    back = here.send(here.call(told, answers_to(told)))
    await settle()
    if harmless:
        assert (here.served[0].call.state, here.served[0].call.answers) == (None, None)
        here.served[0].ends()
        assert isinstance(await back, Done)
    else:
        with pytest.raises(ClientFault) as lost:
            await back
        assert (lost.value.code, lost.value.data) == (-32602, {"reason": HELD_CALL_LOST})
        assert here.served == []
    await here.close()


async def test_with_other_keys_nobody_can_tell_whose_it_was() -> None:
    gone, here = Stage(slot="slot0001"), Stage(slot="slot0002", key="another")
    told, _ = await gone.parked()
    with pytest.raises(ClientFault, match=REFUSED):
        await here.send(here.call(told, answers_to(told)))
    await gone.close()
    await here.close()


VISIT = Failed(
    -32042,
    "URL elicitation required",
    to_raw({"elicitations": [{"url": "https://shop.example/in", "elicitationId": "e1", "message": "Go"}]}),
)


async def test_an_address_is_asked_for_and_the_call_made_again_when_a_person_agreed() -> None:
    stage = Stage()
    sent, served = await stage.begin()
    served.ends(VISIT)
    told = await sent
    assert isinstance(told, InputNeeded)
    assert list(told.requests) == ["u1"]
    assert len(stage.holds) == 0
    back = stage.send(stage.call(told, {"u1": {"action": "accept"}}))
    await settle()
    assert len(stage.served) == 2
    stage.served[1].ends()
    assert isinstance(await back, Done)
    await stage.close()


async def test_who_declines_an_address_has_the_server_called_no_more() -> None:
    stage = Stage()
    sent, served = await stage.begin()
    served.ends(VISIT)
    told = await sent
    refused = await stage.send(stage.call(told, {"u1": {"action": "decline"}}))
    assert isinstance(refused, Done)
    assert len(stage.served) == 1
    await stage.close()


@pytest.mark.parametrize("visited", [True, False])
async def test_a_server_that_still_wants_the_address_visited_is_waited_for(visited: bool) -> None:
    stage = Stage()
    sent, served = await stage.begin()
    served.ends(VISIT)
    told = await sent
    back = stage.send(stage.call(told, {"u1": {"action": "accept"}}))
    await settle()
    stage.served[1].ends(VISIT)
    await settle()
    assert not back.done()
    if visited:
        await stage.clock.advance(3)
        stage.visits.done("e1")
        await settle()
        stage.served[2].ends()
        assert isinstance(await back, Done)
    else:
        await stage.clock.advance(120)
        assert isinstance(await back, InputNeeded)
        assert len(stage.served) == 2
    await stage.close()


async def test_who_answers_nothing_is_asked_again_without_waiting() -> None:
    stage = Stage()
    sent, served = await stage.begin()
    served.ends(VISIT)
    told = await sent
    back = stage.send(stage.call(told, {}))
    await settle()
    stage.served[1].ends(VISIT)
    assert isinstance(await back, InputNeeded)
    await stage.close()
