"""The asks of one link: each is taken or refused, and ends once, whatever ends it."""

from __future__ import annotations

import asyncio
from typing import Any

from emceepee.backends.conversation import Conversation
from emceepee.backends.hearing import CallHearing
from emceepee.backends.link_asks import LinkAsks
from emceepee.backends.transport import PIPE, Origin
from emceepee.errors import BackendFault, BackendUnavailable
from emceepee.protocol.inbound import Debt
from emceepee.vocabulary.asks import DISCONNECTED, AskDoor, RaisedAsk, Withdraw
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.outcomes import Done, Failed, Outcome
from emceepee.vocabulary.raw_json import Payload
from tests.support.fake_clock import FakeClock, settle
from tests.support.fake_transport import FakeTransport


class House:
    """A conversation whose owner has asks; whoever is behind the door notes what it is given."""

    def __init__(self) -> None:
        self.transport = FakeTransport()
        self.conversation = Conversation("files", self.transport, self, FakeClock())  # type: ignore[arg-type]
        self.taken: list[RaisedAsk] = []
        self.withdrawn: list[tuple[int, str]] = []
        self.refusal: Failed | None = None
        self.asks = LinkAsks(self.conversation, AskDoor(frozenset(("form", "sampling")), self.take))

    def take(self, ask: RaisedAsk) -> Withdraw | Failed:
        if self.refusal is not None:
            return self.refusal
        self.taken.append(ask)
        number = len(self.taken)
        return lambda reason: self.withdrawn.append((number, reason))

    async def call(self, method: str = "tools/call") -> tuple[Call, asyncio.Task[Any]]:
        call = Call(method, {}, Caller())
        hearing = CallHearing(lambda n: None, lambda n: None, lambda m, p: None, lambda p: None, call=call)
        asking = self.conversation.ask(method, None, 60.0, hearing=hearing)
        task = asyncio.get_running_loop().create_task(asking)
        await settle()
        return call, task

    def ask(self, number: int, method: str = "elicitation/create", origin: Origin = PIPE) -> None:
        self.transport.say({"id": number, "method": method, "params": {"n": number}}, origin)

    async def answers(self) -> dict[int, Any]:
        await settle()
        written = [one for one in self.transport.written if "method" not in one]
        assert len({one["id"] for one in written}) == len(written), "one answer each"
        return {one["id"]: one.get("result", one.get("error")) for one in written}

    # -- as the link does

    def raised(self, owed: Debt) -> Outcome | None:
        return self.asks.raised(owed)

    def ask_cancelled(self, owed: Debt) -> None:
        self.asks.cancelled(owed)

    def told(self, method: str, params: Any, origin: Origin) -> None:
        raise AssertionError(method)

    def lost(self, fault: BackendFault) -> None:
        self.asks.void(DISCONNECTED)


async def house_with(calls: int) -> tuple[House, list[Call], list[asyncio.Task[Any]]]:
    house = House()
    await house.conversation.start()
    made = [await house.call() for _ in range(calls)]
    return house, [call for call, _ in made], [task for _, task in made]


async def test_an_ask_is_raised_with_its_call_and_its_answer_written_once() -> None:
    house, (call,), _ = await house_with(1)
    house.ask(1)
    (raised,) = house.taken
    assert (raised.kind, bytes(raised.params)) == ("elicitation", b'{"n":1}')
    assert (raised.belonging.certainty, raised.belonging.calls[0] is call) == ("exact", True)
    raised.settle(Done(Payload.of({"action": "accept"})))
    house.asks.call_is_over(call)
    house.asks.void(DISCONNECTED)
    assert await house.answers() == {1: {"action": "accept"}}
    assert house.withdrawn == []
    assert len(house.asks) == house.conversation.peer.owing == 0
    await house.conversation.close()


async def test_what_nobody_takes_is_answered_as_whoever_would_not_says() -> None:
    house, _, _ = await house_with(0)
    house.refusal = Failed(-32603, "full")
    house.ask(1)
    house.refusal = None
    house.ask(2, "roots/list")
    assert await house.answers() == {
        1: {"code": -32603, "message": "full"},
        2: {"code": -32601, "message": "roots/list was not declared by this client"},
    }
    assert len(house.asks) == 0
    await house.conversation.close()


