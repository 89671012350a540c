"""Two principals, one server, two hundred questions of each at the same time: no question, answer, log line or event of
one reaches the other. Each carries a mark, and everything that each side received is searched for the other's."""

from __future__ import annotations

import asyncio
import logging
import random
import re
from typing import Any

import pytest

from emceepee.backends.definition import Affinity
from emceepee.front.exchange import Exchange, header
from emceepee.protocol.messages import Failure, Result
from tests.conversations.asked import HttpAsked
from tests.conversations.house import House, Json, LegacyClient, ModernClient, let_run, response_of
from tests.conversations.meta_client import MetaClient, read_told
from tests.conversations.test_asks import said_of
from tests.support.asgi_client import AsgiAnswer, AsgiClient
from tests.support.scripted_backend import ScriptedBackend, Turn

PATH = "/servers/shop/mcp"
ABLE: Json = {"elicitation": {"form": {}}, "sampling": {}}
MARK = re.compile(r"\b(ann|bob)-\w+-\d+\b")
SESSIONS, EACH, HELD, BY_TOOLS = 7, 20, 20, 60
"""Of one principal: legacy sessions and the calls of each, calls of a modern client (where the stream says whose a
question is), calls of a client of the tools."""

PER_PRINCIPAL = SESSIONS * EACH + HELD + BY_TOOLS


def who_says(exchange: Exchange) -> str:
    return header(exchange.headers, b"x-test-principal") or "local"


def tool(beside: bool, chance: random.Random) -> Any:
    """Asks with its caller's mark, says it in a log line and in progress, and answers with what it was answered."""

    async def call(turn: Turn) -> Any:
        mark = turn.params["arguments"]["mark"]
        form = {"type": "object", "properties": {"mark": {"type": "string"}}}
        await pause(chance)
        turn.notify("notifications/message", {"level": "error", "data": f"log of {mark}"})
        ask = {"message": f"question of {mark}", "requestedSchema": form}
        answer = said_of(await turn.ask("elicitation/create", ask, f"ask {mark}", beside))
        await pause(chance)
        return {"content": [{"type": "text", "text": f"result of {mark}"}], "structuredContent": {"answer": answer}}

    return call


async def pause(chance: random.Random) -> None:
    for _ in range(chance.randrange(12)):
        await asyncio.sleep(0)


class _Named(AsgiClient):
    """Says who it is with every request."""

    name = ""

    def start(self, method: str, headers: Any, body: bytes | None, path: str | None = None) -> AsgiAnswer:
        pairs = list(headers.items()) if isinstance(headers, dict) else headers
        return super().start(method, [*pairs, ("x-test-principal", self.name)], body, path)


