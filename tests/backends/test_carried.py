"""A call that nobody waits for: told once, in whatever way it ends, and not at all after it was given up."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.backends.carried import Carried
from emceepee.backends.conversation import Conversation
from emceepee.errors import BackendFault, BackendTimeout, BackendUnavailable, BackendViolation
from emceepee.protocol.messages import Failure, Result
from emceepee.protocol.outbound import Asked
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.outcomes import Answered, Done, Failed
from emceepee.vocabulary.raw_json import Payload
from tests.backends.test_conversation import Ears
from tests.support.fake_clock import FakeClock, settle
from tests.support.fake_transport import FakeTransport


class Wire:
    """A link that reads results as they are; `again` makes it ask a second time after an error."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.transport = FakeTransport(at_once=True)
        self.conversation = Conversation("files", self.transport, Ears(), self.clock)
        self.again = False
        self.faults: list[BackendFault] = []
        self.left = 0
        self.told: list[Answered | BackendFault] = []

    def ask(self, carried: Carried) -> Asked:
        return self.conversation.begin(carried.call.method, None, carried.timeout, carried)

    def read(self, carried: Carried, answer: Result | Failure) -> Answered | None:
        if isinstance(answer, Result):
            if bytes(answer.result) == b"7":
                raise BackendViolation("files", "no object")
            return Done(Payload(answer.result))
        if self.again and carried.again is None:
            carried.again = asyncio.get_running_loop().create_task(self._once_more(carried))
            return None
        return Failed(answer.error.code, answer.error.message)

    async def _once_more(self, carried: Carried) -> None:
        await asyncio.sleep(0)
        carried.ask_again()

    def failed(self, carried: Carried, fault: BackendFault) -> BackendFault:
        self.faults.append(fault)
        return fault

    def given_up(self, carried: Carried) -> None:
        self.left += 1

    def carry(self) -> Carried:
        carried = Carried(self, self.conversation, Call("tools/call", {}, Caller()), None, 30, self.told.append)
        carried.ask()
        return carried


@pytest.fixture
async def wire() -> Wire:
    made = Wire()
    await made.conversation.start()
    return made


async def test_an_answer_is_told_as_an_outcome_in_the_same_turn(wire: Wire) -> None:
    carried = wire.carry()
    wire.transport.say({"id": "g1", "result": {"n": 1}})
    [done] = wire.told
    assert isinstance(done, Done)
    assert bytes(done.payload.raw()) == b'{"n":1}'
    carried.abandon()
    assert (wire.left, len(wire.conversation)) == (0, 0)


async def test_what_cannot_be_taken_and_what_never_comes_are_faults_that_are_told(wire: Wire) -> None:
    wire.carry()
    wire.transport.say({"id": "g1", "result": 7})
    wire.carry()
    await wire.clock.advance(31)
    assert [type(fault) for fault in wire.told] == [BackendViolation, BackendTimeout]
    assert wire.faults == wire.told


async def test_what_cannot_be_asked_is_raised_and_not_told(wire: Wire) -> None:
    wire.transport.fault = BackendUnavailable("files", "broken pipe")
    with pytest.raises(BackendUnavailable, match="broken pipe"):
        wire.carry()
    assert (len(wire.faults), wire.told, len(wire.conversation)) == (1, [], 0)


async def test_whoever_gave_it_up_is_told_nothing_and_the_server_is(wire: Wire) -> None:
    carried = wire.carry()
    carried.abandon()
    carried.abandon()
    await settle()
    wire.transport.say({"id": "g1", "result": {}})
    assert wire.transport.methods() == ["tools/call", "notifications/cancelled"]
    assert (wire.told, wire.left) == ([], 1)


async def test_its_link_may_ask_once_more_and_the_second_answer_counts(wire: Wire) -> None:
    wire.again = True
    wire.carry()
    wire.transport.say({"id": "g1", "error": {"code": 1, "message": "old"}})
    assert wire.told == []
    await settle()
    wire.transport.say({"id": "g2", "error": {"code": 2, "message": "new"}})
    assert wire.told == [Failed(2, "new")]


async def test_one_that_is_given_up_before_it_asked_once_more_does_not(wire: Wire) -> None:
    wire.again = True
    carried = wire.carry()
    wire.transport.say({"id": "g1", "error": {"code": 1, "message": "old"}})
    carried.abandon()
    await settle()
    assert wire.transport.methods() == ["tools/call"]
    assert wire.told == []
