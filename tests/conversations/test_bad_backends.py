"""Servers that answer rubbish, twice, late, never, or to somebody else, in both eras: the caller is told the truth
under the right code, and a healthy server beside the bad one notices nothing."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from emceepee.backends.conversation import MAX_COURTESIES
from tests.conversations.house import House, Json, LegacyClient, ModernClient, let_run, response_of
from tests.support.asgi_client import AsgiAnswer
from tests.support.neighbour import Neighbour
from tests.support.scripted_backend import EXIT, SILENT, Answer, Late, ScriptedBackend, Text, Turn, Twice, WrongId

PATH = "/servers/bad/mcp"
CALL = {"name": "echo", "arguments": {"text": "a"}}
GOOD = {"content": [{"type": "text", "text": "good"}]}
LONG = 700.0
"""Past the time limit of a relayed call."""
ERAS = ("legacy", "modern")
INTERNAL = -32603


class Street:
    """A house with a bad server and a healthy one, and a client of either era at the bad one."""

    def __init__(self, era: Any, script: Callable[[Turn], Any]) -> None:
        self.neighbour = Neighbour()
        self.bad = ScriptedBackend(era, {"tools/call": script})
        self.house = House({"bad": self.bad, "good": self.neighbour.backend})
        self.client: LegacyClient | ModernClient = self.house.modern_client(PATH)

    async def start(self, token: str | None = None) -> AsgiAnswer:
        meta = {} if token is None else {"progressToken": token}
        if isinstance(self.client, LegacyClient):
            answer = self.client.start("tools/call", CALL | {"_meta": meta})
        else:
            answer = self.client.start("tools/call", CALL, meta=meta)
        await self.bad.saw("tools/call")
        await let_run()
        return answer

    async def past_the_limit(self) -> None:
        await self.house.clock.advance(LONG)

    async def works(self) -> None:
        """The next call of the same client is answered."""
        found = await self.client.result("tools/call", CALL)
        assert found["content"] == GOOD["content"]


@pytest.fixture(params=ERAS)
def front(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=ERAS)
def behind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


Open = Callable[[Callable[[Turn], Any]], Any]


@pytest.fixture
async def street(front: str, behind: str) -> AsyncIterator[Open]:
    """Opens a street whose bad server does what the script says the first time, and is good from then on."""
    opened: list[Street] = []

    async def open_street(script: Callable[[Turn], Any]) -> Street:
        calls = 0

        def once(turn: Turn) -> Any:
            nonlocal calls
            calls += 1
            return script(turn) if calls == 1 else GOOD

        street = Street(behind, once)
        opened.append(street)
        if front == "legacy":
            street.client = await street.house.legacy_client(PATH)
        return street

    yield open_street
    for one in opened:
        await one.house.close()


def fault(answer: AsgiAnswer, reason: str) -> Json:
    """The error an answer must be: ours, under its code, naming the server, and with evidence where nobody knows the
    outcome."""
    error: Json = response_of(answer)["error"]
    assert error["code"] == INTERNAL, error
    data = dict(error["data"])
    assert ("evidence" in data) == (reason == "outcome_unknown"), error
    data.pop("evidence", None)
    assert data == {"reason": reason, "server": "bad"}, error
    return error


def at_request(turn: Turn, body: str) -> Text:
    """A message with the id of the request and a rest of the test's choice."""
    return Text(b'{"jsonrpc":"2.0","id":' + json.dumps(turn.id).encode() + b"," + body.encode() + b"}")


# --- rubbish


RUBBISH: dict[str, bytes] = {
    "words": b"listening on port 3000",
    "half of an object": b'{"jsonrpc":"2.0","id":',
    "broken UTF-8": b'{"jsonrpc":"2.0","method":"\xff\xfe"}',
    "a number": b"42",
    "an empty batch": b"[]",
    "too deep": b"[" * 5000 + b"]" * 5000,
    "neither request nor answer": b'{"jsonrpc":"2.0"}',
    "an answer to a request of the wrong type": b'{"jsonrpc":"2.0","id":{"a":1},"result":{}}',
    "an error to nobody": b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}',
    "a request of a method we do not have": b'{"jsonrpc":"2.0","id":"x","method":"sampling/createMessage","params":{}}',
}


