"""Refusals: as a value, and as the answer that they become."""

from __future__ import annotations

from emceepee.eras.refusal import Refusal, mismatch, unsupported_version
from emceepee.vocabulary.raw_json import read_value


def test_a_refusal_becomes_the_answer_to_a_request() -> None:
    refusal = mismatch("Mcp-Name header is missing").answering("4")
    assert refusal.status == 400
    assert read_value(refusal.body()) == {
        "jsonrpc": "2.0",
        "id": "4",
        "error": {"code": -32020, "message": "Mcp-Name header is missing"},
    }


def test_without_a_readable_id_it_answers_null() -> None:
    assert read_value(Refusal(400, -32600, "no").body())["id"] is None


def test_an_unsupported_version_names_what_was_asked_and_what_there_is() -> None:
    error = read_value(unsupported_version("2099-01-01", 1).body())["error"]
    assert error["data"]["requested"] == "2099-01-01"
    assert error["data"]["supported"][0] == "2026-07-28"
