"""A client with nothing but tools in front of servers of both eras: what is asked, answered, subscribed to."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.meta_tools.table import TABLE
from tests.conversations.house import CAPABILITIES, House, ModernClient, let_run
from tests.conversations.meta_client import MetaClient, meta
from tests.conversations.test_asks import FORM, PAINT, SAMPLE, SCHEMA, promoted, result_of
from tests.conversations.test_rounds_to_legacy import FORM_ASK, ROOTS_ASK, SAMPLE_ASK, URL_ASK, needs, retried, server
from tests.support.scripted_backend import ECHO, ScriptedBackend, Turn

SERVED = {"content": [], "structuredContent": {"served": True}}


async def tools_only(*rounds: Any) -> tuple[House, ScriptedBackend, MetaClient]:
    backend = server(*rounds, after=SERVED)
    house = House({"shop": backend})
    return house, backend, await meta(house)


@pytest.mark.shows("EB-G10", "EB-G9")
async def test_what_a_modern_server_needs_is_answered_by_tools_and_its_call_made_again_only_then() -> None:
    house, backend, client = await tools_only(needs("st", k=FORM_ASK))
    told, request_id = await promoted(client)
    assert (told.said["timeout"], told.said["input_required"]) == (False, True)
    assert told.pending is not None
    assert told.pending["elicitations"] == [
        {"requestId": request_id, "server": "shop", "message": "Which colour?", "schema": SCHEMA}
    ]
    await house.clock.advance(200)
    assert len(retried(backend)) == 1
    accept = {"action": "accept", "content": {"color": "blue"}}
    await client.use("respond_to_elicitation", request_id=request_id, **accept)
    _, result = await result_of(client, told)
    assert result == {"served": True}
    assert retried(backend) == [{}, {"inputResponses": {"k": accept}, "requestState": "st"}]
    assert backend.params("tools/call")[0]["_meta"][CAPABILITIES] == {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {},
    }
    await house.close()


@pytest.mark.shows("EB-G11")
async def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays_open() -> None:
    house, backend, client = await tools_only(needs("st", k=FORM_ASK))
    told, request_id = await promoted(client)
    for content, field in (({"color": "green"}, "color"), ({}, "color"), ({"color": "red", "count": 1.5}, "count")):
        wrong = await client.use("respond_to_elicitation", request_id=request_id, action="accept", content=content)
        assert wrong.is_error
        assert f"field '{field}'" in wrong.said["error"]["message"]
        assert wrong.pending is not None
    assert len(retried(backend)) == 1
    await client.use("respond_to_elicitation", request_id=request_id, action="decline")
    await result_of(client, told)
    assert retried(backend)[1]["inputResponses"] == {"k": {"action": "decline"}}
    await house.close()


@pytest.mark.shows("EB-G10")
async def test_several_at_once_are_sent_together_when_the_last_is_answered() -> None:
    house, backend, client = await tools_only(needs("st", form=FORM_ASK, url=URL_ASK, write=SAMPLE_ASK))
    told = await client.use("execute_tool", **PAINT)
    assert told.pending is not None
    form, url = told.pending["elicitations"]
    (write,) = told.pending["sampling_requests"]
    assert url["url"] == "https://shop.example/in?t=1"
    await client.use("respond_to_elicitation", request_id=url["requestId"], action="accept")
    await client.use("respond_to_sampling", request_id=write["requestId"], content="hi", model="m-1")
    assert len(retried(backend)) == 1
    content = {"color": "red"}
    await client.use("respond_to_elicitation", request_id=form["requestId"], action="accept", content=content)
    await result_of(client, told)
    answers = retried(backend)[1]["inputResponses"]
    assert (answers["form"], answers["url"]) == ({"action": "accept", "content": content}, {"action": "accept"})
    assert answers["write"]["content"] == {"type": "text", "text": "hi"}
    await house.close()


@pytest.mark.shows("EB-G10")
async def test_a_question_that_nobody_answers_is_a_cancel_for_a_modern_server() -> None:
    house, backend, client = await tools_only(needs("st", k=FORM_ASK))
    told, _ = await promoted(client)
    await house.clock.advance(600)
    _, result = await result_of(client, told)
    assert result == {"served": True}
    assert retried(backend)[1]["inputResponses"] == {"k": {"action": "cancel"}}
    await house.close()


async def test_a_task_that_is_cancelled_is_not_made_again() -> None:
    house, backend, client = await tools_only(needs("st", k=FORM_ASK))
    told, request_id = await promoted(client)
    await client.use("cancel_task", task_id=told.said["task"]["taskId"])
    await let_run()
    late = await client.use("respond_to_elicitation", request_id=request_id, action="decline")
    assert late.said["error"]["code"] == "TOOL_ERR_REQUEST_NOT_FOUND"
    assert len(retried(backend)) == 1
    await house.close()


async def test_roots_are_given_to_a_modern_server_without_a_round_of_the_client() -> None:
    house, backend, client = await tools_only(needs("st", k=ROOTS_ASK))
    await client.use("set_roots", roots=["/work"])
    told = client.start("execute_tool", **PAINT)
    await told.done()
    assert told.json["result"]["structuredContent"] == {"served": True}
    roots = {"roots": [{"uri": "file:///work", "name": "work"}]}
    assert retried(backend)[1]["inputResponses"] == {"k": roots}
    await house.close()


@pytest.mark.shows("EB-G9")
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_modern_client_with_nothing_but_tools_is_served_the_same(era: str) -> None:
    async def asks(turn: Turn) -> Any:
        await turn.ask("sampling/createMessage", SAMPLE)
        return SERVED

    modern = server(needs("st", k=SAMPLE_ASK), after=SERVED)
    backend = modern if era == "modern" else ScriptedBackend(answers={"tools/call": asks})
    house = House({"shop": backend})
    client = MetaClient(house.modern_client("/mcp"))
    assert isinstance(client.client, ModernClient)
    told, request_id = await promoted(client)
    assert told.said["input_required"] is True
    await client.use("respond_to_sampling", request_id=request_id, content="hi", model="m-1")
    done = client.start("get_task_result", task_id=told.said["task"]["taskId"], timeout_ms=1000)
    await done.done()
    assert done.json["result"]["structuredContent"] == {"served": True}
    await house.close()


@pytest.mark.shows("EB-G19")
async def test_no_tool_of_ours_promises_an_output_that_an_early_answer_would_break() -> None:
    async def asks(turn: Turn) -> Any:
        await turn.ask("elicitation/create", FORM)
        return {"content": [], "structuredContent": {"n": 1}}

    tool = ECHO | {"outputSchema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}}
    house = House({"shop": ScriptedBackend(answers={"tools/call": asks}, tools=[tool])})
    client = await meta(house)
    promised = {one["name"] for one in (await client.client.result("tools/list"))["tools"] if "outputSchema" in one}
    assert not promised & {name for name, tool in TABLE.items() if tool.may_go_on}
    told = client.start("execute_tool", server="shop", tool="echo")
    await told.done()
    result = told.json["result"]
    assert "structuredContent" not in result
    assert result.get("isError", False) is False
    await house.close()


URI = "note://1"


@pytest.mark.shows("X-GAP-14")
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_resource_that_changes_is_told_to_who_subscribed_and_to_nobody_else(era: Any) -> None:
    offers = {"resources": {"subscribe": True, "listChanged": True}}
    answers: Any = {"resources/subscribe": {}, "resources/unsubscribe": {}}
    backend = ScriptedBackend(era, answers, [], offers)
    house = House({"shop": backend})
    mine, other = await meta(house), await meta(house)
    said = (await mine.use("subscribe_resource", server="shop", uri=URI)).said
    assert (said["success"], said["uri"]) == (True, URI)
    await other.use("list_resources", server="shop")
    await let_run()
    for connection in backend.connections:
        connection.notify("notifications/resources/updated", {"uri": URI})
    await let_run()
    heard = [one["data"]["params"]["uri"] for one in (await mine.use("list_servers")).events if "params" in one["data"]]
    assert heard == [URI]
    assert [one for one in (await other.use("list_servers")).events if one["type"] == "notification"] == []
    assert (await mine.use("unsubscribe_resource", server="shop", uri=URI)).said["success"] is True
    again = await mine.use("unsubscribe_resource", server="shop", uri=URI)
    assert (again.said["success"], again.said["message"]) == (False, "It was not subscribed to")
    await house.close()


async def test_a_server_that_tells_of_no_changes_says_so() -> None:
    house = House({"shop": ScriptedBackend()})
    client = await meta(house)
    told = await client.use("subscribe_resource", server="shop", uri=URI)
    assert told.is_error
    assert told.said["error"]["details"]["uri"] == URI
    missing = await client.use("subscribe_resource", server="nobody", uri=URI)
    assert missing.said["error"]["code"] == "TOOL_ERR_SERVER_NOT_FOUND"
    await house.close()
