"""A server in the same process: what crosses, with which origin, and how it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from emceepee.backends.in_memory import InMemoryTransport
from emceepee.backends.transport import PIPE, Origin
from emceepee.errors import BackendUnavailable
from emceepee.protocol.messages import (
    Failure,
    Notification,
    Request,
    Result,
    write_notification,
    write_request,
    write_result,
)
from tests.support.fake_clock import settle
from tests.support.inbox import RecordingInbox
from tests.support.scripted_backend import EXIT, Fail, Late, ScriptedBackend, Text, Turn, Twice


class Wire:
    """One transport on a scripted backend."""

    def __init__(self, backend: ScriptedBackend) -> None:
        self.backend = backend
        self.transport = InMemoryTransport("files", backend.connection())
        self.inbox = RecordingInbox()

    async def ask(self, method: str, request_id: str | int = "e1") -> None:
        await self.transport.send(write_request(request_id, method, b"{}"))

    async def cancel(self, request_id: str) -> None:
        params = b'{"requestId":"' + request_id.encode() + b'"}'
        await self.transport.send(write_notification("notifications/cancelled", params))


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    wire = Wire(ScriptedBackend())
    await wire.transport.start(wire.inbox)
    yield wire
    await wire.transport.close()


def script(wire: Wire, **answers: object) -> None:
    wire.backend.answers = answers  # type: ignore[assignment]


async def test_a_request_is_answered_and_the_answer_knows_which_it_belongs_to(wire: Wire) -> None:
    await wire.ask("ping", 7)
    answer = await wire.inbox.next()
    assert isinstance(answer, Result)
    assert answer.id == 7
    assert wire.inbox.messages[0][1] == Origin("post", 7)


async def test_what_is_said_while_answering_has_the_origin_of_the_request(wire: Wire) -> None:
    def work(turn: Turn) -> dict[str, object]:
        turn.notify("notifications/progress", {"progressToken": "e1", "progress": 1})
        return {}

    script(wire, work=work)
    await wire.ask("work")
    assert isinstance(await wire.inbox.next(), Notification)
    await wire.inbox.next()
    assert [origin for _, origin in wire.inbox.messages] == [Origin("post", "e1")] * 2


async def test_what_is_said_unasked_has_the_origin_of_a_pipe(wire: Wire) -> None:
    wire.backend.notify("notifications/tools/list_changed")
    wire.backend.ask("ping", request_id=1)
    assert isinstance(await wire.inbox.next(), Notification)
    assert isinstance(await wire.inbox.next(), Request)
    assert {origin for _, origin in wire.inbox.messages} == {PIPE}


async def test_the_server_hears_notifications_and_answers_to_its_own_requests(wire: Wire) -> None:
    await wire.transport.send(write_notification("notifications/initialized", None))
    await wire.transport.send(write_result("ask-1", b"{}"))
    await settle()
    assert [type(message) for message in wire.backend.received] == [Notification, Result]


async def test_requests_are_handled_beside_each_other(wire: Wire) -> None:
    go = asyncio.Event()
    script(wire, slow=Late({}, go), quick={})
    await wire.ask("slow", "s")
    await wire.ask("quick", "q")
    first = await wire.inbox.next()
    go.set()
    second = await wire.inbox.next()
    assert isinstance(first, Result)
    assert isinstance(second, Result)
    assert (first.id, second.id) == ("q", "s")


async def test_cancelling_a_request_cancels_its_work_and_it_is_never_answered(wire: Wire) -> None:
    ended = asyncio.Event()

    async def work(turn: Turn) -> dict[str, object]:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return {}

    script(wire, work=work)
    await wire.ask("work")
    await wire.backend.saw("work")
    await wire.cancel("e1")
    async with asyncio.timeout(5):
        await ended.wait()
    await wire.backend.saw("notifications/cancelled")
    assert not wire.inbox.messages
    assert wire.backend.cancelled == ["e1"]


async def test_cancelling_what_nobody_asked_is_nothing(wire: Wire) -> None:
    await wire.cancel("unknown")
    await wire.transport.send(write_notification("notifications/cancelled", b'{"requestId":{}}'))
    await wire.transport.send(write_notification("notifications/cancelled", None))
    await wire.ask("ping")
    assert isinstance(await wire.inbox.next(), Result)


async def test_a_server_that_raises_is_answered_for_and_logged(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    def work(turn: Turn) -> None:
        raise LookupError("a secret detail")

    script(wire, work=work)
    caplog.set_level(logging.ERROR)
    await wire.ask("work")
    answer = await wire.inbox.next()
    assert isinstance(answer, Failure)
    assert (answer.error.code, answer.error.message) == (-32603, "Internal error")
    assert [record.message for record in caplog.records] == ["in_process_server_failed"]


async def test_rubbish_is_told_and_the_channel_stays_open(wire: Wire) -> None:
    script(wire, odd=Text(b"rubbish"))
    await wire.ask("odd")
    await wire.ask("ping", "e2")
    assert isinstance(await wire.inbox.next(), Result)
    assert len(wire.inbox.rubbish_heard) == 1


async def test_an_answer_given_twice_is_handed_over_twice(wire: Wire) -> None:
    """To judge it is the peer's affair."""
    script(wire, work=Twice({}))
    await wire.ask("work")
    await wire.inbox.next()
    await wire.inbox.next()
    assert len(wire.inbox.messages) == 2


async def test_an_error_crosses_with_its_data(wire: Wire) -> None:
    script(wire, work=Fail(-32602, "no", {"a": 1}))
    await wire.ask("work")
    answer = await wire.inbox.next()
    assert isinstance(answer, Failure)
    assert bytes(answer.error.data or b"") == b'{"a":1}'


async def test_a_server_that_hangs_up_is_lost_once_and_nothing_follows(wire: Wire) -> None:
    go = asyncio.Event()
    script(wire, slow=Late({}, go), last=EXIT)
    await wire.ask("slow", "s")
    await wire.ask("last")
    fault = await wire.inbox.fault()
    assert isinstance(fault, BackendUnavailable)
    go.set()
    await settle()
    assert not wire.inbox.messages
    with pytest.raises(BackendUnavailable, match="exited with code 1"):
        await wire.ask("ping")


async def test_closing_ends_what_runs_and_says_nothing(wire: Wire) -> None:
    script(wire, slow="silent")
    await wire.ask("slow")
    await wire.transport.close()
    await wire.transport.close()
    assert not wire.inbox.faults
    with pytest.raises(BackendUnavailable, match="closed"):
        await wire.ask("ping")


async def test_before_the_start_nothing_can_be_sent() -> None:
    with pytest.raises(BackendUnavailable, match="not been started"):
        await Wire(ScriptedBackend()).ask("ping")
