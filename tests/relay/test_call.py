"""Carrying one call: what is tried again, what is not, and what is said of it."""

from __future__ import annotations

import asyncio
import logging

import pytest

from emceepee.errors import BackendTimeout, BackendUnavailable, ClientFault, OutcomeUnknown
from emceepee.vocabulary.outcomes import Done
from tests.support.fake_backends import FakeServer, call, make_house, plain, raises, text_result, tool
from tests.support.fake_clock import settle

LOST = OutcomeUnknown("a", "the stream ended")


@pytest.mark.shows("A-CON-04", "A-CON-08", "A-EXE-12")
async def test_the_first_use_connects_and_the_second_uses_the_same_connection() -> None:
    house = make_house(a=FakeServer())
    for _ in range(2):
        await house.middle.calls.carry("a", call("tools/call", name="t"), None, 5.0)
    assert house.pool.connects == {("a", "s"): 1}
    assert house.pool.servers["a"].timeouts == [5.0, 5.0]


@pytest.mark.shows("A-CON-06", "A-CON-08")
async def test_a_call_that_cannot_have_arrived_is_made_again_over_a_fresh_connection() -> None:
    server = FakeServer(answer=raises(BackendUnavailable("a", "the link is gone"), then=text_result("done")))
    house = make_house(a=server)
    outcome = await house.middle.calls.carry("a", call("tools/call", name="t"), None, 5.0)
    assert plain(outcome)["content"][0]["text"] == "done"
    assert len(server.asked) == 2


async def test_it_is_made_again_only_once() -> None:
    gone = BackendUnavailable("a", "the link is gone")
    server = FakeServer(answer=raises(gone, gone, gone))
    house = make_house(a=server)
    with pytest.raises(BackendUnavailable):
        await house.middle.calls.carry("a", call("tools/call", name="t"), None, 5.0)
    assert len(server.asked) == 2


async def test_a_call_that_may_have_worked_is_never_made_again() -> None:
    server = FakeServer(answer=raises(LOST), lists={"tools": [tool("t")]})
    house = make_house(a=server)
    with pytest.raises(OutcomeUnknown):
        await house.middle.calls.carry("a", call("tools/call", name="t"), None, 5.0)
    assert server.methods() == ["tools/call"]


@pytest.mark.parametrize("method", ["prompts/get", "resources/read", "completion/complete"])
async def test_a_question_may_be_asked_twice(method: str) -> None:
    server = FakeServer(answer=raises(LOST, then=text_result("x")))
    house = make_house(a=server)
    assert isinstance(await house.middle.calls.carry("a", call(method), None, 5.0), Done)


async def test_a_tool_known_to_be_harmless_may_be_called_twice() -> None:
    harmless = tool("t", annotations={"readOnlyHint": True})
    server = FakeServer(answer=raises(LOST, then=text_result("x")), lists={"tools": [harmless]})
    house = make_house(a=server)
    await house.middle.listing.get("a", "s", "tools", 1.0)
    assert isinstance(await house.middle.calls.carry("a", call("tools/call", name="t"), None, 5.0), Done)


async def test_a_time_out_is_not_tried_again() -> None:
    server = FakeServer(answer=raises(BackendTimeout("a", "silent for 5 s")))
    house = make_house(a=server)
    with pytest.raises(BackendTimeout):
        await house.middle.calls.carry("a", call("prompts/get", name="p"), None, 5.0)
    assert len(server.asked) == 1


async def test_a_call_says_that_it_waits_for_the_next_connection_while_it_does() -> None:
    server = FakeServer(answer=raises(BackendUnavailable("a", "the link is gone"), then=text_result("done")))
    house = make_house(a=server)
    asked, calls = call("tools/call", name="t"), house.middle.calls
    connection = await house.middle.reach.connection("a", "s")
    house.pool.lose("a")
    house.pool.connecting["a"] = asyncio.Event()
    carrying = house.tasks.spawn(calls.carry("a", asked, None, 5.0, connection), "call")
    await settle()
    assert calls.waits(asked)
    house.pool.connecting["a"].set()
    assert isinstance(await carrying, Done)
    assert not calls.waits(asked)


@pytest.mark.shows("A-CON-07")
async def test_an_unknown_server_is_the_callers_mistake() -> None:
    house = make_house(files=FakeServer())
    with pytest.raises(ClientFault, match=r"Server 'fiels' not found; did you mean 'files'\?"):
        await house.middle.calls.carry("fiels", call("tools/call", name="t"), None, 5.0)


@pytest.mark.shows("A-LOG-08", "A-LOG-09")
async def test_a_tool_call_is_told_at_debug_without_its_arguments(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "emceepee.relay")
    house = make_house(a=FakeServer())
    await house.middle.calls.carry("a", call("tools/call", name="t", arguments={"password": "x"}), None, 5.0)
    told = {record.message: record.__dict__["data"] for record in caplog.records}
    assert told == {
        "tool_execution_start": {"server": "a", "tool": "t", "hasArgs": True},
        "tool_execution_complete": {"server": "a", "tool": "t", "durationMs": 0},
    }
