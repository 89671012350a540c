"""A modern server needs input, and its client is a legacy one: it is asked on the stream of its call, and the call made
again with what it said."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conversations.asked import HttpAsked, PipeClient, http_client
from tests.conversations.house import CAPABILITIES, House, let_run, response_of
from tests.conversations.test_asks import FORM, SAMPLE
from tests.conversations.test_native_asks import ACCEPT, ALL, ROOTS, SHOP, WRITTEN
from tests.support.scripted_backend import Fail, ScriptedBackend, Turn

FORM_ASK = {"method": "elicitation/create", "params": FORM}
SAMPLE_ASK = {"method": "sampling/createMessage", "params": SAMPLE}
ROOTS_ASK = {"method": "roots/list"}
URL_ASK = {
    "method": "elicitation/create",
    "params": {"mode": "url", "message": "Sign in", "url": "https://shop.example/in?t=1"},
}
DONE = {"content": [{"type": "text", "text": "done"}]}


def needs(state: str | None = None, **asks: Any) -> dict[str, Any]:
    said: dict[str, Any] = {"resultType": "input_required"}
    if asks:
        said["inputRequests"] = asks
    return said if state is None else said | {"requestState": state}


def server(*rounds: Any, after: Any = DONE) -> ScriptedBackend:
    """Needs these one after the other, and then answers."""

    def answer(turn: Turn) -> Any:
        turns.append(turn)
        return rounds[len(turns) - 1] if len(turns) <= len(rounds) else after

    turns: list[Turn] = []
    return ScriptedBackend("modern", {"tools/call": answer, "prompts/get": answer, "resources/read": answer})


def retried(backend: ScriptedBackend, method: str = "tools/call") -> list[dict[str, Any]]:
    """What each attempt brought beside the call itself."""
    keys = ("inputResponses", "requestState")
    return [{key: one[key] for key in keys if key in one} for one in backend.params(method)]


async def asked_house(*rounds: Any, after: Any = DONE, **capabilities: Any) -> tuple[House, ScriptedBackend, HttpAsked]:
    backend = server(*rounds, after=after)
    house = House({"shop": backend})
    return house, backend, await http_client(house, SHOP, **(capabilities or ALL))


@pytest.mark.shows("EB-E1")
async def test_the_client_is_asked_on_its_calls_stream_and_the_call_made_again() -> None:
    house, backend, client = await asked_house(needs('st"ä', k1=FORM_ASK))
    get = await client.client.get()
    call = client.call("paint")
    ask = await client.next_ask(call)
    assert (ask["method"], ask["params"]["message"]) == ("elicitation/create", "Which colour?")
    await client.reply(ask, ACCEPT)
    result = await client.result(call)
    assert (result["content"], "resultType" in result) == (DONE["content"], False)
    assert retried(backend) == [{}, {"inputResponses": {"k1": ACCEPT}, "requestState": 'st"ä'}]
    first, second = backend.params("tools/call")
    assert (first["name"], first["arguments"]) == (second["name"], second["arguments"])
    ids = [one.id for one in backend.received if getattr(one, "method", "") == "tools/call"]  # type: ignore[union-attr]
    assert len(set(ids)) == 2
    assert client.asks(get) == []
    declared = first["_meta"][CAPABILITIES]
    assert declared == {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
    await house.close()


@pytest.mark.shows("EB-E2")
async def test_several_keys_are_asked_side_by_side_and_sent_together() -> None:
    house, backend, client = await asked_house(needs("s", form=FORM_ASK, write=SAMPLE_ASK, where=ROOTS_ASK))
    call = client.call("paint")
    asks = [await client.next_ask(call) for _ in range(3)]
    assert [ask["method"] for ask in asks] == ["elicitation/create", "sampling/createMessage", "roots/list"]
    for ask, answer in reversed(list(zip(asks, (ACCEPT, WRITTEN, ROOTS), strict=True))):
        assert len(retried(backend)) == 1
        await client.reply(ask, answer)
    await client.result(call)
    assert retried(backend)[1] == {
        "inputResponses": {"form": ACCEPT, "write": WRITTEN, "where": ROOTS},
        "requestState": "s",
    }
    await house.close()


@pytest.mark.shows("EB-E3")
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_person_who_does_not_want_to_has_answered(action: str) -> None:
    house, backend, client = await asked_house(needs("s", k=FORM_ASK))
    call = client.call("paint")
    await client.reply(await client.next_ask(call), {"action": action})
    await client.result(call)
    assert retried(backend)[1]["inputResponses"] == {"k": {"action": action}}
    await house.close()


@pytest.mark.shows("EB-E4")
async def test_an_error_of_a_client_that_shows_no_forms_is_a_cancel() -> None:
    house, backend, client = await asked_house(needs("s", k=FORM_ASK))
    call = client.call("paint")
    await client.refuse(await client.next_ask(call), -32603, "cannot show it")
    await client.result(call)
    assert retried(backend)[1]["inputResponses"] == {"k": {"action": "cancel"}}
    await house.close()


@pytest.mark.shows("EB-E5")
@pytest.mark.parametrize("ask", [SAMPLE_ASK, ROOTS_ASK])
async def test_an_error_of_a_client_that_does_not_sample_ends_the_call(ask: Any) -> None:
    house, backend, client = await asked_house(needs("s", k=ask, form=FORM_ASK))
    call = client.call("paint")
    first, form = await client.next_ask(call), await client.next_ask(call)
    await client.refuse(first, -1, "User rejected it")
    result = await client.result(call)
    assert (result["isError"], result["content"][0]["text"]) == (True, "User rejected it")
    assert len(retried(backend)) == 1
    cancelled = [one["params"]["requestId"] for one in call.events if one.get("method") == "notifications/cancelled"]
    assert cancelled == [form["id"]]
    await house.close()


@pytest.mark.parametrize("method", ["prompts/get", "resources/read"])
async def test_prompts_and_resources_may_need_input_and_fail_as_themselves(method: str) -> None:
    params = {"name": "p"} if method == "prompts/get" else {"uri": "a:b"}
    after: Any = {"messages": []} if method == "prompts/get" else {"contents": []}
    house, backend, client = await asked_house(needs("s", k=FORM_ASK), needs("t", k=SAMPLE_ASK), after=after)
    call = client.client.start(method, params)
    await client.reply(await client.next_ask(call), ACCEPT)
    await client.refuse(await client.next_ask(call), -1, "no")
    error = response_of(await call.done())["error"]
    assert (error["code"], error["message"]) == (-32603, "no")
    assert retried(backend, method) == [{}, {"inputResponses": {"k": ACCEPT}, "requestState": "s"}]
    await house.close()


@pytest.mark.shows("EB-E6")
async def test_a_server_that_asks_for_ever_is_given_up_after_eight_rounds() -> None:
    house, backend, client = await asked_house(*[needs(f"s{n}", k=FORM_ASK) for n in range(20)])
    call = client.call("paint")
    for _ in range(8):
        await client.reply(await client.next_ask(call), ACCEPT)
    result = await client.result(call)
    assert result["isError"] is True
    assert "too many rounds" in result["content"][0]["text"]
    assert len(retried(backend)) == 9
    await house.close()


@pytest.mark.shows("EB-E7")
async def test_a_state_alone_is_brought_back_ever_more_slowly_and_the_client_sees_nothing() -> None:
    house, backend, client = await asked_house(needs("s1"), needs("s2"), needs("s3"))
    call = client.call("paint")
    await let_run()
    for count, wait in ((2, 0.05), (3, 0.1), (4, 0.2)):
        await house.clock.advance(wait - 0.01)
        assert len(retried(backend)) == count - 1
        await house.clock.advance(0.01)
        await let_run()
        assert len(retried(backend)) == count
    await client.result(call)
    assert retried(backend)[1:] == [{"requestState": f"s{n}"} for n in (1, 2, 3)]
    assert call.headers["content-type"] == "application/json"
    await house.close()


@pytest.mark.shows("EB-E8")
async def test_a_client_that_cannot_be_asked_is_told_which_capability_its_tool_wants() -> None:
    def refuses(turn: Turn) -> Any:
        assert turn.meta[CAPABILITIES] == {}
        return Fail(-32021, "Missing required client capability", {"requiredCapabilities": {"elicitation": {}}})

    backend = ScriptedBackend("modern", {"tools/call": refuses})
    house = House({"shop": backend})
    client = await house.legacy_client(SHOP)
    result = await client.result("tools/call", {"name": "paint"})
    assert result["isError"] is True
    assert "elicitation" in result["content"][0]["text"]
    assert len(retried(backend)) == 1
    await house.close()


async def test_a_server_that_asks_what_it_may_not_is_abandoned_before_anything_is_shown() -> None:
    house, backend, client = await asked_house(needs("s", a=FORM_ASK, b=SAMPLE_ASK), elicitation={})
    call = client.call("paint")
    result = await client.result(call)
    assert result["isError"] is True
    assert client.asks(call) == []
    assert len(retried(backend)) == 1
    await house.close()


@pytest.mark.shows("EB-E9")
async def test_an_older_client_is_asked_by_forms_and_nothing_else() -> None:
    backend = server(needs("s", k=FORM_ASK | {"params": FORM | {"mode": "form"}}))
    house = House({"shop": backend})
    client = await http_client(house, SHOP, "2025-06-18", elicitation={})
    call = client.call("paint")
    ask = await client.next_ask(call)
    assert "mode" not in ask["params"]
    await client.reply(ask, ACCEPT)
    await client.result(call)
    assert backend.params("tools/call")[0]["_meta"][CAPABILITIES] == {"elicitation": {"form": {}}}
    await house.close()


@pytest.mark.shows("EB-E10")
async def test_an_address_has_an_id_of_ours_and_is_told_as_done_when_the_server_went_on() -> None:
    house, backend, client = await asked_house(needs("s", k=URL_ASK))
    call = client.call("paint")
    ask = await client.next_ask(call)
    asked = ask["params"]
    assert (asked["mode"], asked["url"]) == ("url", "https://shop.example/in?t=1")
    assert len(asked["elicitationId"]) == 36
    await client.reply(ask, {"action": "accept"})
    await client.result(call)
    methods = [one.get("method", "result") for one in call.events]
    assert methods[-2:] == ["notifications/elicitation/complete", "result"]
    assert call.events[-2]["params"] == {"elicitationId": asked["elicitationId"]}
    assert retried(backend)[1]["inputResponses"] == {"k": {"action": "accept"}}
    assert asked["elicitationId"] not in str(backend.received)
    await house.close()


@pytest.mark.shows("EB-E11")
async def test_a_client_that_cancels_while_its_user_is_asked_gets_its_question_taken_back() -> None:
    house, backend, client = await asked_house(needs("s", k=FORM_ASK))
    call = client.call("paint", request_id="mine")
    ask = await client.next_ask(call)
    await client.client.tell("notifications/cancelled", {"requestId": "mine"})
    await call.done()
    (cancelled,) = [one for one in call.events if one.get("method") == "notifications/cancelled"]
    assert cancelled["params"]["requestId"] == ask["id"]
    assert not any("result" in one or "error" in one for one in call.events)
    await client.reply(ask, ACCEPT)
    assert len(retried(backend)) == 1
    await house.close()


async def test_progress_of_every_round_is_the_calls_and_only_rises() -> None:
    def answer(turn: Turn) -> Any:
        again = "requestState" in turn.params
        turn.progress(2 if again else 1)
        return DONE if again else needs("s", k=FORM_ASK)

    house = House({"shop": ScriptedBackend("modern", {"tools/call": answer})})
    client = await http_client(house, SHOP, **ALL)
    call = client.call("paint", _meta={"progressToken": "p"})
    await client.reply(await client.next_ask(call), ACCEPT)
    await client.result(call)
    told = [one["params"] for one in call.events if one.get("method") == "notifications/progress"]
    assert told == [{"progressToken": "p", "progress": 1}, {"progressToken": "p", "progress": 2}]
    await house.close()


@pytest.mark.shows("EB-E1")
async def test_a_client_on_pipes_is_asked_there() -> None:
    backend = server(needs("s", k=FORM_ASK))
    house = House({"shop": backend})
    client = PipeClient(house, SHOP)
    await client.hello(**ALL)
    call = await client.start("paint")
    ask = await client.next_ask()
    await client.say(id=ask["id"], result=ACCEPT)
    assert (await client.response(call))["result"]["content"] == DONE["content"]
    assert retried(backend)[1] == {"inputResponses": {"k": ACCEPT}, "requestState": "s"}
    await client.close()
    await house.close()
