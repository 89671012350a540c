"""What a server may ask: declared, read, refused."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.eras.asks import ReadAsk, declare, given_up, read_ask, undeclared
from emceepee.vocabulary.asks import NO_ASKS, AskProfile
from emceepee.vocabulary.outcomes import Done, Failed
from emceepee.vocabulary.raw_json import read_value, to_raw

ALL: AskProfile = frozenset(("form", "url", "sampling"))


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        (NO_ASKS, {}),
        (frozenset(("form",)), {"elicitation": {"form": {}}}),
        (frozenset(("url",)), {"elicitation": {"url": {}}}),
        (frozenset(("sampling",)), {"sampling": {}}),
        (ALL, {"elicitation": {"form": {}, "url": {}}, "sampling": {}}),
    ],
)
def test_what_is_declared_is_the_profile(profile: AskProfile, said: Any) -> None:
    assert declare(profile) == said


@pytest.mark.parametrize(
    ("method", "params", "profile", "code"),
    [
        ("roots/list", {}, ALL, -32601),
        ("tools/call", {}, ALL, -32601),
        ("elicitation/create", {}, frozenset(("sampling",)), -32601),
        ("sampling/createMessage", {}, frozenset(("form", "url")), -32601),
        ("elicitation/create", {"mode": "url"}, frozenset(("form",)), -32602),
        ("elicitation/create", {}, frozenset(("url",)), -32602),
        ("elicitation/create", {"mode": "form", "x": 1}, frozenset(("url",)), -32602),
        ("elicitation/create", {"mode": 7}, ALL, -32602),
        ("elicitation/create", {"mode": "sampling"}, frozenset(("form",)), -32602),
        ("elicitation/create", [], ALL, -32602),
        ("sampling/createMessage", {"tools": [], "messages": []}, ALL, -32602),
    ],
)
def test_what_was_not_declared_is_refused_by_its_code(method: str, params: Any, profile: AskProfile, code: int) -> None:
    refused = read_ask(method, to_raw(params), profile)
    assert isinstance(refused, Failed)
    assert refused.code == code
    assert method in refused.message


def test_what_was_declared_passes_as_it_came_without_what_belongs_to_its_connection() -> None:
    params = to_raw({"message": "?", "new": [1]})
    assert read_ask("elicitation/create", params, ALL) == ReadAsk("elicitation", "form", params)
    found = read_ask("sampling/createMessage", to_raw({"messages": [], "_meta": {"progressToken": 1, "mine": 2}}), ALL)
    assert not isinstance(found, Failed)
    assert (found.kind, read_value(found.params)) == ("sampling", {"messages": [], "_meta": {"mine": 2}})
    assert read_ask("elicitation/create", to_raw({"mode": "url"}), ALL) == ReadAsk(
        "elicitation", "url", to_raw({"mode": "url"})
    )
    assert read_ask("elicitation/create", None, ALL) == ReadAsk("elicitation", "form", to_raw({}))


def test_a_question_that_is_given_up_is_a_cancelled_one() -> None:
    cancelled, failed = given_up("elicitation"), given_up("sampling")
    assert isinstance(cancelled, Done)
    assert read_value(cancelled.payload.raw()) == {"action": "cancel"}
    assert isinstance(failed, Failed)
    assert failed.code == -1
    assert undeclared("x").code == -32601
