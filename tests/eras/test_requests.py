"""The requests that are carried, and what is refused before anybody is asked."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.eras.requests import CARRIED, carried_params
from emceepee.errors import ClientFault
from emceepee.protocol.messages import Request
from emceepee.vocabulary.raw_json import read_value
from tests.support.era_requests import legacy_request, raw

WHOLE: dict[str, Any] = {"name": "n", "uri": "u", "ref": {"type": "ref/prompt"}, "argument": {"name": "a", "value": ""}}


@pytest.mark.parametrize("method", sorted(CARRIED))
def test_whole_params_pass_with_all_their_unknown_fields(method: str) -> None:
    params = {**WHOLE, "unknown": {"deep": 1}, "cursor": "", "arguments": {}}
    found = carried_params(legacy_request(method, params))
    assert {key: read_value(value) for key, value in found.items()} == params


@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"])
def test_a_list_needs_no_params(method: str) -> None:
    assert carried_params(legacy_request(method)) == {}


def test_optional_params_may_be_null() -> None:
    for params in ({"name": "n", "arguments": None}, {"name": "n"}):
        carried_params(legacy_request("tools/call", params))
    carried_params(legacy_request("tools/list", {"cursor": None}))


@pytest.mark.parametrize("method", ["ping", "initialize", "tasks/get", "roots/list", "sampling/createMessage", "x", ""])
def test_a_method_that_is_not_carried_is_not_found(method: str) -> None:
    with pytest.raises(ClientFault) as caught:
        carried_params(legacy_request(method))
    assert caught.value.code == -32601


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", None),
        ("tools/call", {}),
        ("tools/call", {"name": 5}),
        ("tools/call", {"name": None}),
        ("tools/call", {"name": "n", "arguments": "{}"}),
        ("tools/call", {"name": "n", "arguments": [1]}),
        ("prompts/get", {"name": ["n"]}),
        ("resources/read", {"uri": {}}),
        ("resources/read", {}),
        ("completion/complete", {"ref": {}}),
        ("completion/complete", {"ref": "x", "argument": {}}),
        ("completion/complete", {"ref": {}, "argument": {}, "context": []}),
        ("tools/list", {"cursor": 5}),
        ("tools/list", []),
        ("tools/list", "x"),
    ],
)
def test_a_wrong_shape_is_the_clients_fault_and_says_where(method: str, params: Any) -> None:
    with pytest.raises(ClientFault) as caught:
        carried_params(Request(1, method, None if params is None else raw(params)))
    assert caught.value.code == -32602
    assert method in caught.value.message