async def test_one_that_comes_for_a_call_that_is_over_is_given_up_at_once() -> None:
    house, _, (task,) = await house_with(1)
    task.cancel()
    await settle()
    house.ask(1, origin=Origin("post", "g1"))
    house.ask(2, "sampling/createMessage", Origin("post", "g1"))
    answers = await house.answers()
    assert answers[1] == {"action": "cancel"}
    assert answers[2]["code"] == -1
    assert house.taken == []
    await house.conversation.close()


async def test_the_end_of_a_call_ends_what_is_surely_its_own_and_what_is_nobody_elses() -> None:
    house, (dig, craft), _ = await house_with(2)
    house.ask(1, origin=Origin("post", "g1"))
    house.ask(2, origin=Origin("post", "g2"))
    house.ask(3)
    house.ask(4, "sampling/createMessage")
    assert [one.belonging.certainty for one in house.taken] == ["exact", "exact", "ambiguous", "ambiguous"]
    house.asks.call_is_over(dig)
    assert await house.answers() == {1: {"action": "cancel"}}
    running = house.taken[2].running
    assert house.taken[0].running is None
    assert running is not None
    assert running() == [dig, craft]
    house.transport.say({"id": "g1", "result": {}})
    assert running() == [craft]
    house.asks.call_is_over(craft)
    answers = await house.answers()
    assert (answers[2], answers[3], answers[4]["code"]) == ({"action": "cancel"}, {"action": "cancel"}, -1)
    assert [number for number, _ in house.withdrawn] == [1, 2, 3, 4]
    assert {reason for _, reason in house.withdrawn} == {"the call it belongs to was cancelled"}
    await house.conversation.close()


async def test_a_call_that_has_its_answer_is_no_candidate_and_reading_a_list_never_was() -> None:
    house, _, _ = await house_with(1)
    await house.call("tools/list")
    house.transport.say({"id": "g1", "result": {}})
    house.ask(1)
    house.ask(2, origin=Origin("post", "g2"))
    assert [one.belonging.certainty for one in house.taken] == ["orphan", "orphan"]
    await house.conversation.close()


async def test_the_second_ask_is_probably_the_call_that_has_none() -> None:
    house, (dig, craft), _ = await house_with(2)
    house.ask(1, origin=Origin("post", "g1"))
    house.ask(2)
    assert house.taken[1].belonging.certainty == "probable"
    assert house.taken[1].belonging.calls[0] is craft
    house.asks.call_is_over(craft)
    assert await house.answers() == {}, "it may be the other's, which runs (rule R8)"
    house.transport.say({"id": "g2", "result": {}})
    house.asks.call_is_over(dig)
    assert set(await house.answers()) == {1, 2}
    await house.conversation.close()


async def test_what_its_server_takes_back_is_withdrawn() -> None:
    house, _, _ = await house_with(0)
    house.ask(1)
    house.transport.say({"method": "notifications/cancelled", "params": {"requestId": 1}})
    assert house.withdrawn == [(1, "cancelled by server")]
    house.taken[0].settle(Done(Payload.of({})))
    assert await house.answers() == {}
    await house.conversation.close()


async def test_a_loss_voids_what_is_open_and_later_answers_are_not_written() -> None:
    house, _, (task,) = await house_with(1)
    house.ask(1)
    house.transport.lose(BackendUnavailable("files", "gone"))
    assert house.withdrawn == [(1, "Server disconnected")]
    house.taken[0].settle(Done(Payload.of({})))
    assert await house.answers() == {}
    assert isinstance(task.exception(), BackendFault)
    await house.conversation.close()


async def test_an_id_asked_twice_is_one_ask() -> None:
    house, _, _ = await house_with(0)
    house.ask(1)
    house.ask(1)
    assert len(house.taken) == 1
    house.taken[0].settle(Done(Payload.of({"action": "cancel"})))
    house.ask(1)
    assert len(house.taken) == 2
    await house.conversation.close()
