"""Asks of either era in the words of the present one, and what a client brings when it comes back."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from emceepee.eras.modern.input_needed import input_requests, take_answers, write_input_needed
from emceepee.errors import ClientFault
from emceepee.vocabulary.outcomes import InputNeeded
from emceepee.vocabulary.raw_json import read_value, to_raw

INFO = to_raw({"name": "us"})
META = {"io.modelcontextprotocol/serverInfo": {"name": "us"}}


def asked(method: str, params: Any) -> Any:
    (raw,) = input_requests({"k": to_raw({"method": method, "params": params})}).values()
    return read_value(raw)["params"]


@pytest.mark.parametrize(
    ("method", "former", "present"),
    [
        ("elicitation/create", {"message": "?"}, {"mode": "form", "message": "?"}),
        (
            "elicitation/create",
            {"mode": "url", "url": "u", "elicitationId": "e", "_meta": {"progressToken": 1}, "task": {"ttl": 1}},
            {"mode": "url", "url": "u"},
        ),
        ("sampling/createMessage", {"maxTokens": 1, "task": {}, "x": 1}, {"maxTokens": 1, "x": 1}),
        ("roots/list", {}, {}),
    ],
)
def test_what_this_era_has_no_place_for_is_taken_out(method: str, former: Any, present: Any) -> None:
    assert asked(method, former) == present


def test_what_needs_no_change_stays_as_it_was_written() -> None:
    raw = Raw(b'{ "method":"elicitation/create", "params":{"mode":"form",  "n":1.50} }')
    assert input_requests({"k": raw})["k"] is raw
    odd = Raw(b"7")
    assert input_requests({"k": odd})["k"] is odd


def test_a_result_says_what_is_asked_and_the_state_and_no_more() -> None:
    raw = to_raw({"method": "roots/list", "params": {}})
    assert read_value(write_input_needed(InputNeeded({"k": raw}, {}, to_raw("s")), INFO)) == {
        "resultType": "input_required",
        "_meta": META,
        "inputRequests": {"k": {"method": "roots/list", "params": {}}},
        "requestState": "s",
    }
    assert read_value(write_input_needed(InputNeeded({}, {}, to_raw("s")), INFO)) == {
        "resultType": "input_required",
        "_meta": META,
        "requestState": "s",
    }
    assert "requestState" not in read_value(write_input_needed(InputNeeded({"k": raw}, {}), INFO))


def test_what_a_client_brings_is_taken_out_of_the_call() -> None:
    params = {"name": to_raw("n"), "requestState": to_raw("s"), "inputResponses": to_raw({"k": {"action": "cancel"}})}
    answers, state = take_answers("tools/call", params)
    assert list(params) == ["name"]
    assert answers is not None
    assert {key: read_value(raw) for key, raw in answers.items()} == {"k": {"action": "cancel"}}
    assert state is not None
    assert bytes(state) == b'"s"'
    assert take_answers("tools/call", params) == (None, None)


@pytest.mark.parametrize(("key", "value"), [("requestState", 7), ("requestState", None), ("inputResponses", [])])
def test_what_is_of_a_wrong_shape_is_refused(key: str, value: Any) -> None:
    with pytest.raises(ClientFault, match=key):
        take_answers("tools/call", {key: to_raw(value)})
