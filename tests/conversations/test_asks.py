"""What a legacy server asks in the middle of a call reaches a client that has nothing but tools, and its answer goes
back: once, to that server, under that ask."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from emceepee.config.settings import Settings
from emceepee.protocol.messages import Failure, Result
from emceepee.vocabulary.raw_json import read_value
from tests.conversations.house import House, let_run, wire
from tests.conversations.meta_client import MetaClient, Told, meta
from tests.support.scripted_backend import SILENT, ScriptedBackend, Turn

SCHEMA = {
    "type": "object",
    "properties": {"color": {"type": "string", "enum": ["red", "blue"]}, "count": {"type": "integer"}},
    "required": ["color"],
}
FORM = {"message": "Which colour?", "requestedSchema": SCHEMA}
SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "Say hi"}}], "maxTokens": 9}
ASKS = {"elicitation/create": FORM, "sampling/createMessage": SAMPLE}
PAINT = {"server": "shop", "tool": "paint"}


def said_of(answer: Result | Failure) -> Any:
    if isinstance(answer, Result):
        return read_value(answer.result)
    return {"code": answer.error.code, "message": answer.error.message}


def asker(method: str = "elicitation/create", params: Any = None, beside: bool = False, times: int = 1) -> Any:
    """A tool that asks, and whose result is what it was answered."""

    async def call(turn: Turn) -> Any:
        asked = FORM | {} if params is None and method == "elicitation/create" else params or ASKS[method]
        answers = [said_of(await turn.ask(method, asked, f"{turn.id}-{n}", beside)) for n in range(times)]
        return {"content": [], "structuredContent": {"answers": answers}}

    return call


def shop(call: Any = None) -> ScriptedBackend:
    return ScriptedBackend(answers={"tools/call": call or asker()})


async def promoted(client: MetaClient, **more: Any) -> tuple[Told, str]:
    """A call whose server asks, and the id of what it asks."""
    told = await client.use("execute_tool", **PAINT, **more)
    assert told.pending is not None
    return told, [*told.pending["elicitations"], *told.pending["sampling_requests"]][0]["requestId"]


async def result_of(client: MetaClient, told: Told) -> Any:
    started = client.start("get_task_result", task_id=told.said["task"]["taskId"], timeout_ms=1000)
    return (await client.told(started)), (await started.done()).json["result"].get("structuredContent")


@pytest.mark.shows("A-CON-11", "A-CON-14", "A-TOOL-16", "A-TOOL-17", "X-GAP-04", "A-DEL-03", "A-EXE-07", "A-ACT-11")
@pytest.mark.parametrize("beside", [False, True])
async def test_a_question_reaches_a_client_of_tools_at_once_and_its_answer_ends_the_call(beside: bool) -> None:
    backend = shop(asker(beside=beside))
    house = House({"shop": backend})
    client = await meta(house)
    told, request_id = await promoted(client)
    said = told.said
    assert (said["timeout"], said["input_required"]) == (False, True)
    assert (said["task"]["status"], said["server_pending"]["server"]) == ("working", "shop")
    assert said["note"] == "Showing pending state for server 'shop' only. Use await_activity for all servers."
    pending = {"requestId": request_id, "server": "shop", "message": "Which colour?", "schema": SCHEMA}
    assert told.pending == {"elicitations": [pending], "sampling_requests": []}
    assert told.kinds == ["server_connected", "elicitation_request", "task_created"]
    (listed,) = (await client.use("get_elicitations", server="shop")).said["elicitations"]
    assert (listed["requestId"], listed["server"], listed["params"]) == (request_id, "shop", FORM)
    assert (await client.use("get_elicitations", server="other")).said == {"elicitations": []}
    assert (await client.use("await_activity", timeout_ms=0)).said["pending_client"]["elicitations"] == [pending]
    answered = await client.use(
        "respond_to_elicitation", request_id=request_id, action="accept", content={"color": "red"}
    )
    assert answered.said["success"] is True
    assert answered.pending is None
    _, result = await result_of(client, told)
    assert result == {"answers": [{"action": "accept", "content": {"color": "red"}}]}
    assert backend.methods().count("tools/call") == 1
    await house.close()


@pytest.mark.shows("A-CON-12", "A-TOOL-14", "A-TOOL-15", "A-PRQ-06", "A-EVT-04")
async def test_what_a_server_wants_written_is_read_in_full_and_answered_with_text() -> None:
    house = House({"shop": shop(asker("sampling/createMessage"))})
    client = await meta(house)
    told, request_id = await promoted(client)
    assert told.pending == {"elicitations": [], "sampling_requests": [{"requestId": request_id, "server": "shop"}]}
    (listed,) = (await client.use("get_sampling_requests")).said["sampling_requests"]
    assert (listed["requestId"], listed["params"]) == (request_id, SAMPLE)
    answer = {"requestId": request_id, "content": "hi", "model": "m-1"}
    assert (await client.use("respond_to_sampling", **answer)).said["requestId"] == request_id
    _, result = await result_of(client, told)
    text = {"type": "text", "text": "hi"}
    assert result == {"answers": [{"role": "assistant", "content": text, "model": "m-1", "stopReason": "endTurn"}]}
    await house.close()


@pytest.mark.shows("A-TOOL-17")
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_who_does_not_accept_sends_nothing_else(action: str) -> None:
    house = House({"shop": shop()})
    client = await meta(house)
    told, request_id = await promoted(client)
    await client.use("respond_to_elicitation", request_id=request_id, action=action, content={"color": "red"})
    _, result = await result_of(client, told)
    assert result == {"answers": [{"action": action}]}
    await house.close()


async def test_an_address_to_go_to_passes_as_it_is_and_is_not_gone_to() -> None:
    url = {"mode": "url", "message": "Sign in", "url": "https://shop.example/in?t=1", "elicitationId": "e1"}
    house = House({"shop": shop(asker(params=url))})
    client = await meta(house)
    told, request_id = await promoted(client)
    assert told.pending is not None
    assert told.pending["elicitations"][0]["url"] == url["url"]
    await client.use("respond_to_elicitation", request_id=request_id, action="accept")
    _, result = await result_of(client, told)
    assert result == {"answers": [{"action": "accept"}]}
    await house.close()


@pytest.mark.shows("X-BUG-55", "A-PRQ-09", "A-PRQ-08", "A-PRQ-15", "A-PRQ-16")
async def test_an_answer_that_does_not_fit_can_be_corrected_and_a_second_one_finds_nothing() -> None:
    backend = shop()
    house = House({"shop": backend})
    client = await meta(house)
    told, request_id = await promoted(client)
    wrong = await client.use(
        "respond_to_elicitation", request_id=request_id, action="accept", content={"color": "green"}
    )
    assert wrong.is_error
    error = wrong.said["error"]
    assert (error["code"], error["details"]["requestId"]) == ("TOOL_ERR_INVALID_ANSWER", request_id)
    assert "field 'color' must be one of red, blue" in error["message"]
    assert wrong.pending is not None
    assert "response" not in [method for method in backend.methods() if method == "response"]
    other = await client.use("respond_to_sampling", request_id=request_id, content="x", model="m")
    assert other.said["error"]["message"] == f"Sampling request '{request_id}' not found or already completed"
    right = {"request_id": request_id, "action": "accept", "content": '{"color": "blue", "count": 2}'}
    assert not (await client.use("respond_to_elicitation", **right)).is_error
    again = await client.use("respond_to_elicitation", **right)
    assert again.said["error"]["code"] == "TOOL_ERR_REQUEST_NOT_FOUND"
    assert again.said["error"]["message"] == f"Elicitation request '{request_id}' not found or already completed"
    _, result = await result_of(client, told)
    assert result == {"answers": [{"action": "accept", "content": {"color": "blue", "count": 2}}]}
    await house.close()


@pytest.mark.shows("A-CON-13", "EB-E17", "X-BUG-68")
async def test_only_the_session_whose_call_it_is_sees_a_question_and_can_answer_it() -> None:
    house = House({"shop": shop()})
    mine, other = await meta(house), await meta(house)
    _, request_id = await promoted(mine)
    assert (await other.use("get_elicitations")).said == {"elicitations": []}
    stolen = await other.use("respond_to_elicitation", request_id=request_id, action="decline")
    assert stolen.said["error"]["code"] == "TOOL_ERR_REQUEST_NOT_FOUND"
    assert stolen.pending is None
    assert stolen.events == []
    assert (await mine.use("respond_to_elicitation", request_id=request_id, action="decline")).said["success"]
    await house.close()


@pytest.mark.shows("A-EXE-07", "X-GAP-04", "X-CON-02")
async def test_without_promotion_a_question_waits_for_the_time_out_as_the_seeds_have_it() -> None:
    house = House({"shop": shop()}, settings=Settings(promote_on_ask=False))
    client = await meta(house)
    call = client.start("execute_tool", **PAINT)
    await let_run()
    woken = await client.use("await_activity")
    assert [event["type"] for event in woken.said["events"][0]["events"]] == ["server_connected", "elicitation_request"]
    assert call.complete is False
    await house.clock.advance(120)
    told = await client.told(call)
    assert told.said["timeout"] is True
    assert "input_required" not in told.said
    assert told.pending is not None
    (pending,) = told.pending["elicitations"]
    # The task's own five minutes are over before the question's ten: it waits with it.
    await house.clock.advance(400)
    assert (await client.use("get_task", task_id=told.said["task"]["taskId"])).said["task"]["status"] == "working"
    await client.use("respond_to_elicitation", request_id=pending["requestId"], action="decline")
    _, result = await result_of(client, told)
    assert result == {"answers": [{"action": "decline"}]}
    await house.close()


@pytest.mark.shows("A-PRQ-05", "A-PRQ-04", "A-PRQ-01", "A-ACT-17", "X-BUG-17", "A-EVT-03", "A-EVT-05")
@pytest.mark.parametrize("method", list(ASKS))
async def test_a_question_that_nobody_answers_ends_for_both_sides(method: str) -> None:
    house = House({"shop": shop(asker(method))})
    client = await meta(house)
    told, request_id = await promoted(client)
    await client.use("await_activity", timeout_ms=0)
    await house.clock.advance(599)
    assert len((await client.use("get_elicitations")).blocks) == 2
    waiting = client.start("await_activity")
    await let_run()
    await house.clock.advance(1)
    await let_run()
    said = (await client.told(waiting)).said
    kind = "elicitation" if "elicit" in method else "sampling"
    expired = said["events"][0]["events"][0]
    assert (expired["type"], expired["data"]) == (
        f"{kind}_expired",
        {"requestId": request_id, "reason": "Timed out after 600000ms"},
    )
    assert said["pending_client"] == {"elicitations": [], "sampling_requests": []}
    _, result = await result_of(client, told)
    wanted = f"{kind.capitalize()} request timed out after 600000ms"
    assert result == {"answers": [{"code": -32001, "message": wanted}]}
    await house.close()


@pytest.mark.shows("X-BUG-54")
async def test_a_question_that_its_server_takes_back_is_gone_and_not_answered() -> None:
    async def takes_back(turn: Turn) -> Any:
        asking = asyncio.ensure_future(turn.ask("elicitation/create", FORM, 7))
        await let_run()
        turn.notify("notifications/cancelled", {"requestId": 7})
        await let_run()
        asking.cancel()
        return {"content": []}

    backend = shop(takes_back)
    house = House({"shop": backend})
    client = await meta(house)
    told = await client.use("execute_tool", **PAINT)
    await let_run()
    after = await client.use("get_elicitations")
    assert after.said == {"elicitations": []}
    events = {event["type"]: event["data"] for event in told.events + after.events}
    assert events["elicitation_expired"]["reason"] == "cancelled by server"
    assert not [message for message in backend.received if isinstance(message, Result | Failure)]
    await house.close()


@pytest.mark.shows("A-TOOL-21", "A-SES-17", "A-SES-18")
@pytest.mark.parametrize(
    ("method", "heard"),
    [
        ("elicitation/create", {"action": "cancel"}),
        ("sampling/createMessage", {"code": -1, "message": "The call that this request belongs to was cancelled"}),
    ],
)
async def test_cancelling_a_task_gives_up_what_its_server_asked(method: str, heard: Any) -> None:
    backend = shop(asker(method))
    house = House({"shop": backend})
    client = await meta(house)
    told, request_id = await promoted(client)
    cancelled = await client.use("cancel_task", task_id=told.said["task"]["taskId"])
    await let_run()
    after = await client.use("respond_to_elicitation", request_id=request_id, action="cancel")
    assert after.said["error"]["code"] == "TOOL_ERR_REQUEST_NOT_FOUND"
    answers = [message for message in backend.received if isinstance(message, Result | Failure)]
    assert [said_of(answer) for answer in answers] == [heard]
    kind = method.partition("/")[0]
    events = {event["type"]: event["data"] for event in cancelled.events + after.events}
    assert events[f"{kind}_expired"] == {"requestId": request_id, "reason": "the call it belongs to was cancelled"}
    await house.close()


@pytest.mark.shows("X-BUG-39", "X-BUG-38", "A-REC-27", "X-BUG-25")
@pytest.mark.parametrize("deliberate", [False, True])
async def test_a_question_ends_with_its_connection_once_and_is_not_answered_to_the_next(deliberate: bool) -> None:
    backend = shop()
    house = House({"shop": backend})
    client = await meta(house)
    _, request_id = await promoted(client)
    if deliberate:
        await client.use("reconnect_server", server="shop")
    else:
        backend.exit()
    await let_run()
    answered = await client.use("respond_to_elicitation", request_id=request_id, action="decline")
    assert answered.said["error"]["code"] == "TOOL_ERR_REQUEST_NOT_FOUND"
    await client.use("list_tools", server="shop")
    told = (await client.use("await_activity", since_event_id="0" * 26, timeout_ms=0)).said
    kinds = [event["type"] for of_server in told["events"] for event in of_server["events"]]
    assert kinds.count("elicitation_expired") == 1
    assert kinds.count("task_failed") == 1
    assert len(backend.connections) >= 2
    assert not [message for message in backend.received if isinstance(message, Result | Failure)]
    await house.close()


@pytest.mark.shows("A-CFG-18")
async def test_a_question_ends_with_the_removal_of_its_server() -> None:
    house = House({"shop": shop()})
    client = await meta(house)
    _, request_id = await promoted(client)
    told = await client.use("remove_server", name="shop")
    events = {event["type"]: event["data"] for event in told.events}
    assert events["elicitation_expired"] == {"requestId": request_id, "reason": "Server removed"}
    assert told.kinds.count("elicitation_expired") == 1
    await house.close()


@pytest.mark.shows("A-SES-16", "A-SES-17", "A-PRQ-14")
async def test_the_end_of_a_session_is_told_to_who_still_asks_it() -> None:
    backend = shop()
    house = House({"shop": backend})
    client = await meta(house)
    await promoted(client)
    await client.client.delete()  # type: ignore[union-attr]
    await let_run()
    (answer,) = [message for message in backend.received if isinstance(message, Result | Failure)]
    assert said_of(answer)["message"] == "PendingRequestsManager shutting down"
    await house.close()


@pytest.mark.shows("A-RACE-06", "A-EXE-21", "A-EXE-20")
async def test_of_many_calls_the_one_that_asked_goes_on_and_the_others_stay_in_flight() -> None:
    async def call(turn: Turn) -> Any:
        if turn.params["arguments"]["n"] != 2:
            await asyncio.Event().wait()
        return await asker()(turn)

    backend = ScriptedBackend(answers={"tools/call": call})
    house = House({"shop": backend})
    client = await meta(house)
    calls = [client.start("execute_tool", **PAINT, args={"n": n}) for n in range(4)]
    await let_run()
    assert [call.complete for call in calls] == [False, False, True, False]
    told = await client.told(calls[2])
    (pending,) = (await client.use("get_elicitations")).said["elicitations"]
    await client.use("respond_to_elicitation", request_id=pending["requestId"], action="decline")
    _, result = await result_of(client, told)
    assert result == {"answers": [{"action": "decline"}]}
    assert [call.complete for call in calls] == [False, False, True, False]
    assert len([message for message in backend.received if isinstance(message, Result | Failure)]) == 1
    await house.close()


async def test_a_question_that_may_be_several_calls_own_stops_the_waiting_for_each() -> None:
    backend = ScriptedBackend(answers={"tools/call": SILENT})
    house = House({"shop": backend})
    client = await meta(house)
    calls = [client.start("execute_tool", **PAINT) for _ in range(2)]
    await let_run()
    backend.ask("elicitation/create", FORM)
    await let_run()
    tasks = [(await client.told(call)).said["task"]["taskId"] for call in calls]
    await client.use("cancel_task", task_id=tasks[0])
    await let_run()
    assert len((await client.use("get_elicitations")).said["elicitations"]) == 1
    await client.use("cancel_task", task_id=tasks[1])
    await let_run()
    assert (await client.use("get_elicitations")).said == {"elicitations": []}
    assert [said_of(m) for m in backend.received if isinstance(m, Result | Failure)] == [{"action": "cancel"}]
    await house.close()


@pytest.mark.shows("EB-D7")
async def test_a_question_out_of_nowhere_is_listed() -> None:
    backend = shop()
    house = House({"shop": backend})
    client = await meta(house)
    await client.use("list_tools", server="shop")
    waiting = client.start("await_activity", event_types=["elicitation_request"])
    await let_run()
    backend.ask("elicitation/create", FORM, 0)
    (pending,) = (await client.told(waiting)).said["pending_client"]["elicitations"]
    await client.use("respond_to_elicitation", request_id=pending["requestId"], action="decline")
    await let_run()
    (answer,) = [message for message in backend.received if isinstance(message, Result | Failure)]
    assert (answer.id, said_of(answer)) == (0, {"action": "decline"})
    await house.close()


async def test_several_questions_of_one_call_are_answered_each_in_any_order() -> None:
    async def call(turn: Turn) -> Any:
        forms = [FORM | {"message": str(n)} for n in range(3)]
        asking = [turn.ask("elicitation/create", form, n) for n, form in enumerate(forms)]
        return {
            "content": [],
            "structuredContent": {"answers": [said_of(one) for one in await asyncio.gather(*asking)]},
        }

    house = House({"shop": shop(call)})
    client = await meta(house)
    told, _ = await promoted(client)
    pending = (await client.use("await_activity", timeout_ms=0)).said["pending_client"]["elicitations"]
    for one in reversed(pending):
        content = {"color": "red", "count": int(one["message"])}
        await client.use("respond_to_elicitation", request_id=one["requestId"], action="accept", content=content)
    _, result = await result_of(client, told)
    assert [answer["content"]["count"] for answer in result["answers"]] == [0, 1, 2]
    await house.close()


async def test_a_server_is_told_exactly_what_it_can_ask() -> None:
    backend = shop()
    house = House({"shop": backend})
    client = await meta(house)
    await client.use("list_tools", server="shop")
    assert wire(backend, "initialize")["capabilities"] == {"elicitation": {"form": {}, "url": {}}, "sampling": {}}
    backend.ask("ping", {}, 1)
    backend.ask("roots/list", {}, 2)
    backend.ask("sampling/createMessage", SAMPLE | {"tools": []}, 3)
    backend.ask("elicitation/create", FORM | {"mode": "telepathy"}, 4)
    await let_run()
    answers = {m.id: said_of(m) for m in backend.received if isinstance(m, Result | Failure)}
    assert answers[1] == {}
    assert answers[2] == {"code": -32601, "message": "roots/list was not declared by this client"}
    assert (answers[3]["code"], answers[4]["code"]) == (-32602, -32602)
    assert (await client.use("get_elicitations")).said == {"elicitations": []}
    await house.close()
