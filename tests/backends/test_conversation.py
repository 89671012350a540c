"""The driver of the peer: every ending of a question, with a transport that the test speaks for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import Raw

from emceepee.backends.conversation import MAX_COURTESIES, Conversation
from emceepee.backends.transport import Origin
from emceepee.errors import BackendFault, BackendTimeout, BackendUnavailable, BackendViolation, OutcomeUnknown
from emceepee.protocol.inbound import Debt
from emceepee.protocol.messages import Failure, Result
from emceepee.vocabulary.outcomes import Done, Failed, Outcome
from emceepee.vocabulary.raw_json import Payload
from tests.support.fake_clock import FakeClock, settle
from tests.support.fake_transport import FakeTransport


class Ears:
    """Hears for one question, or for the conversation."""

    takes_logs = True
    seen: str | None = None
    call = None

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.owed: list[Debt] = []
        self.faults: list[BackendFault] = []

    def progress(self, params: Raw) -> None:
        self.heard.append("progress")

    def told(self, method: str, params: Raw | None, origin: Origin | None = None) -> None:
        self.heard.append(method)

    def raised(self, owed: Debt) -> Outcome | None:
        self.owed.append(owed)
        return Failed(-32601, "not here") if owed.method == "roots/list" else None

    def ask_cancelled(self, owed: Debt) -> None:
        self.heard.append(f"{owed.id} cancelled")

    def lost(self, fault: BackendFault) -> None:
        self.faults.append(fault)


class Table:
    """A conversation, what is around it, and the questions a test started."""

    def __init__(self, hold: bool = False, at_once: bool = False) -> None:
        self.clock = FakeClock()
        self.transport = FakeTransport(hold, at_once)
        self.unasked = Ears()
        self.conversation = Conversation("files", self.transport, self.unasked, self.clock)

    async def ask(self, method: str = "tools/call", timeout: float = 60.0, ears: Ears | None = None) -> Any:
        task = asyncio.get_running_loop().create_task(
            self.conversation.ask(
                method, lambda token: b'{"_meta":{"progressToken":"%s"}}' % token.encode(), timeout, hearing=ears
            )
        )
        await settle()
        return task


@pytest.fixture(params=["waits", "holds", "at once"])
async def table(request: pytest.FixtureRequest) -> Table:
    made = Table(hold=request.param == "holds", at_once=request.param == "at once")
    await made.conversation.start()
    return made


async def ending(task: asyncio.Task[Any]) -> Any:
    async with asyncio.timeout(2):
        return await task


@pytest.mark.shows("C-DISP-01", "C-DISP-10", "C-TST-01")
async def test_answers_in_another_order_reach_their_own_callers(table: Table) -> None:
    first, second = await table.ask(), await table.ask()
    table.transport.say({"id": "g2", "result": {"n": 2}})
    table.transport.say({"id": "g1", "result": {"n": 1}})
    assert [bytes((await ending(task)).result) for task in (first, second)] == [b'{"n":1}', b'{"n":2}']
    assert len(table.conversation) == 0


@pytest.mark.shows("C-DISP-02")
async def test_an_error_answer_is_returned_with_code_message_and_data(table: Table) -> None:
    task = await table.ask()
    table.transport.say({"id": "g1", "error": {"code": 7, "message": "no", "data": {"why": 1}}})
    answer = await ending(task)
    assert isinstance(answer, Failure)
    assert (answer.error.code, answer.error.message, bytes(answer.error.data or b"")) == (7, "no", b'{"why":1}')


@pytest.mark.shows("C-CAN-01", "C-CAN-02", "C-TST-02")
async def test_a_cancelled_question_is_cancelled_at_the_server_and_for_the_caller(table: Table) -> None:
    task = await table.ask()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending(task)
    await settle()
    assert table.transport.written[-1]["method"] == "notifications/cancelled"
    assert table.transport.written[-1]["params"]["requestId"] == "g1"
    assert len(table.conversation) == len(table.conversation.peer) == 0


@pytest.mark.shows("C-CAN-01")
async def test_a_cancellation_that_cannot_be_sent_does_not_hide_the_cancelling(table: Table) -> None:
    task = await table.ask()
    table.transport.fault = BackendUnavailable("files", "gone")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending(task)
    await settle()
    assert len(table.conversation) == 0


@pytest.mark.shows("C-CAN-03")
async def test_a_late_answer_to_a_cancelled_question_is_ignored(table: Table) -> None:
    task = await table.ask()
    task.cancel()
    await settle()
    table.transport.say({"id": "g1", "result": {}})
    again = await table.ask()
    table.transport.say({"id": "g2", "result": {"ok": True}})
    assert isinstance(await ending(again), Result)


@pytest.mark.shows("X-BUG-64", "X-BUG-66")
async def test_a_silent_server_is_given_up_at_the_deadline_and_told_so(table: Table) -> None:
    task = await table.ask(timeout=30)
    await table.clock.advance(29)
    assert not task.done()
    await table.clock.advance(1)
    with pytest.raises(BackendTimeout, match="no answer to tools/call within 30 s"):
        await ending(task)
    await settle()
    assert table.transport.methods() == ["tools/call", "notifications/cancelled"]
    assert len(table.conversation.peer) == 0


async def test_the_timer_serves_a_shorter_deadline_that_comes_later(table: Table) -> None:
    slow, quick = await table.ask(timeout=100), await table.ask(timeout=5)
    await table.clock.advance(6)
    with pytest.raises(BackendTimeout):
        await ending(quick)
    assert not slow.done()
    await table.clock.advance(95)
    with pytest.raises(BackendTimeout):
        await ending(slow)
    assert table.clock.waiting == 0


@pytest.mark.shows("C-DISP-14", "C-DISP-16", "X-BUG-25")
async def test_a_lost_connection_ends_every_question_as_unknown_and_is_told_once(table: Table) -> None:
    tasks = [await table.ask(), await table.ask()]
    table.transport.lose(BackendUnavailable("files", "it exited"))
    table.transport.lose(BackendUnavailable("files", "it exited"))
    for task in tasks:
        with pytest.raises(OutcomeUnknown, match="it exited"):
            await ending(task)
    assert len(table.unasked.faults) == 1


@pytest.mark.shows("C-DISP-15")
async def test_after_the_end_nothing_is_asked_any_more(table: Table) -> None:
    await table.conversation.close()
    await table.conversation.close()
    with pytest.raises(BackendUnavailable):
        await table.conversation.ask("tools/list", lambda _: None, 5)
    assert table.transport.written == []
    assert table.transport.closed == 1


@pytest.mark.shows("C-DISP-17")
async def test_a_failed_write_fails_the_question_and_leaves_no_entry(table: Table) -> None:
    table.transport.fault = BackendUnavailable("files", "broken pipe")
    with pytest.raises(BackendUnavailable, match="broken pipe"):
        await table.conversation.ask("tools/call", lambda _: None, 5)
    assert len(table.conversation) == len(table.conversation.peer) == 0


@pytest.mark.shows("C-CAN-05", "C-TST-03")
async def test_a_server_that_cancels_our_request_ends_it(table: Table) -> None:
    task = await table.ask()
    table.transport.say({"method": "notifications/cancelled", "params": {"requestId": "g1", "reason": "busy"}})
    with pytest.raises(BackendViolation, match="cancelled our tools/call"):
        await ending(task)


@pytest.mark.shows("C-CAN-07", "X-BUG-63")
async def test_progress_and_messages_of_its_own_stream_reach_the_question_and_the_rest_the_owner(table: Table) -> None:
    ears = Ears()
    task = await table.ask(ears=ears)
    table.transport.say({"method": "notifications/progress", "params": {"progressToken": "g1", "progress": 1}})
    table.transport.say({"method": "notifications/message", "params": {}}, Origin("post", "g1"))
    table.transport.say({"method": "notifications/message", "params": {}}, Origin("get"))
    table.transport.say({"method": "notifications/progress", "params": {"progressToken": "g9", "progress": 1}})
    table.transport.say({"id": "g1", "result": {}})
    await ending(task)
    assert ears.heard == ["progress", "notifications/message"]
    assert table.unasked.heard == ["notifications/message"]


async def test_a_ping_is_answered_here_and_what_the_owner_refuses_at_once(table: Table) -> None:
    table.transport.say({"id": 1, "method": "ping"})
    table.transport.say({"id": 2, "method": "roots/list", "params": {}})
    await settle()
    assert [owed.id for owed in table.unasked.owed] == [2]
    assert table.transport.written[0] == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert table.transport.written[1]["error"]["code"] == -32601


async def test_a_server_that_pings_and_pings_and_reads_nothing_costs_a_bounded_number_of_tasks(table: Table) -> None:
    stuck = asyncio.Event()

    async def send(*_: object) -> None:
        await stuck.wait()

    table.transport.send = send  # type: ignore[assignment, method-assign]
    before = len(asyncio.all_tasks())
    for number in range(3 * MAX_COURTESIES):
        table.transport.say({"id": number, "method": "ping"})
    assert len(asyncio.all_tasks()) - before <= MAX_COURTESIES
    stuck.set()
    await table.conversation.close()
    assert len(asyncio.all_tasks()) <= before


async def test_what_is_asked_goes_to_the_owner_and_is_answered_once_when_he_says_so(table: Table) -> None:
    table.transport.say({"id": 5, "method": "elicitation/create", "params": {}})
    table.transport.say({"id": "5", "method": "elicitation/create", "params": {}})
    await settle()
    assert table.transport.written == []
    number, text = table.unasked.owed
    table.conversation.reply(text, Failed(-1, "no", Raw(b'{"why":1}')))
    table.conversation.reply(number, Done(Payload.of({"action": "cancel"})))
    table.conversation.reply(number, Failed(-1, "twice"))
    await settle()
    assert table.transport.written == [
        {"jsonrpc": "2.0", "id": "5", "error": {"code": -1, "message": "no", "data": {"why": 1}}},
        {"jsonrpc": "2.0", "id": 5, "result": {"action": "cancel"}},
    ]
    await table.conversation.close()


async def test_what_the_server_takes_back_or_nobody_would_understand_is_not_answered(table: Table) -> None:
    for number in (1, 2):
        table.transport.say({"id": number, "method": "elicitation/create"})
    table.transport.say({"method": "notifications/cancelled", "params": {"requestId": 1}})
    first, second = table.unasked.owed
    table.conversation.write_off(second)
    for owed in (first, second):
        table.conversation.reply(owed, Done(Payload.of({})))
    await settle()
    assert table.unasked.heard == ["1 cancelled"]
    assert table.transport.written == []
    # The id is free again: a server that starts anew counts from the beginning.
    table.transport.say({"id": 2, "method": "elicitation/create"})
    assert len(table.unasked.owed) == 3
    await table.conversation.close()
