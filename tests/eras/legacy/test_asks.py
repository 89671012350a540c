"""An ask in the words of each revision, and what is an answer."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.eras.legacy.asks import answer_for, read_answer, read_complete, required_ids, write_ask, write_complete
from emceepee.vocabulary.asks import AskKind
from emceepee.vocabulary.outcomes import Done, Failed, Outcome
from emceepee.vocabulary.raw_json import Payload, read_value, to_raw

TEXT = {"type": "text", "text": "hi"}


def written(kind: AskKind, params: Any, revision: str) -> Any:
    message = read_value(write_ask("ask-1", kind, to_raw(params), revision))
    assert message["id"] == "ask-1"
    assert message["params"].pop("_meta")["progressToken"] == "ask-1"
    return message["params"]


def test_the_newest_revision_is_told_as_it_came() -> None:
    for kind, params in (
        ("elicitation", {"mode": "url", "url": "https://a.example/", "message": "?", "elicitationId": "e", "new": 1}),
        ("sampling", {"messages": [{"role": "user", "content": [TEXT]}], "tools": []}),
        ("roots", {}),
    ):
        assert written(kind, params, "2025-11-25") == params  # type: ignore[arg-type]
    meta = read_value(write_ask("ask-1", "roots", to_raw({"_meta": {"traceparent": "x"}}), "2025-11-25"))
    assert meta["params"] == {"_meta": {"traceparent": "x", "progressToken": "ask-1"}}
    assert meta["method"] == "roots/list"
    assert written("sampling", {"task": {"ttl": 1}}, "2025-11-25") == {}


def test_an_older_revision_has_no_modes_and_names_choices_otherwise() -> None:
    titled = [{"const": "r", "title": "Red"}, {"const": "b"}]
    properties = {
        "color": {"type": "string", "oneOf": titled, "default": "r"},
        "many": {"type": "array", "items": {"anyOf": titled}},
        "sure": {"type": "boolean", "default": True},
    }
    form = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": properties}}
    told = written("elicitation", form, "2025-06-18")
    assert "mode" not in told
    assert told["requestedSchema"]["properties"] == {
        "color": {"type": "string", "enum": ["r", "b"], "enumNames": ["Red", "b"]},
        "many": {"type": "array", "items": {"anyOf": titled}},
        "sure": {"type": "boolean", "default": True},
    }


def test_an_older_revision_samples_one_block_at_a_time_and_without_tools() -> None:
    asked = {"messages": [{"role": "user", "content": [TEXT]}, {"role": "user", "content": TEXT}], "tools": []}
    told = written("sampling", asked, "2025-06-18")
    assert told == {"messages": [{"role": "user", "content": TEXT}] * 2}


@pytest.mark.parametrize(
    ("kind", "result", "fits"),
    [
        ("elicitation", {"action": "accept", "content": {}}, True),
        ("elicitation", {"action": "perhaps"}, False),
        ("elicitation", [], False),
        ("sampling", {"role": "assistant"}, True),
        ("roots", {"roots": []}, True),
        ("roots", {}, False),
    ],
)
def test_only_an_answer_is_passed_on(kind: AskKind, result: Any, fits: bool) -> None:
    outcome = read_answer(kind, to_raw(result))
    assert isinstance(outcome, Done if fits else Failed)


def test_what_belongs_to_the_clients_connection_stays_there() -> None:
    meta = {"io.modelcontextprotocol/related-task": {"taskId": "t"}, "x": 1}
    outcome = read_answer("elicitation", to_raw({"action": "decline", "_meta": meta}))
    assert isinstance(outcome, Done)
    assert read_value(outcome.payload.raw()) == {"action": "decline", "_meta": {"x": 1}}


def test_an_older_server_is_given_one_block_or_an_error() -> None:
    one, two = (Done(Payload.of({"model": "m", "content": [TEXT] * count})) for count in (1, 2))

    def told(outcome: Outcome, revision: str) -> Any:
        answer = answer_for("sampling", outcome, revision)
        return read_value(answer.payload.raw())["content"] if isinstance(answer, Done) else answer.code

    assert (told(one, "2025-06-18"), told(two, "2025-06-18")) == (TEXT, -32603)
    assert (told(one, "2025-11-25"), told(two, "2025-11-25")) == ([TEXT], [TEXT, TEXT])
    failed = Failed(-1, "no")
    assert answer_for("sampling", failed, "2025-06-18") is failed
    assert answer_for("roots", one, "2025-06-18") is one


def test_which_addresses_are_meant() -> None:
    assert read_value(write_complete("e1"))["params"] == {"elicitationId": "e1"}
    assert read_complete(to_raw({"elicitationId": "e1"})) == "e1"
    assert read_complete(to_raw([])) is read_complete(None) is None
    assert required_ids(to_raw({"elicitations": [{"elicitationId": "a"}, {}, {"elicitationId": "b"}]})) == ["a", "b"]
    assert required_ids(to_raw({"elicitations": 3})) == required_ids(None) == []
