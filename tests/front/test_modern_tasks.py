"""What a modern client asks about tasks, at the desk: whose task it is, and what goes to its server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from emceepee.errors import ClientFault
from emceepee.front.modern_tasks import answer_task_request
from emceepee.protocol.messages import Request
from emceepee.vocabulary.calls import Caller
from emceepee.vocabulary.raw_json import Fields, to_raw
from tests.support.fake_surface import FakeSurface
from tests.support.front_bench import SERVER_INFO

TAKES = Caller(capabilities={"extensions": Raw(b'{"io.modelcontextprotocol/tasks":{}}')})


async def answered(surface: FakeSurface, method: str, **params: Any) -> Any:
    request = Request(7, method, to_raw(params))
    message = json.loads(await answer_task_request(surface.tasks, request, TAKES, SERVER_INFO))
    assert message["id"] == 7
    return message["result"]


async def test_answers_go_to_the_server_that_asked_and_others_are_ignored() -> None:
    surface = FakeSurface()
    workspace = surface.workspaces.at(TAKES.scope)
    view = workspace.begin_task(("files", "grep", None), None)
    heard: list[Fields] = []

    async def hear(answers: Fields) -> None:
        heard.append(answers)

    workspace.tasks.note(view.id, workspace.now(), "asking", {"a": to_raw({"method": "elicitation/create"})}, hear)
    asking = await answered(surface, "tasks/get", taskId=view.id)
    assert (asking["status"], asking["inputRequests"]) == ("input_required", {"a": {"method": "elicitation/create"}})
    for answers in ({"b": 1}, {"a": {"action": "accept"}, "b": 1}):
        told = await answered(surface, "tasks/update", taskId=view.id, inputResponses=answers)
        assert told == {"resultType": "complete", "_meta": told["_meta"]}
    assert heard == [{"a": to_raw({"action": "accept"})}]
    await workspace.close()


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_nobody_has_a_task_who_has_no_workspace(method: str) -> None:
    with pytest.raises(ClientFault) as caught:
        await answered(FakeSurface(), method, taskId="T", inputResponses={})
    assert caught.value.message == "Task 'T' not found"
