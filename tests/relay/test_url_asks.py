"""Error -32042 of a former revision becomes questions of the present one, and their answers are read."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.errors import ClientFault
from emceepee.relay.url_asks import addresses_of, declined, needed, refused_by_person
from emceepee.vocabulary.outcomes import Done, Failed
from emceepee.vocabulary.raw_json import read_value, to_raw

ONE = {"mode": "url", "message": "Sign in", "url": "https://shop.example/in", "elicitationId": "e1"}


def failed(*elicitations: Any, code: int = -32042) -> Failed:
    return Failed(code, "URL elicitation required", to_raw({"elicitations": list(elicitations)}))


def test_each_address_is_asked_under_a_key_of_its_own_without_its_id() -> None:
    body = needed(addresses_of(failed(ONE, ONE | {"elicitationId": "e2"})))
    assert body.addresses == ("e1", "e2")
    params = {"mode": "url", "message": "Sign in", "url": "https://shop.example/in"}
    assert {key: read_value(raw) for key, raw in body.requests.items()} == {
        "u1": {"method": "elicitation/create", "params": params},
        "u2": {"method": "elicitation/create", "params": params},
    }


@pytest.mark.parametrize(
    "error",
    [
        failed(ONE, code=-32000),
        Failed(-32042, "no data"),
        Failed(-32042, "odd", to_raw([1])),
        Failed(-32042, "odd", to_raw({"elicitations": "x"})),
        failed("x"),
        failed({"url": "https://x.example"}),
    ],
)
def test_what_cannot_be_shown_stays_the_error_that_it_is(error: Failed) -> None:
    assert addresses_of(error) == []


def test_a_no_to_one_is_a_no_and_silence_is_not_yet_anything() -> None:
    yes, no = to_raw({"action": "accept"}), to_raw({"action": "decline"})
    assert refused_by_person({"u1": yes, "u2": yes}, 2) is False
    assert refused_by_person({"u1": yes}, 2) is None
    assert refused_by_person({"u2": no}, 2) is True
    with pytest.raises(ClientFault, match="action"):
        refused_by_person({"u1": to_raw({"action": "yes"})}, 1)


def test_a_tool_has_failed_and_anything_else_is_an_error() -> None:
    tool = declined("tools/call")
    assert isinstance(tool, Done)
    assert read_value(tool.payload.raw())["isError"] is True
    assert isinstance(declined("prompts/get"), Failed)
