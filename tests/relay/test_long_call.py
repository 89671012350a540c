"""A call of a client that takes tasks: what it is given, when, and what its server hears of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from emceepee.errors import ClientFault
from emceepee.relay.long_call import carry_long
from emceepee.vocabulary.asks import NO_ASKS
from emceepee.vocabulary.notices import MadeTask, Notice, Progress
from emceepee.vocabulary.outcomes import Done, Outcome
from emceepee.vocabulary.raw_json import Payload, to_raw
from emceepee.vocabulary.tasks import GoesOn, TaskTerms
from tests.support.fake_backends import FakeServer, House, call, make_house
from tests.support.fake_clock import settle


class Held:
    def __init__(self) -> None:
        self.outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.tell: Any = None
        self.stopped = False

    async def __call__(self, asked: Any, on_notice: Any) -> Outcome:
        self.tell = on_notice
        try:
            return await asyncio.shield(self.outcome)
        except asyncio.CancelledError:
            self.stopped = True
            raise

    def answer(self) -> None:
        self.outcome.set_result(Done(Payload.of({"content": []})))


def begun(held: Held, terms: TaskTerms, ttl_ms: int | None = None) -> tuple[House, asyncio.Task[Any], list[Notice]]:
    house = make_house(a=FakeServer(answer=held))
    asked = call("tools/call", "s", name="slow")
    asked.tasks, asked.task_ttl_ms = terms, ttl_ms
    heard: list[Notice] = []

    def mark(done: Done) -> None:
        done.wrapped = True

    return house, asyncio.ensure_future(carry_long(house.middle, "a", asked, NO_ASKS, heard.append, mark)), heard


async def test_who_asks_has_his_task_before_the_server_answers() -> None:
    held = Held()
    house, carrying, _ = begun(held, "asks", 5_000)
    gone_on = await carrying
    assert isinstance(gone_on, GoesOn)
    assert (gone_on.task.status, gone_on.task.ttl_ms) == ("working", 5_000)
    held.answer()
    await settle()
    view = house.middle.workspaces.at("s").tasks.get(gone_on.task.id)
    assert (view.status, view.wrapped) == ("completed", True)
    await house.middle.forget("s")


async def test_who_takes_one_has_the_answer_if_it_comes_in_time() -> None:
    held = Held()
    house, carrying, heard = begun(held, "takes")
    await settle()
    held.tell(Progress(1.0, {}))
    held.answer()
    outcome = await carrying
    assert isinstance(outcome, Done)
    assert (outcome.wrapped, len(heard)) == (True, 1)
    assert list(house.middle.workspaces.at("s").events.all()) == []
    await house.middle.forget("s")


async def test_a_server_that_makes_a_task_itself_has_the_client_given_ours_at_once() -> None:
    held = Held()
    house, carrying, heard = begun(held, "takes")
    await settle()
    held.tell(MadeTask("queued", 7_000))
    gone_on = await carrying
    assert isinstance(gone_on, GoesOn)
    assert (gone_on.task.message, gone_on.task.ttl_ms, heard) == ("queued", 7_000, [])
    held.tell(MadeTask("at it", 7_000, {"a": to_raw(1)}))
    task = house.middle.task_room.get(call("tools/call", "s").caller, gone_on.task.id)
    assert (task.message, task.status) == ("at it", "input_required")
    await house.middle.forget("s")
    assert held.stopped


async def test_a_client_that_leaves_while_it_waits_has_cancelled() -> None:
    held = Held()
    house, carrying, _ = begun(held, "takes")
    await settle()
    carrying.cancel()
    await settle()
    assert held.stopped
    assert house.middle.workspaces.at("s").tasks.views(finished=True) == []
    await house.middle.forget("s")


async def test_a_time_that_is_none_is_refused_before_anything_is_called() -> None:
    held = Held()
    house, carrying, _ = begun(held, "asks", -1)
    with pytest.raises(ClientFault):
        await carrying
    assert held.tell is None
    await house.middle.forget("s")
