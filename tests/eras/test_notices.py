"""Notifications read into notices, and progress written back."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.eras.notices import read_notice, read_progress, write_progress
from emceepee.vocabulary.notices import ListChanged, LogLine, OtherNotice, ResourceUpdated
from emceepee.vocabulary.raw_json import read_value, write
from tests.support.era_requests import SUBSCRIPTION_ID, raw

TAG = {SUBSCRIPTION_ID: 4}


def plain(fields: Any) -> Any:
    return read_value(write(fields))


@pytest.mark.parametrize("kind", ["tools", "prompts", "resources"])
def test_a_changed_list_is_known_by_its_kind(kind: Any) -> None:
    assert read_notice(f"notifications/{kind}/list_changed", None) == ListChanged(kind)
    assert read_notice(f"notifications/{kind}/list_changed", raw({"_meta": TAG})) == ListChanged(kind)


def test_a_log_line_keeps_all_its_fields() -> None:
    params = {"level": "warning", "logger": "x", "data": {"a": [1]}, "unknown": 1, "_meta": {"v/k": 1}}
    notice = read_notice("notifications/message", raw(params))
    assert isinstance(notice, LogLine)
    assert notice.level == "warning"
    assert plain(notice.params) == params


def test_an_update_keeps_its_fields_but_not_the_tag_of_its_stream() -> None:
    notice = read_notice("notifications/resources/updated", raw({"uri": "u", "title": "t", "_meta": {**TAG, "v/k": 1}}))
    assert isinstance(notice, ResourceUpdated)
    assert notice.uri == "u"
    assert plain(notice.params) == {"uri": "u", "title": "t", "_meta": {"v/k": 1}}


def test_only_the_tag_leaves_no_meta_behind() -> None:
    notice = read_notice("vendor/told", raw({"_meta": TAG}))
    assert notice == OtherNotice("vendor/told", {})


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("notifications/message", {"level": "loud"}),
        ("notifications/message", {}),
        ("notifications/message", []),
        ("notifications/resources/updated", {"uri": 5}),
        ("notifications/cancelled", {"requestId": 1}),
        ("notifications/progress", {"progressToken": 1, "progress": 1}),
        ("notifications/tasks/status", {"taskId": "1"}),
        ("notifications/elicitation/complete", {"elicitationId": "1"}),
        ("notifications/subscriptions/acknowledged", {"notifications": {}}),
    ],
)
def test_what_is_malformed_or_about_one_connection_is_no_notice(method: str, params: Any) -> None:
    assert read_notice(method, raw(params)) is None


def test_an_unknown_notification_crosses_whole() -> None:
    notice = read_notice("vendor/told", raw({"a": {"b": 1}}))
    assert isinstance(notice, OtherNotice)
    assert (notice.method, plain(notice.params)) == ("vendor/told", {"a": {"b": 1}})


@pytest.mark.parametrize("token", [1, "1", 0, ""])
def test_progress_changes_its_token_and_nothing_else(token: Any) -> None:
    params = {"progressToken": "ours-7", "progress": 0.5, "total": 2, "message": "half", "unknown": [1]}
    progress = read_progress(raw(params))
    assert progress is not None
    assert progress.progress == 0.5
    written = read_value(write_progress(progress, token))
    assert written == {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {**params, "progressToken": token},
    }
    assert type(written["params"]["progressToken"]) is type(token)


def test_a_field_that_a_revision_does_not_know_can_be_left_out() -> None:
    progress = read_progress(raw({"progressToken": 1, "progress": 1, "message": "m"}))
    assert progress is not None
    assert read_value(write_progress(progress, 1, without="message"))["params"] == {"progressToken": 1, "progress": 1}


@pytest.mark.parametrize("params", [[], {}, {"progress": "1"}, {"progress": None}, {"progress": True}])
def test_progress_without_a_number_is_none(params: Any) -> None:
    assert read_progress(raw(params)) is None