class Person:
    """One principal's clients; `seen` is all that they were sent."""

    def __init__(self, house: House, name: str, chance: random.Random) -> None:
        self.house = house
        self.name = name
        self.chance = chance
        self.seen: list[str] = []
        self.results: dict[str, Any] = {}
        self.replies: list[asyncio.Future[None]] = []
        self.others: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def http(self, path: str) -> AsgiClient:
        client = _Named(self.house.gateway.front, path)
        client.name = self.name
        self.house._clients.append(client)
        return client

    async def legacy(self, path: str, **capabilities: Any) -> LegacyClient:
        client = LegacyClient(self.http(path), "2025-11-25")
        await client.hello(capabilities=capabilities)
        return client

    async def told(self, answer: AsgiAnswer) -> Json:
        """All of it, however long a busy machine takes."""
        assert answer.task is not None
        await asyncio.wait([answer.task])
        self.seen.append(answer.body.decode())
        return response_of(answer)

    async def everything(self, held: int) -> None:
        calls = [self._natively(await self.legacy(PATH, **ABLE), f"n{number}") for number in range(SESSIONS)]
        modern = ModernClient(self.http(PATH), ABLE)
        sent_away = [self._held(modern, f"{self.name}-held-{number}") for number in range(held)]
        self.others = asyncio.gather(*calls, *sent_away)
        await asyncio.gather(self.others, self._by_tools())
        await asyncio.gather(*self.replies)

    async def _natively(self, client: LegacyClient, label: str) -> None:
        get = await client.get()
        asked = HttpAsked(client)
        await asyncio.gather(*(self._native_call(asked, f"{self.name}-{label}-{n}") for n in range(EACH)))
        self.seen.append(get.body.decode())
        get.leave()

    async def _native_call(self, asked: HttpAsked, mark: str) -> None:
        call = asked.call("paint", arguments={"mark": mark})
        serving = asyncio.ensure_future(self._serve(asked, call))
        self.results[mark] = (await self.told(call))["result"]
        serving.cancel()
        self._reply_to(asked, call)

    async def _serve(self, asked: HttpAsked, call: AsgiAnswer) -> None:
        """Whichever question comes on this stream, by its own mark: a guess may have put another one here."""
        while True:
            call._changed.clear()
            self._reply_to(asked, call)
            await call._changed.wait()

    def _reply_to(self, asked: HttpAsked, call: AsgiAnswer) -> None:
        for ask in asked.unanswered(call):
            # Its own task: the call may end while another one's question is answered.
            self.replies.append(asyncio.ensure_future(self._reply(asked, ask)))

    async def _reply(self, asked: HttpAsked, ask: Json) -> None:
        await pause(self.chance)
        answer = asked.client.post({"id": ask["id"], "result": answer_to(ask["params"]["message"])})
        assert answer.task is not None
        await asyncio.wait([answer.task])
        assert answer.status == 202

    async def _held(self, client: ModernClient, mark: str) -> None:
        params: Json = {"name": "paint", "arguments": {"mark": mark}}
        again = params
        while True:
            response = await self.told(client.start("tools/call", again))
            if response["result"]["resultType"] != "input_required":
                break
            asks = response["result"]["inputRequests"]
            answers = {key: answer_to(ask["params"]["message"]) for key, ask in asks.items()}
            again = params | {"inputResponses": answers, "requestState": response["result"]["requestState"]}
        self.results[mark] = response["result"]

    async def _by_tools(self) -> None:
        client = MetaClient(await self.legacy("/mcp"))
        marks = [f"{self.name}-tools-{number}" for number in range(BY_TOOLS)]
        calls = [client.start("execute_tool", server="shop", tool="paint", args={"mark": mark}) for mark in marks]
        tasks = {}
        for mark, call in zip(marks, calls, strict=True):
            tasks[mark] = read_told(await self.told(call)).own[0]["task"]["taskId"]
        # A guess may have put another call's question here, so this goes on as long as any of them.
        while tasks or not self.others.done():
            for ask in (await self._own(client, "get_elicitations"))["elicitations"]:
                answer = answer_to(ask["params"]["message"])
                await self.told(client.start("respond_to_elicitation", request_id=ask["requestId"], **answer))
            await let_run()
            if not tasks:
                continue
            mark, task = next(iter(tasks.items()))
            got = client.start("get_task_result", task_id=task, timeout_ms=0)
            result = (await self.told(got))["result"]
            if "structuredContent" in result:
                self.results[mark] = result
                del tasks[mark]
        for rest in ("get_logs", "get_notifications", "await_activity"):
            arguments = {"since_event_id": "0" * 26, "timeout_ms": 0} if rest == "await_activity" else {"limit": 5000}
            await self.told(client.start(rest, **arguments))

    async def _own(self, client: MetaClient, tool: str) -> Json:
        found: Json = read_told(await self.told(client.start(tool))).own[0]
        return found


def answer_to(message: str) -> Json:
    found = MARK.search(message)
    assert found is not None, message
    return {"action": "accept", "content": {"mark": found[0]}}


@pytest.mark.shows("X-BUG-68", "EB-E17")
@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("affinity", ["workspace", "principal"])
async def test_nothing_of_one_reaches_the_other(
    affinity: Affinity, beside: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    chance = random.Random(7)  # noqa: S311 -- repeatable, not secret
    backend = ScriptedBackend(answers={"tools/call": tool(beside, chance)})
    house = House({"shop": backend}, affinity=affinity)
    house.gateway.front._identify = who_says
    people = [Person(house, name, chance) for name in ("ann", "bob")]
    each = PER_PRINCIPAL - (HELD if beside else 0)
    ticking = asyncio.ensure_future(tick(house))
    async with asyncio.timeout(60):
        await asyncio.gather(*(person.everything(0 if beside else HELD) for person in people))
    ticking.cancel()
    for person in people:
        told = "".join(person.seen)
        assert {found[1] for found in MARK.finditer(told)} == {person.name}
        assert len(person.results) == each
        for mark, result in person.results.items():
            assert result["structuredContent"] == {"answer": {"action": "accept", "content": {"mark": mark}}}
            assert result["content"][0]["text"] == f"result of {mark}"
    answers = {str(one.id): said_of(one) for one in backend.received if isinstance(one, Result | Failure)}
    assert len(answers) == 2 * each
    assert all(answer == answer_to(ask_id) for ask_id, answer in answers.items())
    assert (
        MARK.search("\n".join(record.getMessage() + str(record.__dict__.get("data")) for record in caplog.records))
        is None
    )
    load = house.gateway.load()
    assert (load["calls"], load["pending"], load["holds"]) == (0, 0, 0)
    await house.close()


async def tick(house: House) -> None:
    """Questions that come together are sent away together a little later."""
    while True:
        await let_run()
        await house.clock.advance(0.03)
