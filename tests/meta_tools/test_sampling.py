"""What servers want written, through our tools."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.vocabulary.outcomes import Done, Outcome
from emceepee.vocabulary.raw_json import read_value, to_raw
from tests.meta_tools.conftest import Use
from tests.support.fake_backends import FakeServer, House, make_house

WANTED = {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 5}
TEXT = {"type": "text", "text": "Ho"}


def asked(house: House) -> tuple[str, list[Outcome]]:
    got: list[Outcome] = []
    return house.middle.workspaces.at("s").begin_ask("sampling", "a", to_raw(WANTED), got.append).id, got


@pytest.mark.shows("A-TOOL-14", "A-PRQ-10", "A-PRQ-11")
async def test_they_are_listed_in_full(use: Use) -> None:
    house = make_house(a=FakeServer())
    request_id, _ = asked(house)
    (listed,) = (await use(house, "get_sampling_requests", server="a"))["sampling_requests"]
    assert (listed["requestId"], listed["params"]) == (request_id, WANTED)
    assert (await use(house, "get_sampling_requests", server="b"))["sampling_requests"] == []


@pytest.mark.shows("A-TOOL-15")
@pytest.mark.parametrize(
    ("given", "content"),
    [
        ("Ho", TEXT),
        (TEXT, TEXT),
        ('{"type": "text", "text": "Ho"}', TEXT),
        ('{"mood": "good"}', {"type": "text", "text": '{"mood": "good"}'}),
        ({"type": "image", "data": "AA==", "mimeType": "image/png"},) * 2,
    ],
)
async def test_an_answer_has_role_content_model_and_reason(use: Use, given: Any, content: Any) -> None:
    house = make_house(a=FakeServer())
    request_id, got = asked(house)
    await use(house, "respond_to_sampling", requestId=request_id, content=given, model="m", stopReason="maxTokens")
    (outcome,) = got
    assert isinstance(outcome, Done)
    answer = {"role": "assistant", "content": content, "model": "m", "stopReason": "maxTokens"}
    assert read_value(outcome.payload.raw()) == answer


@pytest.mark.shows("X-BUG-55")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"content": "x"}, "TOOL_ERR_INVALID_ARGUMENTS"),
        ({"content": "x", "model": ""}, "TOOL_ERR_INVALID_ANSWER"),
        ({"content": 7, "model": "m"}, "TOOL_ERR_INVALID_ARGUMENTS"),
        ({"content": {"text": "x"}, "model": "m"}, "TOOL_ERR_INVALID_ANSWER"),
        ({"content": "x", "model": "m", "role": "system"}, "TOOL_ERR_INVALID_ARGUMENTS"),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_and_can_be_given_again(
    use: Use, arguments: Any, code: str
) -> None:
    house = make_house(a=FakeServer())
    request_id, got = asked(house)
    error = (await use(house, "respond_to_sampling", request_id=request_id, **arguments))["error"]
    assert error["code"] == code
    assert got == []
    await use(house, "respond_to_sampling", request_id=request_id, content="x", model="m")
    assert len(got) == 1