@pytest.mark.parametrize("rubbish", RUBBISH.values(), ids=RUBBISH.keys())
async def test_rubbish_before_an_answer_costs_the_call_nothing(street: Open, rubbish: bytes) -> None:
    def script(turn: Turn) -> Answer:
        turn.say(rubbish)
        return GOOD

    one = await street(script)
    async with one.neighbour.busy(one.house):
        answer = await one.start()
        assert response_of(await answer.done())["result"]["content"] == GOOD["content"]
        await one.works()


MISSHAPEN: dict[str, str] = {
    "a result that is no object": '"result":5',
    "a result of null": '"result":null',
    "a result that is too deep": '"result":' + "[" * 100 + "]" * 100,
    "a result and an error": '"result":{},"error":{"code":1,"message":"oops"}',
    "neither": '"nothing":true',
}


@pytest.mark.parametrize("body", MISSHAPEN.values(), ids=MISSHAPEN.keys())
async def test_an_answer_of_the_wrong_shape_is_a_violation_and_is_told_at_once(street: Open, body: str) -> None:
    one = await street(lambda turn: at_request(turn, body))
    async with one.neighbour.busy(one.house):
        answer = await (await one.start()).done()
        error = response_of(answer)["error"]
        assert (error["code"], error["data"]["reason"]) == (INTERNAL, "backend_violation"), error
        await one.works()


@pytest.mark.parametrize("error", ['"oops"', '{"message":"oops"}', '{"code":"x","message":"oops"}'])
async def test_an_error_of_the_wrong_shape_is_an_error_all_the_same(street: Open, error: str) -> None:
    one = await street(lambda turn: at_request(turn, f'"error":{error}'))
    answer = await (await one.start()).done()
    told = response_of(answer)["error"]
    assert told["code"] == INTERNAL
    assert "malformed" in told["message"]
    await one.works()


async def test_an_answer_without_a_version_is_a_violation(street: Open) -> None:
    one = await street(lambda turn: Text(b'{"id":' + json.dumps(turn.id).encode() + b',"result":{"content":[]}}'))
    answer = await (await one.start()).done()
    assert response_of(answer)["error"]["data"]["reason"] == "backend_violation"
    await one.works()


# --- never, late, twice, to somebody else


async def test_a_server_that_never_answers_is_a_timeout_and_is_told_that_nobody_waits(street: Open) -> None:
    one = await street(lambda turn: SILENT)
    async with one.neighbour.busy(one.house):
        answer = await one.start()
    await one.past_the_limit()
    error = fault(await answer.done(), "backend_timeout")
    assert "600 s" in error["message"]
    await let_run()
    assert len(one.bad.cancelled) == 1
    await one.works()


async def test_an_answer_that_comes_too_late_is_nobodys(street: Open) -> None:
    when = asyncio.Event()
    one = await street(lambda turn: Late({"content": [{"type": "text", "text": "late"}]}, when))
    answer = await one.start()
    await one.past_the_limit()
    fault(await answer.done(), "backend_timeout")
    when.set()
    await let_run()
    await one.works()
    assert b"late" not in answer.body


async def test_a_second_answer_is_nobodys(street: Open) -> None:
    one = await street(lambda turn: Twice({"content": [{"type": "text", "text": "once"}]}))
    async with one.neighbour.busy(one.house):
        answer = await (await one.start()).done()
        assert answer.body.count(b"once") == 1
        await one.works()


async def test_an_answer_under_a_wrong_id_answers_nobody(street: Open) -> None:
    one = await street(lambda turn: WrongId({"content": [{"type": "text", "text": "wrong"}]}))
    async with one.neighbour.busy(one.house):
        answer = await one.start()
        assert not answer.complete
        await one.works()
    await one.past_the_limit()
    fault(await answer.done(), "backend_timeout")
    assert b"wrong" not in answer.body


