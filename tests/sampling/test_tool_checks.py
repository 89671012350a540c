"""Tools in a request: each call has its result in the next message, and nothing else does."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.sampling.tool_checks import offer_problems, order_problems
from tests.sampling.samples import assistant, text, user


def use(*ids: str) -> dict[str, Any]:
    return assistant([{"type": "tool_use", "id": one, "name": "t", "input": {}} for one in ids])


def result(*ids: str) -> dict[str, Any]:
    return user([{"type": "tool_result", "toolUseId": one, "content": []} for one in ids])


@pytest.mark.parametrize(
    "messages",
    [
        [user("a")],
        [user("a"), use("1"), result("1")],
        [use("1", "2"), result("2", "1"), assistant("done")],
        [assistant([text("I will look"), *use("1")["content"]]), result("1")],
    ],
)
def test_calls_with_their_results_pass(messages: list[Any]) -> None:
    assert list(order_problems(messages)) == []


@pytest.mark.parametrize(
    ("messages", "field", "says"),
    [
        ([use("1")], "messages[1]", "Tool use '1' has no result"),
        ([use("1"), user("no")], "messages[1].content", "Tool use '1' has no result"),
        ([use("1", "2"), result("1")], "messages[1].content", "Tool use '2' has no result"),
        ([result("1")], "messages[0].content", "No tool use '1' for this result"),
        ([use("1"), result("1"), result("1")], "messages[2].content", "No tool use '1' for this result"),
        ([user(use("1")["content"])], "messages[0].content", "Only the assistant can use tools"),
        ([use("1"), assistant(result("1")["content"])], "messages[1].content", "Only the user can give tool results"),
        (
            [use("1"), user([text("and"), *result("1")["content"]])],
            "messages[1].content",
            "Tool results must not be mixed with other content",
        ),
    ],
)
def test_calls_and_results_that_do_not_match_are_named(messages: list[Any], field: str, says: str) -> None:
    found = [(problem.field, problem.says) for problem in order_problems(messages)]
    assert (field, says) in found


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"tools": {}}, "tools"),
        ({"tools": [1]}, "tools[0]"),
        ({"tools": [{"inputSchema": {}}]}, "tools[0].name"),
        ({"tools": [{"name": "a"}]}, "tools[0].inputSchema"),
        ({"tools": [{"name": "a", "inputSchema": {}, "description": 1}]}, "tools[0].description"),
        ({"toolChoice": "auto"}, "toolChoice"),
        ({"toolChoice": {"mode": "any"}}, "toolChoice.mode"),
    ],
)
def test_an_offer_that_is_wrong_is_named(params: dict[str, Any], field: str) -> None:
    assert [problem.field for problem in offer_problems(params)] == [field]


def test_a_sound_offer_passes() -> None:
    tools = [{"name": "a", "inputSchema": {"type": "object"}, "description": "d", "x": 1}]
    assert not list(offer_problems({"tools": tools, "toolChoice": {"mode": "required"}}))
