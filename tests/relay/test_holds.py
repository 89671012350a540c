"""How many calls may be held, who gives way, and what is remembered of those that are over."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.errors import ClientFault
from emceepee.relay.settings import RelaySettings
from emceepee.vocabulary.names import ANON
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import Payload, read_value
from tests.support.fake_clock import settle
from tests.support.held_calls import Stage, answers_to


async def test_of_one_caller_the_call_that_waits_longest_gives_way() -> None:
    stage = Stage(RelaySettings(max_holds_each=2))
    calls = [await stage.parked(n=n) for n in range(3)]
    assert [len(served.asked[0].heard) for _, served in calls] == [1, 0, 0]
    assert calls[0][1].asked[0].answer == {"action": "cancel"}
    assert stage.holds.of("p") == 2
    await stage.clock.advance(5)
    assert [served.cancelled for _, served in calls] == [True, False, False]
    with pytest.raises(ClientFault, match="Invalid or expired requestState"):
        await stage.send(stage.call(calls[0][0], answers_to(calls[0][0]), n=0))
    await stage.close()


async def test_another_callers_calls_are_left_alone() -> None:
    stage = Stage(RelaySettings(max_holds_each=1))
    _, first = await stage.parked(principal="p")
    _, second = await stage.parked(principal="q")
    assert (first.asked[0].heard, second.asked[0].heard) == ([], [])
    await stage.close()


async def test_of_strangers_none_gives_way_to_another() -> None:
    stage = Stage(RelaySettings(max_holds_each=1))
    _, first = await stage.parked(principal=ANON)
    _, second = await stage.parked(principal=ANON, n=2)
    assert (first.asked[0].heard, second.asked[0].heard) == ([], [])
    await stage.close()


@pytest.mark.parametrize("settings", [RelaySettings(max_holds=1), RelaySettings(max_holds_each=1)])
async def test_where_nobody_can_give_way_the_server_hears_at_once_that_nobody_answers(
    settings: RelaySettings, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(settings)
    told, served = await stage.parked(n=1)
    back = stage.send(stage.call(told, answers_to(told), n=1))
    await settle()
    sent, other = await stage.begin(n=2)
    ask = other.asks("sampling")
    await settle()
    assert ask.answer == -1
    other.ends()
    served.ends()
    assert [type(one) for one in await asyncio.gather(sent, back)] == [Done, Done]
    assert "hold_refused" in caplog.text
    await stage.close()


async def test_what_is_remembered_is_bounded_in_number_in_bytes_and_in_time() -> None:
    stage = Stage(RelaySettings(max_holds=2, max_remembered_bytes=100))
    sizes = []
    for size in (1, 1, 1, 90):
        told, served = await stage.parked()
        sent = stage.send(stage.call(told, answers_to(told)))
        await settle()
        served.ends(Done(Payload.of({"x": "y" * size})))
        await sent
        sizes.append(stage.holds.remembered)
    assert sizes == [1, 2, 2, 1]
    await stage.clock.advance(120)
    assert (stage.holds.remembered, len(stage.holds), stage.clock.waiting) == (0, 0, 0)
    await stage.close()


async def test_at_the_end_every_server_is_told_at_once() -> None:
    stage = Stage()
    calls = [await stage.parked(n=n) for n in range(3)]
    assert stage.holds.waiting_for_clients == 3
    stage.coming.close()
    await settle()
    assert [(served.asked[0].answer, served.cancelled) for _, served in calls] == [({"action": "cancel"}, True)] * 3
    sent, served = await stage.begin()
    ask = served.asks()
    await settle()
    assert ask.answer == {"action": "cancel"}
    sent.cancel()
    await settle()
    assert (len(stage.holds), stage.holds.remembered) == (0, 0)
    await stage.close()


async def test_who_was_sent_away_is_waited_for_at_the_end_until_he_is_back_or_the_time_is_over() -> None:
    stage = Stage()
    await stage.holds.returned(9)
    told, served = await stage.parked()
    waiting = asyncio.ensure_future(stage.holds.returned(9))
    await settle()
    back = stage.send(stage.call(told, answers_to(told)))
    await settle()
    assert not waiting.done()
    served.ends()
    await back
    await asyncio.wait_for(waiting, 1)
    await stage.parked(n=2)
    waiting = asyncio.ensure_future(stage.holds.returned(9))
    await stage.clock.advance(9)
    await asyncio.wait_for(waiting, 1)
    await stage.close()


@pytest.mark.shows("EB-C12")
async def test_who_is_given_up_is_told_in_the_workspace_without_what_lets_one_come_back() -> None:
    stage = Stage()
    workspace = stage.workspaces.at("p")
    await stage.parked("form", "sampling", "roots")
    await stage.clock.advance(600)
    events = [(event.type, event.server, read_value(event.data)) for event in workspace.events.all()]
    assert events == [
        ("elicitation_expired", "shop", {"requestId": "a1.1", "reason": "nobody answered in time"}),
        ("sampling_expired", "shop", {"requestId": "a1.2", "reason": "nobody answered in time"}),
    ]
    await stage.close()
