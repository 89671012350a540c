"""Tools that ask where nobody can be asked: what their callers are told."""

from __future__ import annotations

from typing import Any

from emceepee.eras.faults import Incomplete
from emceepee.eras.needs_asking import result_instead, tool_that_asks
from emceepee.vocabulary.outcomes import Failed
from emceepee.vocabulary.raw_json import read_value
from tests.support.era_requests import raw


def unfinished(**members: Any) -> Incomplete:
    return Incomplete(members.pop("resultType", "input_required"), {key: raw(value) for key, value in members.items()})


def test_a_tool_that_needs_a_missing_capability_fails_as_a_tool_and_names_it() -> None:
    failed = Failed(-32021, "elicitation needed", raw({"requiredCapabilities": {"elicitation": {}}}))
    written = read_value(result_instead("tools/call", failed) or b"")
    assert written["isError"] is True
    assert written["content"][0]["text"].endswith("(elicitation): elicitation needed")


def test_no_other_failure_is_told_as_a_tools() -> None:
    assert result_instead("prompts/get", Failed(-32021, "no")) is None
    assert result_instead("tools/call", Failed(-32602, "no")) is None


def test_a_capability_that_is_named_in_no_readable_way_is_left_out() -> None:
    for data in (None, raw({"requiredCapabilities": 5}), raw([1])):
        assert read_value(result_instead("tools/call", Failed(-32021, "no", data)) or b"")["isError"] is True


def test_a_tool_that_asks_has_failed_as_a_tool_and_says_what_it_wanted() -> None:
    asks = {"a": {"method": "sampling/createMessage"}, "b": {"method": "elicitation/create"}, "c": 5}
    told = tool_that_asks("tools/call", unfinished(inputRequests=asks))
    assert told is not None
    result = read_value(told.payload.raw())
    assert result["isError"] is True
    assert result["content"][0]["text"].endswith("(elicitation/create, sampling/createMessage)")
    assert tool_that_asks("tools/call", unfinished(requestState="abc")) is not None


def test_no_other_unfinished_result_is_told_as_a_tools_failure() -> None:
    assert tool_that_asks("prompts/get", unfinished(inputRequests={})) is None
    assert tool_that_asks("tools/call", unfinished(resultType="task")) is None
