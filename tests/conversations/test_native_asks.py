"""What a legacy server asks reaches a legacy client as a request of ours on the stream of the call that it belongs to,
and the answer goes back under the server's own id."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from emceepee.protocol.messages import Failure, Result
from tests.conversations.asked import http_client
from tests.conversations.house import House, let_run, seen_by, wire
from tests.conversations.test_asks import FORM, SAMPLE, asker, said_of, shop
from tests.support.scripted_backend import Fail, ScriptedBackend, Turn

SHOP = "/servers/shop/mcp"
ACCEPT = {"action": "accept", "content": {"color": "red"}}
ALL: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
URL = {"mode": "url", "message": "Sign in", "url": "https://shop.example/in?t=1", "elicitationId": "e1"}
ROOTS = {"roots": [{"uri": "file:///work", "name": "work"}]}
WRITTEN = {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m-1", "stopReason": "endTurn"}


def answers_in(backend: ScriptedBackend) -> list[Any]:
    return [said_of(one) for one in backend.received if isinstance(one, Result | Failure)]


@pytest.mark.shows("X-CON-56", "X-GAP-05", "A-CON-11")
@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize(
    ("method", "params", "answer"),
    [
        ("elicitation/create", FORM, ACCEPT),
        ("elicitation/create", FORM | {"mode": "form"}, {"action": "decline"}),
        ("elicitation/create", URL, {"action": "accept"}),
        ("sampling/createMessage", SAMPLE, WRITTEN),
        ("roots/list", {}, ROOTS),
    ],
)
async def test_a_question_comes_on_the_calls_own_stream_and_nowhere_else(
    method: str, params: Any, answer: Any, beside: bool
) -> None:
    backend = shop(asker(method, params or {"_meta": {}}, beside))
    house = House({"shop": backend})
    client = await http_client(house, SHOP, **ALL)
    get = await client.client.get()
    call = client.call("paint")
    ask = await client.next_ask(call)
    assert ask["method"] == method
    token = ask["params"].pop("_meta")
    assert token == {"progressToken": ask["id"]}
    assert ask["params"] == params
    assert call.headers["content-type"].startswith("text/event-stream")
    await client.reply(ask, answer)
    assert (await client.result(call))["structuredContent"] == {"answers": [answer]}
    assert [event for event in get.events if "id" in event] == []
    assert ask["id"] not in str(seen_by(backend)), "our id stays on our connection"
    assert backend.methods().count("tools/call") == 1
    await house.close()


async def test_a_client_is_asked_what_it_declared_and_servers_are_told_so() -> None:
    backend = shop()
    house = House({"shop": backend})
    for capabilities, declared in (
        (ALL | {"roots": {"listChanged": True}}, ALL | {"roots": {"listChanged": True}}),
        ({"elicitation": {}, "sampling": {"tools": {}}}, {"elicitation": {"form": {}}, "sampling": {"tools": {}}}),
        ({}, {}),
        ({"experimental": {"x": {}}}, {}),
    ):
        client = await http_client(house, SHOP, **capabilities)
        call = client.call("paint")
        if "elicitation" in capabilities:
            await client.reply(await client.next_ask(call), ACCEPT)
        await client.result(call)
        assert wire(backend, "initialize")["capabilities"] == declared
        assert "elicitation/create was not declared" in str(answers_in(backend)[-1]) or "elicitation" in capabilities
    await house.close()


async def test_a_client_that_takes_no_events_and_listens_to_nothing_is_not_promised() -> None:
    backend = shop()
    house = House({"shop": backend})
    client = (await http_client(house, SHOP, **ALL)).client
    client.headers["accept"] = "application/json"
    result = await client.result("tools/call", {"name": "paint"})
    assert result["structuredContent"]["answers"][0]["code"] == -32601
    assert [one["capabilities"] for one in backend.params("initialize")][-1] == {}
    await house.close()


async def test_a_client_that_takes_no_events_is_asked_on_the_stream_that_it_listens_to() -> None:
    house = House({"shop": shop()})
    client = await http_client(house, SHOP, **ALL)
    get = await client.client.get()
    client.client.headers["accept"] = "application/json"
    call = client.call("paint")
    ask = await client.next_ask(get)
    client.client.headers.pop("accept")
    await client.reply(ask, ACCEPT)
    assert (await client.result(call))["structuredContent"] == {"answers": [ACCEPT]}
    await house.close()


async def test_an_error_of_the_client_is_the_servers_to_hear() -> None:
    house = House({"shop": shop(asker("sampling/createMessage"))})
    client = await http_client(house, SHOP, **ALL)
    call = client.call("paint")
    await client.refuse(await client.next_ask(call))
    refused = {"code": -1, "message": "User rejected sampling"}
    assert (await client.result(call))["structuredContent"] == {"answers": [refused]}
    await house.close()


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("elicitation/create", {"action": "yes"}),
        ("elicitation/create", {}),
        ("roots/list", {"roots": 3}),
    ],
)
async def test_what_is_no_answer_is_not_passed_on_as_one(method: str, answer: Any) -> None:
    house = House({"shop": shop(asker(method, {"message": "?", "requestedSchema": {}}))})
    client = await http_client(house, SHOP, **ALL)
    call = client.call("paint")
    await client.reply(await client.next_ask(call), answer)
    (told,) = (await client.result(call))["structuredContent"]["answers"]
    assert told["code"] == -32603
    assert "cannot be used" in told["message"]
    await house.close()


async def test_answers_that_nobody_waits_for_do_no_harm() -> None:
    backend = shop()
    house = House({"shop": backend})
    client, other = await http_client(house, SHOP, **ALL), await http_client(house, SHOP, **ALL)
    call = client.call("paint")
    ask = await client.next_ask(call)
    for stray in ({"id": "ask-99"}, {"id": 1}, {"id": "g1"}):
        await client.reply(stray, ACCEPT)
    await other.reply(ask, {"action": "decline"})
    assert answers_in(backend) == []
    await client.reply(ask, ACCEPT)
    await client.reply(ask, {"action": "decline"})
    assert (await client.result(call))["structuredContent"] == {"answers": [ACCEPT]}
    assert answers_in(backend) == [ACCEPT]
    await house.close()


@pytest.mark.shows("EB-E17")
async def test_only_the_session_whose_call_it_is_is_asked() -> None:
    house = House({"shop": shop()}, affinity="principal")
    mine, other = await http_client(house, SHOP, **ALL), await http_client(house, SHOP, **ALL)
    streams = [await one.client.get() for one in (mine, other)]
    call = mine.call("paint")
    ask = await mine.next_ask(call)
    await let_run()
    assert [other.asks(stream) for stream in streams] == [[], []]
    await mine.reply(ask, ACCEPT)
    await mine.result(call)
    await house.close()


@pytest.mark.shows("C-CAN-05", "EB-E11")
async def test_a_client_that_cancels_its_call_is_asked_no_more() -> None:
    backend = shop()
    house = House({"shop": backend})
    client = await http_client(house, SHOP, **ALL)
    call = client.call("paint", request_id="mine")
    ask = await client.next_ask(call)
    await client.client.tell("notifications/cancelled", {"requestId": "mine"})
    await call.done()
    (cancelled,) = [event for event in call.events if event.get("method") == "notifications/cancelled"]
    assert cancelled["params"]["requestId"] == ask["id"]
    assert answers_in(backend) == [{"action": "cancel"}]
    assert backend.cancelled
    await client.reply(ask, ACCEPT)
    assert answers_in(backend) == [{"action": "cancel"}]
    await house.close()


@pytest.mark.parametrize(
    ("method", "heard"),
    [
        ("elicitation/create", {"action": "cancel"}),
        ("sampling/createMessage", {"code": -1, "message": "The client cancelled this request"}),
        ("roots/list", {"code": -32603, "message": "The client cancelled this request"}),
    ],
)
async def test_a_client_may_cancel_what_it_is_asked(method: str, heard: Any) -> None:
    house = House({"shop": shop(asker(method, {"message": "?"}))})
    client = await http_client(house, SHOP, **ALL)
    call = client.call("paint")
    ask = await client.next_ask(call)
    await client.client.tell("notifications/cancelled", {"requestId": ask["id"]})
    assert (await client.result(call))["structuredContent"] == {"answers": [heard]}
    await house.close()


async def test_a_server_that_takes_its_question_back_takes_it_from_the_client() -> None:
    async def takes_back(turn: Turn) -> Any:
        asking = asyncio.ensure_future(turn.ask("elicitation/create", FORM, 7))
        await let_run()
        turn.notify("notifications/cancelled", {"requestId": 7, "reason": "too late"})
        await let_run()
        asking.cancel()
        return {"content": []}

    backend = shop(takes_back)
    house = House({"shop": backend})
    client = await http_client(house, SHOP, **ALL)
    call = client.call("paint")
    ask = await client.next_ask(call)
    await client.result(call)
    cancelled = [one["params"] for one in call.events if one.get("method") == "notifications/cancelled"]
    assert cancelled == [{"requestId": ask["id"], "reason": "cancelled by server"}]
    await client.reply(ask, ACCEPT)
    assert answers_in(backend) == []
    await house.close()


async def test_a_client_that_never_answers_is_given_ten_minutes_and_its_progress_more() -> None:
    backend = shop(asker(params=FORM | {"_meta": {"progressToken": "bp"}}))
    house = House({"shop": backend})
    client = await http_client(house, SHOP, **ALL)
    call = client.call("paint")
    ask = await client.next_ask(call)
    await house.clock.advance(599)
    for value in (1, 2, 2):
        await client.client.tell("notifications/progress", {"progressToken": ask["id"], "progress": value, "total": 3})
    await house.clock.advance(599)
    assert not call.complete
    assert backend.params("notifications/progress") == [
        {"progressToken": "bp", "progress": 1, "total": 3},
        {"progressToken": "bp", "progress": 2, "total": 3},
    ]
    await house.clock.advance(1)
    (told,) = (await client.result(call))["structuredContent"]["answers"]
    assert told == {"code": -32001, "message": "Elicitation request timed out after 600000ms"}
    assert [one for one in call.events if one.get("method") == "notifications/cancelled"]
    await house.close()


@pytest.mark.shows("EB-E12")
async def test_a_client_that_lost_its_stream_is_asked_when_it_comes_back_for_it() -> None:
    go_on = asyncio.Event()

    async def later(turn: Turn) -> Any:
        turn.progress(1)
        await go_on.wait()
        return await asker()(turn)

    backend = shop(later)
    house = House({"shop": backend})
    client = await http_client(house, SHOP, **ALL)
    call = client.call("paint", _meta={"progressToken": 5})
    await call.until(lambda: b"progress" in call.body)
    last_id = [line[3:].strip() for line in call.body.decode().splitlines() if line.startswith("id:")][-1]
    call.leave()
    await let_run()
    go_on.set()
    await let_run()
    assert backend.cancelled == []
    headers = {**client.client.headers, "accept": "text/event-stream", "last-event-id": last_id}
    back = client.client.http.start("GET", headers, b"")
    ask = await client.next_ask(back)
    await client.reply(ask, ACCEPT)
    await back.until(lambda: "result" in (back.events or [{}])[-1])
    assert back.events[-1]["result"]["structuredContent"] == {"answers": [ACCEPT]}
    assert [event.get("id") for event in back.events].count(ask["id"]) == 1
    back.leave()
    await house.close()


async def test_several_questions_at_once_are_answered_in_any_order() -> None:
    async def several(turn: Turn) -> Any:
        forms = [FORM | {"message": str(n)} for n in range(5)]
        asking = [turn.ask("elicitation/create", form, n) for n, form in enumerate(forms)]
        return {
            "content": [],
            "structuredContent": {"answers": [said_of(one) for one in await asyncio.gather(*asking)]},
        }

    house = House({"shop": shop(several)})
    client = await http_client(house, SHOP, **ALL)
    call = client.call("paint")
    asks = [await client.next_ask(call) for _ in range(5)]
    for ask in reversed(asks):
        await client.reply(ask, {"action": "accept", "content": {"color": ask["params"]["message"]}})
    answers = (await client.result(call))["structuredContent"]["answers"]
    assert [one["content"]["color"] for one in answers] == ["0", "1", "2", "3", "4"]
    await house.close()


@pytest.mark.parametrize("ending", ["exit", "delete"])
async def test_whoever_goes_away_the_other_side_hears_of_it(ending: str) -> None:
    backend = shop()
    house = House({"shop": backend})
    client = await http_client(house, SHOP, **ALL)
    call = client.call("paint")
    ask = await client.next_ask(call)
    if ending == "exit":
        backend.exit()
        await call.done()
        assert [one["params"]["requestId"] for one in call.events if "method" in one and "cancel" in one["method"]] == [
            ask["id"]
        ]
        assert call.events[-1]["error"]["data"]["reason"] == "outcome_unknown"
    else:
        await client.client.delete()
        await let_run()
        assert answers_in(backend) == [{"code": -32603, "message": "The client is gone"}]
        assert backend.cancelled
    await house.close()


@pytest.mark.shows("EB-D7")
async def test_a_question_that_belongs_to_no_call_is_refused() -> None:
    backend = shop()
    house = House({"shop": backend})
    client = await http_client(house, SHOP, **ALL)
    await client.client.result("tools/list")
    get = await client.client.get()
    backend.ask("elicitation/create", FORM, 1)
    backend.ask("sampling/createMessage", SAMPLE, 2)
    await let_run()
    assert [one["code"] for one in answers_in(backend)] == [-32602, -32602]
    assert client.asks(get) == []
    await house.close()


async def test_addresses_are_told_as_done_to_whoever_was_sent_there() -> None:
    async def sends_there(turn: Turn) -> Any:
        answer = said_of(await turn.ask("elicitation/create", URL))
        turn.connection.notify("notifications/elicitation/complete", {"elicitationId": "e1"})
        turn.connection.notify("notifications/elicitation/complete", {"elicitationId": "e2"})
        await let_run()
        return {"content": [], "structuredContent": answer}

    house = House({"shop": shop(sends_there)}, affinity="principal")
    client, other = await http_client(house, SHOP, **ALL), await http_client(house, SHOP, **ALL)
    get = await other.client.get()
    call = client.call("paint")
    await client.reply(await client.next_ask(call), {"action": "accept"})
    await client.result(call)
    done = [one["params"] for one in call.events if one.get("method") == "notifications/elicitation/complete"]
    assert done == [{"elicitationId": "e1"}]
    assert "elicitation/complete" not in str(get.events)
    await house.close()


NEEDED = {"elicitations": [URL]}


async def test_an_error_that_names_addresses_is_relayed_to_who_can_go_there_and_told_in_words_to_who_cannot() -> None:
    backend = shop(lambda turn: Fail(-32042, "Sign in first", NEEDED))
    house = House({"shop": backend})
    able, unable = await http_client(house, SHOP, **ALL), await http_client(house, SHOP, "2025-06-18", elicitation={})
    error = (await able.client.call("tools/call", {"name": "paint"}))["error"]
    assert (error["code"], error["data"]) == (-32042, NEEDED)
    get = await able.client.get()
    backend.connections[0].notify("notifications/elicitation/complete", {"elicitationId": "e1"})
    await get.until(lambda: "e1" in str(get.events))
    result = await unable.client.result("tools/call", {"name": "paint"})
    assert result["isError"] is True
    assert "Sign in: https://shop.example/in?t=1" in result["content"][0]["text"]
    await house.close()


async def test_who_answered_stands_in_the_log_and_what_was_said_does_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "emceepee.relay")
    house = House({"shop": shop()})
    client = await http_client(house, SHOP, **ALL)
    call = client.call("paint")
    await client.reply(await client.next_ask(call), ACCEPT)
    await client.result(call)
    (told,) = [record.__dict__["data"] for record in caplog.records if record.getMessage() == "ask_answered"]
    assert told == {"server": "shop", "kind": "elicitation", "by": "native", "how": "accept"}
    assert "colour" not in caplog.text
    await house.close()
