"""Questions of servers through our tools: listed, answered, refused with what would fit."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.vocabulary.outcomes import Done, Outcome
from emceepee.vocabulary.raw_json import read_value, to_raw
from tests.meta_tools.conftest import Use
from tests.support.fake_backends import FakeServer, House, make_house

FORM = {
    "message": "Who?",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 1}},
        "required": ["name"],
    },
}


def asked(house: House, params: Any = None, server: str = "a") -> tuple[str, list[Outcome]]:
    got: list[Outcome] = []
    ask = house.middle.workspaces.at("s").begin_ask("elicitation", server, to_raw(params or FORM), got.append)
    return ask.id, got


@pytest.mark.shows("A-PRQ-10", "A-PRQ-11", "A-TOOL-16")
async def test_questions_are_listed_in_full_and_by_server(use: Use) -> None:
    house = make_house(a=FakeServer(), b=FakeServer())
    first, _ = asked(house)
    second, _ = asked(house, server="b")
    listed = (await use(house, "get_elicitations"))["elicitations"]
    assert [one["requestId"] for one in listed] == [first, second]
    assert set(listed[0]) == {"requestId", "server", "timestamp", "params"}
    assert listed[0]["params"] == FORM
    assert [one["server"] for one in (await use(house, "get_elicitations", server="b"))["elicitations"]] == ["b"]


@pytest.mark.shows("A-TOOL-17", "X-CON-28")
async def test_an_answer_goes_to_the_server_as_it_was_given(use: Use) -> None:
    house = make_house(a=FakeServer())
    request_id, got = asked(house)
    content = {"name": "Ada ✓", "age": 36}
    said = await use(house, "respond_to_elicitation", requestId=request_id, action="accept", content=content)
    assert (said["success"], said["requestId"], said["server"]) == (True, request_id, "a")
    assert "get_task_result" in said["next"]
    (outcome,) = got
    assert isinstance(outcome, Done)
    assert read_value(outcome.payload.raw()) == {"action": "accept", "content": content}


@pytest.mark.shows("X-BUG-55")
@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"action": "accept"}, "'content' must be an object with the fields of the schema"),
        ({"action": "accept", "content": {}}, "field 'name' is missing"),
        ({"action": "accept", "content": {"name": 7}}, "field 'name' must be a string"),
        ({"action": "accept", "content": {"name": "x", "age": 0}}, "field 'age' must be at least 1"),
        (
            {"action": "accept", "content": {"name": "x", "aeg": 1}},
            "field 'aeg' was not asked for; the schema has name, age",
        ),
    ],
)
async def test_what_does_not_fit_says_what_would_and_leaves_the_question_open(
    use: Use, answer: Any, problem: str
) -> None:
    house = make_house(a=FakeServer())
    request_id, got = asked(house)
    error = (await use(house, "respond_to_elicitation", request_id=request_id, **answer))["error"]
    assert error["code"] == "TOOL_ERR_INVALID_ANSWER"
    assert error["details"]["problem"] == problem
    assert "still open" in error["next"]
    assert got == []
    assert len((await use(house, "get_elicitations"))["elicitations"]) == 1


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"action": "accept"}, "request_id"),
        ({"request_id": "x"}, "action"),
        ({"request_id": "x", "action": "yes"}, "action"),
    ],
)
async def test_what_is_missing_or_unknown_is_named(use: Use, arguments: Any, field: str) -> None:
    error = (await use(make_house(a=FakeServer()), "respond_to_elicitation", **arguments))["error"]
    assert (error["code"], error["details"]["field"]) == ("TOOL_ERR_INVALID_ARGUMENTS", field)


async def test_a_question_nobody_knows_is_not_found(use: Use) -> None:
    house = make_house(a=FakeServer())
    error = (await use(house, "respond_to_elicitation", request_id="nope", action="decline"))["error"]
    assert error["code"] == "TOOL_ERR_REQUEST_NOT_FOUND"
    assert error["message"] == "Elicitation request 'nope' not found or already completed"
