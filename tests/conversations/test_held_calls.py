"""A modern client in front of a legacy server that asks: it is sent away with the question, and its call is held."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from emceepee.config.settings import DEFAULTS, Timeouts
from emceepee.protocol.messages import Failure, Request, Result
from tests.conversations.house import House, Json, ModernClient, let_run, response_of, wire
from tests.conversations.test_asks import FORM, asker, said_of
from tests.support.scripted_backend import SILENT, ScriptedBackend, notification

ABLE: Json = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
CALL: Json = {"name": "paint", "arguments": {"n": 1}}
ACCEPT: Json = {"action": "accept", "content": {"color": "red"}}


def shop(call: Any = None) -> ScriptedBackend:
    return ScriptedBackend(answers={"tools/call": call or asker()})


def house_of(backend: ScriptedBackend) -> tuple[House, ModernClient]:
    house = House({"shop": backend})
    return house, house.modern_client("/servers/shop/mcp", ABLE)


async def sent_away(house: House, client: ModernClient, params: Json = CALL) -> Json:
    """A call whose server asks, and what its client was told."""
    started = client.start("tools/call", params)
    await let_run()
    await house.clock.advance(0.03)
    found: Json = (await started.done()).json["result"]
    assert found["resultType"] == "input_required", found
    return found


def back(told: Json, answers: Json, params: Json = CALL) -> Json:
    return params | {"requestState": told["requestState"], "inputResponses": answers}


def heard(backend: ScriptedBackend) -> list[Any]:
    return [(m.id, said_of(m)) for m in backend.received if isinstance(m, Result | Failure)]


@pytest.mark.shows("EB-C1")
async def test_a_question_is_answered_by_calling_again() -> None:
    backend = shop(asker(params=FORM | {"elicitationId": "e", "_meta": {"progressToken": "t"}}))
    house, client = house_of(backend)
    told = await sent_away(house, client)
    assert told["requestState"].startswith("g1.")
    ((key, request),) = told["inputRequests"].items()
    assert request == {"method": "elicitation/create", "params": {"mode": "form"} | FORM}
    result = await client.result("tools/call", back(told, {key: ACCEPT}))
    assert result["resultType"] == "complete"
    assert result["structuredContent"] == {"answers": [ACCEPT]}
    assert backend.methods().count("tools/call") == 1
    assert [answer for _, answer in heard(backend)] == [ACCEPT]
    assert wire(backend, "tools/call")["arguments"] == {"n": 1}
    assert not wire(backend, "tools/call").keys() & {"requestState", "inputResponses"}
    await house.close()


@pytest.mark.shows("EB-C2")
async def test_five_questions_at_once_on_one_session_are_not_swapped() -> None:
    async def call(turn: Any) -> Json:
        answer = await turn.ask("elicitation/create", FORM | {"message": str(turn.id)}, f"ask-{turn.id}")
        number = turn.params["arguments"]["n"]
        return {"content": [], "structuredContent": {"n": number, "heard": said_of(answer)}}

    backend = shop(call)
    house, client = house_of(backend)
    calls: list[Json] = [CALL | {"arguments": {"n": n}} for n in range(5)]
    started = [client.start("tools/call", one) for one in calls]
    await let_run()
    await house.clock.advance(0.03)
    told = [(await one.done()).json["result"] for one in started]
    backs = []
    for number in (3, 0, 4, 1, 2):
        (key,) = told[number]["inputRequests"]
        answer = ACCEPT | {"content": {"n": number}}
        backs.append((number, answer, client.start("tools/call", back(told[number], {key: answer}, calls[number]))))
    for number, answer, one in backs:
        assert (await one.done()).json["result"]["structuredContent"] == {"n": number, "heard": answer}
    declared = [hello["capabilities"] for hello in backend.params("initialize") if hello["capabilities"]]
    assert len(declared) == 1
    assert len({ask for ask, _ in heard(backend)}) == 5
    await house.close()


async def asks_two(turn: Any) -> Json:
    asking = [turn.ask("elicitation/create", FORM | {"message": str(n)}, f"ask-{n}") for n in range(2)]
    answers = [said_of(one) for one in await asyncio.gather(*asking)]
    return {"content": [], "structuredContent": {"answers": answers}}


@pytest.mark.shows("EB-C3")
async def test_several_questions_may_be_answered_one_by_one() -> None:
    backend = shop(asks_two)
    house, client = house_of(backend)
    told = await sent_away(house, client)
    first, second = told["inputRequests"]
    rest = await sent_away(house, client, back(told, {first: ACCEPT}))
    assert rest["inputRequests"] == {second: told["inputRequests"][second]}
    assert heard(backend) == [("ask-0", ACCEPT)]
    other: Json = {"action": "decline"}
    result = await client.result("tools/call", back(rest, {second: other}))
    assert result["structuredContent"] == {"answers": [ACCEPT, other]}
    await house.close()


@pytest.mark.shows("EB-C4", "EB-C7")
async def test_one_question_after_the_other_makes_rounds_and_an_earlier_one_is_told_what_is_asked_now() -> None:
    async def twice(turn: Any) -> Json:
        answers = [said_of(await turn.ask("elicitation/create", FORM, f"ask-{n}")) for n in range(2)]
        return {"content": [], "structuredContent": {"answers": answers}}

    backend = shop(twice)
    house, client = house_of(backend)
    first = await sent_away(house, client)
    (one,) = first["inputRequests"]
    second = await sent_away(house, client, back(first, {one: ACCEPT}))
    (two,) = second["inputRequests"]
    assert one != two
    assert first["requestState"] != second["requestState"]
    assert await client.result("tools/call", back(first, {one: {"action": "decline"}})) == second
    assert [answer for _, answer in heard(backend)] == [ACCEPT]
    result = await client.result("tools/call", back(second, {two: ACCEPT}))
    assert result["structuredContent"] == {"answers": [ACCEPT, ACCEPT]}
    await house.close()


@pytest.mark.shows("EB-C5")
async def test_who_lost_the_end_is_told_it_again_for_two_minutes() -> None:
    backend = shop()
    house, client = house_of(backend)
    told = await sent_away(house, client)
    (key,) = told["inputRequests"]
    once = await client.result("tools/call", back(told, {key: ACCEPT}))
    await house.clock.advance(119)
    answer = await client.start("tools/call", back(told, {key: ACCEPT}), request_id="again").done()
    assert answer.json == {"jsonrpc": "2.0", "id": "again", "result": once}
    assert len(heard(backend)) == 1
    await house.clock.advance(1)
    assert await refused(client, back(told, {key: ACCEPT})) == (400, -32602, "Invalid or expired requestState", None)
    await house.close()


async def refused(client: ModernClient, params: Json) -> tuple[int, int, str, Any]:
    answer = await client.start("tools/call", params).done()
    error = answer.json["error"]
    return answer.status, error["code"], error["message"], error.get("data")


INVALID = (400, -32602, "Invalid or expired requestState", None)


@pytest.mark.shows("EB-C6")
async def test_of_two_who_answer_at_once_the_first_counts_and_both_are_told_the_same() -> None:
    backend = shop()
    house, client = house_of(backend)
    told = await sent_away(house, client)
    (key,) = told["inputRequests"]
    backs = [client.start("tools/call", back(told, {key: one})) for one in (ACCEPT, {"action": "decline"})]
    results = [(await one.done()).json["result"] for one in backs]
    assert results[0] == results[1]
    assert results[0]["structuredContent"] == {"answers": [ACCEPT]}
    assert [answer for _, answer in heard(backend)] == [ACCEPT]
    await house.close()


@pytest.mark.shows("EB-C8", "EB-C11")
async def test_a_state_serves_the_call_that_it_was_given_for_and_no_other() -> None:
    backend = shop()
    house, client = house_of(backend)
    told = await sent_away(house, client)
    (key,) = told["inputRequests"]
    good = back(told, {key: ACCEPT})
    state = told["requestState"]
    flipped = state[:-9] + ("A" if state[-9] != "A" else "B") + state[-8:]
    for bad in ({"arguments": {"n": 2}}, {"name": "other"}, {"requestState": flipped}, {"requestState": "abc"}):
        assert await refused(client, good | bad) == INVALID
    assert heard(backend) == []
    assert backend.methods().count("tools/call") == 1
    assert (await client.result("tools/call", good))["resultType"] == "complete"
    await house.close()


@pytest.mark.shows("EB-C9", "EB-C10")
async def test_a_state_serves_its_caller_with_whichever_credential_and_nobody_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    house = House({"shop": (backend := shop())})
    # Whoever authenticates says who it is; the header stands for a token that was renewed meanwhile.
    house.gateway.front._identify = lambda exchange: dict(exchange.headers)[b"x-who"].decode()
    client = house.modern_client("/servers/shop/mcp", ABLE)

    async def by(who: str, params: Json, token: str) -> Any:
        started = client.start("tools/call", params, headers={"x-who": who, "authorization": token})
        await let_run()
        await house.clock.advance(0.03)
        return await started.done()

    told = (await by("p1", CALL, "old")).json["result"]
    (key,) = told["inputRequests"]
    foreign = await by("p2", back(told, {key: ACCEPT}), "other")
    assert (foreign.status, foreign.json["error"]["message"]) == (400, "Invalid or expired requestState")
    assert heard(backend) == []
    assert "request_state_refused" in caplog.text
    own = await by("p1", back(told, {key: ACCEPT}), "new")
    assert own.json["result"]["structuredContent"] == {"answers": [ACCEPT]}
    await house.close()


async def stubborn(turn: Any) -> Json:
    """Asks, and does not end whatever it is answered."""
    await turn.ask("elicitation/create", FORM, f"{turn.id}-0")
    await asyncio.Event().wait()
    return {}


def call_id(backend: ScriptedBackend) -> Any:
    return [m.id for m in backend.received if isinstance(m, Request) and m.method == "tools/call"][-1]


@pytest.mark.shows("EB-C12")
async def test_a_client_that_never_returns_has_its_server_told_so() -> None:
    backend = shop(stubborn)
    house, client = house_of(backend)
    workspace = house.gateway.workspaces.at("local")
    told = await sent_away(house, client)
    await house.clock.advance(599)
    assert heard(backend) == []
    await house.clock.advance(1)
    assert [answer for _, answer in heard(backend)] == [{"action": "cancel"}]
    assert backend.cancelled == []
    assert "elicitation_expired" in [event.type for event in workspace.events.all()]
    await house.clock.advance(5)
    assert backend.cancelled == [call_id(backend)]
    (key,) = told["inputRequests"]
    assert await refused(client, back(told, {key: ACCEPT})) == INVALID
    assert len(heard(backend)) == 1
    assert house.gateway.load()["holds"] == 0
    await house.close()


@pytest.mark.shows("EB-C13")
async def test_a_server_that_gives_up_has_its_end_told_to_whoever_comes_back() -> None:
    async def call(turn: Any) -> Json:
        asking = asyncio.ensure_future(turn.ask("elicitation/create", FORM, "ask-1"))
        await given_up.wait()
        asking.cancel()
        turn.connection.say(notification("notifications/cancelled", {"requestId": "ask-1", "reason": "60 s"}))
        return {"content": [{"type": "text", "text": "nobody answered"}], "isError": True}

    given_up = asyncio.Event()
    backend = shop(call)
    house, client = house_of(backend)
    told = await sent_away(house, client)
    await house.clock.advance(60)
    given_up.set()
    await house.clock.advance(10)
    (key,) = told["inputRequests"]
    result = await client.result("tools/call", back(told, {key: ACCEPT}))
    assert (result["resultType"], result["isError"]) == ("complete", True)
    assert heard(backend) == []
    await house.close()


@pytest.mark.shows("EB-C14")
async def test_a_server_that_wants_to_know_hears_that_we_still_wait() -> None:
    backend = shop(asker(params=FORM | {"_meta": {"progressToken": "patience"}}))
    house, client = house_of(backend)
    await sent_away(house, client)
    await house.clock.advance(40)
    beats = backend.params("notifications/progress")
    assert [beat["progressToken"] for beat in beats] == ["patience"] * 2
    assert beats[0]["progress"] < beats[1]["progress"]
    await house.close()


def patient() -> tuple[ScriptedBackend, asyncio.Event]:
    """A server that goes on only when the test lets it, once it was answered."""
    may_end = asyncio.Event()

    async def call(turn: Any) -> Json:
        await turn.ask("elicitation/create", FORM, f"{turn.id}-0")
        await may_end.wait()
        return {"content": []}

    return shop(call), may_end


@pytest.mark.shows("EB-C15")
async def test_a_client_whose_stream_broke_in_a_later_round_may_come_back() -> None:
    backend, may_end = patient()
    house, client = house_of(backend)
    told = await sent_away(house, client)
    (key,) = told["inputRequests"]
    again = client.start("tools/call", back(told, {key: ACCEPT}))
    await house.clock.advance(1)
    again.leave()
    await house.clock.advance(5)
    assert backend.cancelled == []
    once_more = client.start("tools/call", back(told, {key: ACCEPT}))
    await let_run()
    may_end.set()
    assert response_of(await once_more.done())["result"]["resultType"] == "complete"
    assert len(heard(backend)) == 1
    await house.close()


@pytest.mark.shows("EB-C16")
async def test_a_client_that_does_not_come_back_has_cancelled() -> None:
    backend, _ = patient()
    house, client = house_of(backend)
    told = await sent_away(house, client)
    (key,) = told["inputRequests"]
    again = client.start("tools/call", back(told, {key: ACCEPT}))
    await house.clock.advance(1)
    again.leave()
    await let_run()
    await house.clock.advance(14)
    assert backend.cancelled == []
    await house.clock.advance(1)
    assert backend.cancelled == [call_id(backend)]
    assert await refused(client, back(told, {key: ACCEPT})) == INVALID
    await house.close()


@pytest.mark.shows("EB-C17")
async def test_a_client_that_goes_away_before_it_had_a_state_has_cancelled_at_once() -> None:
    backend = ScriptedBackend(answers={"tools/call": SILENT})
    house, client = house_of(backend)
    started = client.start("tools/call", CALL)
    await house.clock.advance(1)
    started.leave()
    await let_run()
    assert backend.cancelled == [call_id(backend)]
    assert (house.gateway.load()["holds"], house.gateway.holds.remembered) == (0, 0)
    await house.close()


@pytest.mark.shows("EB-C22")
async def test_a_mode_that_the_client_did_not_declare_is_refused_and_the_call_goes_on() -> None:
    backend = shop(asker(params={"mode": "url", "message": "Go", "url": "https://x.example", "elicitationId": "e"}))
    house = House({"shop": backend})
    client = house.modern_client("/servers/shop/mcp", {"elicitation": {}})
    result = await client.result("tools/call", CALL)
    assert result["structuredContent"]["answers"][0]["code"] == -32602
    assert wire(backend, "initialize")["capabilities"] == {"elicitation": {"form": {}}}
    await house.close()


@pytest.mark.shows("EB-C23")
async def test_of_a_client_that_declares_nothing_nothing_is_promised() -> None:
    backend = shop()
    house = House({"shop": backend})
    result = await house.modern_client("/servers/shop/mcp").result("tools/call", CALL)
    assert result["structuredContent"]["answers"][0]["code"] == -32601
    assert wire(backend, "initialize")["capabilities"] == {}
    await house.close()


@pytest.mark.shows("EB-C24")
async def test_what_can_be_asked_is_said_in_a_session_of_its_own() -> None:
    backend = shop()
    house = House({"shop": backend})
    await house.modern_client("/servers/shop/mcp").result("tools/call", CALL)
    await sent_away(house, house.modern_client("/servers/shop/mcp", {"elicitation": {}}))
    declared = [hello["capabilities"] for hello in backend.params("initialize")]
    assert declared == [{}, {"elicitation": {"form": {}}}]
    await house.close()


@pytest.mark.shows("EB-C26")
async def test_what_came_before_the_question_is_told_before_it() -> None:
    async def call(turn: Any) -> Json:
        turn.progress(1)
        turn.progress(2)
        return await asker()(turn)  # type: ignore[no-any-return]

    house, client = house_of(shop(call))
    started = client.start("tools/call", CALL, meta={"progressToken": "p"})
    await let_run()
    await house.clock.advance(0.03)
    answer = await started.done()
    told = [(one.get("method"), one.get("params", {}).get("progress")) for one in answer.events[:-1]]
    assert told == [("notifications/progress", 1), ("notifications/progress", 2)]
    assert answer.events[-1]["result"]["resultType"] == "input_required"
    await house.close()


@pytest.mark.shows("EB-C27")
async def test_what_is_no_answer_can_be_corrected() -> None:
    backend = shop()
    house, client = house_of(backend)
    told = await sent_away(house, client)
    (key,) = told["inputRequests"]
    status, code, message, _ = await refused(client, back(told, {key: {"action": "yes"}}))
    assert (status, code) == (400, -32602)
    assert key in message
    assert heard(backend) == []
    assert (await client.result("tools/call", back(told, {key: ACCEPT})))["resultType"] == "complete"
    await house.close()


@pytest.mark.shows("EB-C30")
async def test_rights_that_went_while_a_person_thought_end_the_call() -> None:
    backend = shop(stubborn)
    house, client = house_of(backend)
    told = await sent_away(house, client)
    # There is no authorization yet; this is where it is asked.
    house.gateway.coming_back.allowed = lambda surface, call: False
    (key,) = told["inputRequests"]
    error = (await client.call("tools/call", back(told, {key: ACCEPT})))["error"]
    assert (error["code"], error["data"]) == (-32603, {"reason": "not_authorized"})
    await let_run()
    assert [answer for _, answer in heard(backend)] == [{"action": "cancel"}]
    assert backend.cancelled == [call_id(backend)]
    await house.close()


async def test_the_time_of_a_call_is_not_spent_while_a_person_thinks() -> None:
    backend, _ = patient()
    house = House({"shop": backend}, settings=replace(DEFAULTS, timeouts=Timeouts(relay_call=100)))
    client = house.modern_client("/servers/shop/mcp", ABLE)
    told = await sent_away(house, client)
    await house.clock.advance(500)
    (key,) = told["inputRequests"]
    again = client.start("tools/call", back(told, {key: ACCEPT}))
    await house.clock.advance(99)
    assert not again.complete
    await house.clock.advance(2)
    assert response_of(await again.done())["error"]["data"]["reason"] == "backend_timeout"
    assert backend.cancelled == [call_id(backend)]
    await house.close()
