"""Asks of servers behind HTTP, over real sockets: on the call's own stream, on the standing one, over the old
transport."""

from __future__ import annotations

import pytest

from emceepee.backends.definition import HttpEndpoint, ServerDefinition
from tests.conversations.house import House
from tests.conversations.meta_client import meta
from tests.support.asking_server import AskingServer, Way
from tests.support.http_backend import HttpBackend


@pytest.mark.shows("EB-D8", "A-CON-11", "A-CON-12")
@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage"])
@pytest.mark.parametrize("way", ["post", "get", "sse"])
async def test_a_question_is_heard_on_whichever_stream_and_answered_once(way: Way, method: str) -> None:
    server = AskingServer(way, method)
    async with HttpBackend(server.answer) as backend:
        house = House({}, (ServerDefinition("far", HttpEndpoint(backend.url)),))
        client = await meta(house)
        told = await client.use("execute_tool", server="far", tool="ask")
        assert told.said["input_required"] is True
        assert server.declared == {"elicitation": {"form": {}, "url": {}}, "sampling": {}}
        assert told.pending is not None
        if method == "elicitation/create":
            (pending,) = told.pending["elicitations"]
            wanted = {"action": "accept", "content": {"any": 1}}
            await client.use("respond_to_elicitation", request_id=pending["requestId"], **wanted)
        else:
            (pending,) = told.pending["sampling_requests"]
            wanted = {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m", "stopReason": "s"}
            given = {"content": "hi", "model": "m", "stop_reason": "s"}
            await client.use("respond_to_sampling", request_id=pending["requestId"], **given)
        fetch = client.start("get_task_result", task_id=told.said["task"]["taskId"], timeout_ms=5000)
        result = (await fetch.done()).json["result"]
        assert result["structuredContent"] == {"answers": [wanted]}
        assert server.answers == 1
        await house.close()


@pytest.mark.shows("A-REC-27", "X-BUG-39")
async def test_a_server_that_has_lost_its_session_has_forgotten_what_it_asked() -> None:
    server = AskingServer("post")
    async with HttpBackend(server.answer) as backend:
        house = House({}, (ServerDefinition("far", HttpEndpoint(backend.url)),))
        client = await meta(house)
        told = await client.use("execute_tool", server="far", tool="ask")
        assert told.pending is not None
        (pending,) = told.pending["elicitations"]
        server.forgetful = True
        listed = await client.use("list_resources", server="far")
        told = await client.use("list_tools", server="far")
        gone = await client.use("respond_to_elicitation", request_id=pending["requestId"], action="decline")
        assert gone.said["error"]["code"] == "TOOL_ERR_REQUEST_NOT_FOUND"
        assert server.answers == 0
        assert (listed.kinds + told.kinds + gone.kinds).count("elicitation_expired") == 1
        await house.close()


@pytest.mark.shows("A-CFG-18", "A-PRQ-13")
async def test_a_server_that_is_removed_is_told_so_where_it_asked() -> None:
    server = AskingServer("get")
    async with HttpBackend(server.answer) as backend:
        house = House({}, (ServerDefinition("far", HttpEndpoint(backend.url)),))
        client = await meta(house)
        await client.use("execute_tool", server="far", tool="ask")
        await client.use("remove_server", name="far")
        assert (await server.answered)["message"] == "Server removed"
        assert server.answers == 1
        await house.close()


@pytest.mark.parametrize("way", ["post", "sse"])
@pytest.mark.parametrize("status", [401, 500, 503])
async def test_a_call_whose_server_does_not_take_the_answer_waits_no_longer(way: Way, status: int) -> None:
    server = AskingServer(way)
    async with HttpBackend(server.answer) as backend:
        house = House({}, (ServerDefinition("far", HttpEndpoint(backend.url)),))
        client = await meta(house)
        told = await client.use("execute_tool", server="far", tool="ask")
        assert told.pending is not None
        (pending,) = told.pending["elicitations"]
        server.refuses = status
        await client.use("respond_to_elicitation", request_id=pending["requestId"], action="decline")
        fetch = await client.use("get_task_result", task_id=told.said["task"]["taskId"], timeout_ms=5000)
        error = fetch.said["error"]["details"]["task"]["error"]
        assert f"it did not take the answer to what it asked: answered HTTP {status}" in error
        await house.close()
