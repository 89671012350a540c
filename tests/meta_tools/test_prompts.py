"""Prompts, and completion."""

from __future__ import annotations

import pytest

from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import Payload, read_value
from tests.meta_tools.conftest import Use
from tests.support.fake_backends import FakeServer, House, answers, make_house

PROMPT = {"name": "p", "arguments": [{"name": "x"}]}


def house(**answer: object) -> House:
    return make_house(a=FakeServer(lists={"prompts": [PROMPT]}, answer=answers(Done(Payload.of(answer)))))


def params(house: House) -> dict[str, object]:
    return {name: read_value(raw) for name, raw in house.pool.servers["a"].asked[-1].params.items()}


@pytest.mark.shows("A-TOOL-09")
async def test_prompts_are_listed_complete(use: Use) -> None:
    assert (await use(house(), "list_prompts"))["prompts"] == [{"server": "a"} | PROMPT]


@pytest.mark.shows("A-TOOL-10")
async def test_a_prompt_is_got_with_arguments_as_strings(use: Use) -> None:
    asked = house(messages=[{"role": "user"}])
    said = await use(asked, "get_prompt", server="a", name="p", args={"x": 1, "y": True, "z": "s"})
    assert said == {"messages": [{"role": "user"}]}
    assert params(asked) == {"name": "p", "arguments": {"x": "1", "y": "true", "z": "s"}}


@pytest.mark.shows("X-GAP-14")
async def test_an_argument_of_a_prompt_or_template_is_completed(use: Use) -> None:
    asked = house(completion={"values": ["ab"]})
    said = await use(asked, "complete", server="a", prompt="p", argument="x", value="a", context={"y": "1"})
    assert said == {"completion": {"values": ["ab"]}}
    assert params(asked) == {
        "ref": {"type": "ref/prompt", "name": "p"},
        "argument": {"name": "x", "value": "a"},
        "context": {"arguments": {"y": "1"}},
    }
    await use(asked, "complete", server="a", uriTemplate="r:{x}", argument="x")
    assert params(asked)["ref"] == {"type": "ref/resource", "uri": "r:{x}"}


@pytest.mark.parametrize("both", [{}, {"prompt": "p", "uri_template": "r:{x}"}])
async def test_completion_needs_exactly_one_of_the_two(use: Use, both: dict[str, str]) -> None:
    error = (await use(house(), "complete", server="a", argument="x", **both))["error"]
    assert error["code"] == "TOOL_ERR_INVALID_ARGUMENTS"
