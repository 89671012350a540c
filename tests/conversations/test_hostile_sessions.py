"""Clients careless or curious with sessions, ids, tokens and cancellations: nothing crosses, nothing is left."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.conversations.house import House, LegacyClient, let_run, response_of
from tests.support.asgi_client import AsgiAnswer
from tests.support.scripted_backend import ECHO, ScriptedBackend, Turn

PATH = "/servers/files/mcp"
PATHS = ("/mcp", PATH, "/direct/mcp")
ECHO_CALL = {"name": "echo", "arguments": {}}


class Slow:
    """A tool that tells its caller's mark by progress and log, waits, and says it again as its result."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.cancelled: list[Any] = []
        self.begun = 0

    async def __call__(self, turn: Turn) -> dict[str, Any]:
        self.begun += 1
        mark = turn.params.get("arguments", {}).get("text", "none")
        if "progressToken" in turn.meta:
            turn.progress(1, message=mark)
        turn.notify("notifications/message", {"level": "error", "data": mark})
        await self.go.wait()
        return {"content": [{"type": "text", "text": mark}]}

    def backend(self, era: str = "legacy") -> ScriptedBackend:
        return ScriptedBackend(era, {"tools/call": self}, tools=[ECHO])  # type: ignore[arg-type]


def call_with(mark: str, token: Any = None) -> dict[str, Any]:
    said = {"name": "echo", "arguments": {"text": mark}}
    return said if token is None else said | {"_meta": {"progressToken": token}}


async def begun(slow: Slow, count: int) -> None:
    async with asyncio.timeout(5):
        while slow.begun < count:
            await let_run()


def wire_of(*answers: AsgiAnswer) -> str:
    return json.dumps([[answer.body.decode(), answer.events] for answer in answers])


@pytest.mark.parametrize("opened", PATHS)
async def test_a_session_of_one_surface_is_unknown_on_every_other(opened: str) -> None:
    house = House({"files": ScriptedBackend()})
    client = await house.legacy_client(opened)
    for path in PATHS:
        stranger = LegacyClient(house.http(path), client.revision)
        stranger.headers = client.headers
        status = (await stranger.start("ping").done()).status
        assert status == (200 if path == opened else 404), path
        if path != opened:
            assert (await stranger.delete()).status == 404
            assert (await stranger.http.start("GET", {**client.headers, "accept": "*/*"}, b"").done()).status == 404
    assert (await client.call("ping"))["result"] == {}
    await house.close()