async def test_an_id_of_the_right_digits_and_the_wrong_type_answers_nobody(street: Open) -> None:
    def script(turn: Turn) -> Answer:
        digits = "".join(char for char in str(turn.id) if char.isdigit())
        return Text(b'{"jsonrpc":"2.0","id":' + digits.encode() + b',"result":{"content":[]}}')

    one = await street(script)
    answer = await one.start()
    assert not answer.complete
    await one.past_the_limit()
    fault(await answer.done(), "backend_timeout")


# --- gone


async def test_a_server_that_goes_away_in_the_middle_leaves_the_outcome_unknown_and_is_reached_again(
    street: Open,
) -> None:
    one = await street(lambda turn: EXIT)
    async with one.neighbour.busy(one.house):
        answer = await (await one.start()).done()
        error = fault(answer, "outcome_unknown")
        assert "exited with code 1" in error["message"]
        assert one.bad.methods().count("tools/call") == 1, "nothing is called twice"
        await one.works()
        assert len([c for c in one.bad.connections if c.channel is not None]) >= 1


# --- floods

FLOOD = 20_000


@pytest.mark.parametrize("token", ["mine", None])
async def test_a_flood_of_progress_is_bounded_and_the_answer_comes_through(street: Open, token: str | None) -> None:
    def script(turn: Turn) -> Answer:
        known = turn.meta.get("progressToken", "nobody's")
        for number in range(FLOOD):
            turn.notify("notifications/progress", {"progressToken": known, "progress": number})
        return GOOD

    one = await street(script)
    async with one.neighbour.busy(one.house):
        answer = await (await one.start(token)).done()
        assert response_of(answer)["result"]["content"] == GOOD["content"]
        told = [event for event in answer.events if "method" in event] if token else []
        assert len(told) < 1_000, "what was not written yet is replaced by what is newer"
        if told:
            assert told[-1]["params"] == {"progressToken": token, "progress": FLOOD - 1}
        await one.works()


async def test_a_flood_of_log_lines_and_changes_while_nobody_reads_costs_bounded_memory(street: Open) -> None:
    def script(turn: Turn) -> Answer:
        for number in range(20_000):
            turn.notify("notifications/message", {"level": "error", "data": f"line {number}"})
            turn.notify("notifications/tools/list_changed")
            turn.notify("notifications/resources/updated", {"uri": f"file:///{number}"})
        return GOOD

    one = await street(script)
    async with one.neighbour.busy(one.house):
        answer = await (await one.start()).done()
        assert response_of(answer)["result"]["content"] == GOOD["content"]
        assert len(answer.body) < 2**20
        await one.works()


async def test_a_flood_of_requests_is_refused_as_far_as_it_is_bounded(street: Open) -> None:
    asked = 2 * MAX_COURTESIES

    def script(turn: Turn) -> Answer:
        for number in range(asked):
            turn.say(
                json.dumps({"jsonrpc": "2.0", "id": number, "method": "elicitation/create", "params": {}}).encode()
            )
        return GOOD

    one = await street(script)
    async with one.neighbour.busy(one.house):
        answer = await (await one.start()).done()
        assert response_of(answer)["result"]["content"] == GOOD["content"]
        await let_run()
        refused = [message for message in one.bad.received if not hasattr(message, "method")]
        assert len(refused) == MAX_COURTESIES
        await one.works()


async def test_rubbish_is_logged_without_what_it_said_in_full(street: Open, caplog: pytest.LogCaptureFixture) -> None:
    def script(turn: Turn) -> Answer:
        turn.say(b"x" * 10_000)
        return GOOD

    caplog.set_level(logging.DEBUG)
    one = await street(script)
    await (await one.start()).done()
    told = [record for record in caplog.records if record.getMessage() == "backend_sent_rubbish"]
    assert len(told) == 1
    assert len(str(told[0].__dict__["data"])) < 400
