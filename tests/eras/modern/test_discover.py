"""`server/discover`: what we say of ourselves, and what we understand of others."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types.methods import parse_server_result

from emceepee.eras.faults import Incomplete, Violation
from emceepee.eras.modern.discover import read_discover, supported_by, write_discover, write_discover_params
from emceepee.protocol.messages import ErrorObject
from emceepee.vocabulary.raw_json import read_fields, read_text, read_value
from tests.support.era_requests import ENVELOPE, SERVER_INFO, raw

INFO = raw({"name": "emceepee", "version": "1"})
WHOLE: dict[str, Any] = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28", "2099-01-01"],
    "capabilities": {"tools": {}},
    "instructions": "be kind",
    "ttlMs": 5,
    "cacheScope": "public",
    "_meta": {SERVER_INFO: {"name": "b", "version": "2"}},
}


def test_we_name_five_versions_and_all_that_the_specification_wants() -> None:
    written = read_value(write_discover({"tools": raw({}), "tasks": raw({})}, INFO, "hello"))
    assert written == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
        "capabilities": {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
        "instructions": "hello",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {SERVER_INFO: {"name": "emceepee", "version": "1"}},
    }
    parse_server_result("server/discover", "2026-07-28", written)
    assert "instructions" not in read_value(write_discover({}, INFO, None))


def test_tasks_are_offered_where_there_are_tools_beside_what_else_is_offered() -> None:
    other = {"extensions": {"vendor.example/ui": {}}}
    assert read_value(write_discover(read_fields(raw(other)), INFO, None))["capabilities"] == other
    written = read_value(write_discover(read_fields(raw({"tools": {}, **other})), INFO, None))
    assert set(written["capabilities"]["extensions"]) == {"vendor.example/ui", "io.modelcontextprotocol/tasks"}


def test_a_server_is_read_as_it_describes_itself() -> None:
    versions, about = read_discover(raw(WHOLE))
    assert versions == ["2026-07-28", "2099-01-01"]
    assert about.offers("tools")
    assert not about.offers("prompts")
    assert (about.instructions, about.revision) == ("be kind", "2026-07-28")
    assert read_text(read_fields(about.server_info or b"{}")["name"]) == "b"


def test_a_server_without_our_revision_has_none() -> None:
    assert read_discover(raw({**WHOLE, "supportedVersions": ["2099-01-01"]}))[1].revision == ""


@pytest.mark.parametrize(
    "result",
    [
        {},
        [],
        "x",
        {**WHOLE, "supportedVersions": "all"},
        {**WHOLE, "supportedVersions": [1]},
        {**WHOLE, "capabilities": []},
    ],
)
def test_rubbish_is_a_violation(result: Any) -> None:
    with pytest.raises(Violation):
        read_discover(raw(result))


def test_an_answer_of_another_type_is_none() -> None:
    with pytest.raises(Incomplete):
        read_discover(raw({**WHOLE, "resultType": "input_required"}))


def test_our_probe_carries_a_whole_envelope() -> None:
    info = raw({"name": "tester", "version": "1"})
    assert read_value(write_discover_params(info)) == {"_meta": ENVELOPE}


@pytest.mark.parametrize(
    ("data", "listed"),
    [
        ({"supported": ["2026-07-28"], "requested": "x"}, ["2026-07-28"]),
        ({"supported": []}, []),
        ({"supported": "x"}, None),
        ({}, None),
        ([], None),
        (None, None),
    ],
)
def test_the_versions_in_a_refusal_are_read_where_they_can_be(data: Any, listed: Any) -> None:
    assert supported_by(ErrorObject(-32022, "no", None if data is None else raw(data))) == listed