@pytest.mark.shows("EB-A13", "EB-F1")
@pytest.mark.parametrize("affinity", ["workspace", "shared"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_marks_of_two_sessions_never_cross_though_ids_and_tokens_are_equal(era: str, affinity: Any) -> None:
    slow = Slow()
    house = House({"files": slow.backend(era)}, affinity=affinity)
    clients = [await house.legacy_client(PATH), await house.legacy_client(PATH)]
    streams = [await client.get() for client in clients]
    calls = [
        client.start("tools/call", call_with(mark, token=1), request_id=7)
        for client, mark in zip(clients, ("ANNA", "BERT"), strict=True)
    ]
    await begun(slow, 2)
    slow.go.set()
    answers = [response_of(await answer.done()) for answer in calls]
    assert [answer["result"]["content"][0]["text"] for answer in answers] == ["ANNA", "BERT"]
    assert "BERT" not in wire_of(calls[0])
    assert "ANNA" not in wire_of(calls[1])
    assert "BERT" not in wire_of(streams[0])
    assert "ANNA" not in wire_of(streams[1])
    await house.close()


async def test_two_calls_of_one_session_with_the_same_token_each_end_once() -> None:
    slow = Slow()
    house = House({"files": slow.backend()})
    client = await house.legacy_client(PATH)
    calls = [client.start("tools/call", call_with(mark, token="t")) for mark in ("one", "two")]
    await begun(slow, 2)
    slow.go.set()
    answers = [response_of(await answer.done()) for answer in calls]
    assert [answer["result"]["content"][0]["text"] for answer in answers] == ["one", "two"]
    await house.close()


async def test_an_id_in_flight_is_refused_and_the_first_call_unharmed_and_its_text_form_is_another_id() -> None:
    slow = Slow()
    house = House({"files": slow.backend()})
    client = await house.legacy_client(PATH)
    first = client.start("tools/call", call_with("first"), request_id=1)
    await begun(slow, 1)
    again = response_of(await client.start("tools/call", call_with("again"), request_id=1).done())
    assert again["error"]["code"] == -32600
    assert response_of(await client.start("ping", request_id="1").done())["result"] == {}
    slow.go.set()
    assert response_of(await first.done())["result"]["content"][0]["text"] == "first"
    await house.close()


@pytest.mark.parametrize("params", [{}, {"requestId": None}, {"requestId": 1.5}, {"requestId": [1]}, {"requestId": 99}])
async def test_a_cancellation_of_nothing_is_taken_and_changes_nothing(params: Any) -> None:
    slow = Slow()
    house = House({"files": slow.backend()})
    client = await house.legacy_client(PATH)
    running = client.start("tools/call", call_with("x"), request_id=1)
    await begun(slow, 1)
    assert (await client.tell("notifications/cancelled", params)).status == 202
    slow.go.set()
    assert response_of(await running.done())["result"]["content"][0]["text"] == "x"
    await house.close()


async def test_nobody_cancels_the_call_of_another_session_by_its_id() -> None:
    slow = Slow()
    house = House({"files": slow.backend()})
    client, stranger = await house.legacy_client(PATH), await house.legacy_client(PATH)
    running = client.start("tools/call", call_with("x"), request_id=1)
    await begun(slow, 1)
    for _ in range(3):
        await stranger.tell("notifications/cancelled", {"requestId": 1})
    slow.go.set()
    assert response_of(await running.done())["result"]["content"][0]["text"] == "x"
    await house.close()


async def test_a_session_deleted_while_calls_run_calls_them_off_and_leaves_nothing() -> None:
    slow = Slow()
    backend = slow.backend()
    house = House({"files": backend})
    client = await house.legacy_client(PATH)
    stream = await client.get()
    calls = [client.start("tools/call", call_with(str(number))) for number in range(20)]
    await begun(slow, 20)
    assert (await client.delete()).status == 204
    for answer in (*calls, stream):
        await answer.done()
    assert all("result" not in answer.body.decode() for answer in calls)
    await let_run()
    gateway = house.gateway
    assert (len(gateway.directory), len(gateway.pool), gateway.pool.handles, len(gateway.middle.watch)) == (0, 0, 0, 0)
    assert len(gateway.middle.listing) == 0
    assert (await client.start("ping").done()).status == 404
    await house.close()


async def test_one_standing_stream_at_a_time_and_another_after_it_was_closed() -> None:
    house = House({"files": ScriptedBackend()})
    client = await house.legacy_client(PATH)
    for _ in range(3):
        stream = await client.get()
        assert stream.status == 200
        assert (await client.get()).status == 409
        stream.leave()
        await let_run()
    await house.close()


async def test_many_hellos_at_once_are_many_sessions_and_one_process_behind_each() -> None:
    house = House({"files": ScriptedBackend()})
    clients = await asyncio.gather(*(house.legacy_client(PATH) for _ in range(50)))
    assert len({client.headers["mcp-session-id"] for client in clients}) == 50
    assert len(house.gateway.pool) == 50
    await asyncio.gather(*(client.delete() for client in clients))
    await let_run()
    assert (len(house.gateway.directory), len(house.gateway.pool)) == (0, 0)
    await house.close()


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
async def test_a_hostile_batch_is_answered_member_by_member(revision: str) -> None:
    house = House({"files": ScriptedBackend()})
    client = await house.legacy_client(PATH, revision)
    ping = {"jsonrpc": "2.0", "method": "ping"}
    batch = [ping | {"id": 1}, ping | {"id": 1}, ping | {"id": "1"}, 5, [], {}, ping | {"id": None}, ping]
    batch.append({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": {}})
    answer = await client.post(batch).done()  # type: ignore[arg-type]
    said = answer.json
    assert isinstance(said, list)
    assert sum("result" in one for one in said) >= 2
    assert [one["error"]["code"] for one in said if one.get("id") == 9] == [-32600]
    assert all(one["error"]["code"] in (-32600, -32602) for one in said if "error" in one)
    assert (await client.call("ping"))["result"] == {}
    await house.close()


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
async def test_a_batch_of_a_later_revision_is_refused_and_nothing_in_it_is_done(revision: str) -> None:
    backend = ScriptedBackend()
    house = House({"files": backend})
    client = await house.legacy_client(PATH, revision)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ECHO_CALL}
    answer = await client.post([call]).done()
    assert (answer.status, answer.json["error"]["code"]) == (400, -32600)
    assert "tools/call" not in backend.methods()
    await house.close()


async def test_listening_again_and_again_leaves_no_listener() -> None:
    house = House({"files": ScriptedBackend("modern")})
    modern = house.modern_client(PATH)
    for _ in range(100):
        stream = await modern.listen(toolsListChanged=True)
        stream.leave()
        await let_run()
    assert (len(house.gateway.middle.watch), house.gateway.front.modern.listens) == (0, 0)
    await house.close()


async def test_many_modern_clients_listen_at_once_though_they_are_one_principal() -> None:
    house = House({"files": ScriptedBackend("modern")})
    streams = [await house.modern_client(PATH).listen(toolsListChanged=True) for _ in range(200)]
    house.backends["files"].notify("notifications/tools/list_changed")
    for stream in streams:
        await stream.until(lambda stream=stream: len(stream.events) == 2)  # type: ignore[misc]
    await house.close()
