"""`subscriptions/listen`: the wish, the honest subset, and the id on everything."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types.methods import parse_server_notification, parse_server_result

from emceepee.eras.modern.envelope import check
from emceepee.eras.modern.listen import (
    listen_id_of,
    read_acknowledged,
    read_listen,
    write_acknowledged,
    write_listen,
    write_listen_end,
    write_listen_notice,
)
from emceepee.errors import ClientFault
from emceepee.protocol.messages import Request
from emceepee.vocabulary.notices import (
    Interest,
    ListChanged,
    LogLine,
    OtherNotice,
    Progress,
    ResourceUpdated,
    TaskChanged,
)
from emceepee.vocabulary.raw_json import read_fields, read_value
from emceepee.vocabulary.tasks import Task
from tests.support.era_requests import CAPABILITIES, SERVER_INFO, SUBSCRIPTION_ID, legacy_request, modern_request, raw

TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
IDS = [4, "4", 0, "", -1]


def listen(notifications: Any, capabilities: Any = None) -> Request:
    meta = {} if capabilities is None else {CAPABILITIES: capabilities}
    return modern_request("subscriptions/listen", {"notifications": notifications}, meta)


def test_a_wish_is_read_with_all_it_names() -> None:
    wish = {"toolsListChanged": True, "promptsListChanged": False, "resourceSubscriptions": ["a", "b", "a"], "new": 1}
    assert read_listen(listen(wish)) == Interest(frozenset({"tools"}), frozenset({"a", "b"}))
    assert read_listen(listen({})) == Interest()


@pytest.mark.parametrize("wish", [None, [], {"toolsListChanged": "yes"}, {"resourceSubscriptions": "a"}])
def test_a_malformed_wish_is_the_clients_fault(wish: Any) -> None:
    with pytest.raises(ClientFault) as caught:
        read_listen(listen(wish))
    assert caught.value.code == -32602


@pytest.mark.parametrize("params", [None, {}, []])
def test_a_wish_must_be_there(params: Any) -> None:
    with pytest.raises(ClientFault):
        read_listen(legacy_request("subscriptions/listen", params))


@pytest.mark.parametrize("capabilities", [{}, {"extensions": {}}, {"extensions": 5}])
def test_task_ids_need_the_tasks_extension(capabilities: Any) -> None:
    with pytest.raises(ClientFault) as caught:
        read_listen(listen({"taskIds": ["t"]}, capabilities))
    assert caught.value.code == -32021
    assert caught.value.data == {"requiredCapabilities": TASKS}


def test_task_ids_of_a_client_that_has_the_extension_are_heard_and_acknowledged() -> None:
    wished = read_listen(listen({"taskIds": ["t"], "toolsListChanged": True}, TASKS))
    assert wished == Interest(frozenset({"tools"}), tasks=frozenset({"t"}))
    written = read_value(write_acknowledged(1, wished))
    assert written["params"]["notifications"] == {"toolsListChanged": True, "taskIds": ["t"]}


def test_a_task_that_changed_is_told_whole() -> None:
    task = Task("t", "working", "then", "now", 1000, 500, message="half")
    written = read_value(write_listen_notice(TaskChanged(task), "l") or b"")
    assert written["method"] == "notifications/tasks"
    assert written["params"] == {
        "taskId": "t", "status": "working", "createdAt": "then", "lastUpdatedAt": "now", "ttlMs": 1000,
        "pollIntervalMs": 500, "statusMessage": "half", "_meta": {SUBSCRIPTION_ID: "l"},
    }  # fmt: skip


@pytest.mark.parametrize("listen_id", IDS)
def test_the_acknowledgement_names_what_is_honoured_and_whose_it_is(listen_id: Any) -> None:
    written = read_value(write_acknowledged(listen_id, Interest(frozenset({"tools"}))))
    assert written["method"] == "notifications/subscriptions/acknowledged"
    assert written["params"] == {"_meta": {SUBSCRIPTION_ID: listen_id}, "notifications": {"toolsListChanged": True}}
    assert type(written["params"]["_meta"][SUBSCRIPTION_ID]) is type(listen_id)
    parse_server_notification(written["method"], "2026-07-28", written["params"])


@pytest.mark.parametrize("listen_id", IDS)
def test_changes_carry_the_clients_own_id(listen_id: Any) -> None:
    changed = read_value(write_listen_notice(ListChanged("tools"), listen_id) or b"")
    assert (changed["method"], changed["params"]) == (
        "notifications/tools/list_changed",
        {"_meta": {SUBSCRIPTION_ID: listen_id}},
    )
    fields = read_fields(raw({"uri": "a/b", "title": "t", "_meta": {"v/k": 1}}))
    updated = read_value(write_listen_notice(ResourceUpdated("a/b", fields), listen_id) or b"")
    assert updated["params"] == {"uri": "a/b", "title": "t", "_meta": {"v/k": 1, SUBSCRIPTION_ID: listen_id}}
    for written in (changed, updated):
        parse_server_notification(written["method"], "2026-07-28", written["params"])


@pytest.mark.parametrize("notice", [Progress(1, {}), LogLine("error", {}), OtherNotice("vendor/told", {})])
def test_what_belongs_to_one_request_has_no_place_here(notice: Any) -> None:
    assert write_listen_notice(notice, 1) is None


def test_a_stream_that_we_end_has_a_result() -> None:
    written = read_value(write_listen_end("4", raw({"name": "emceepee", "version": "1"})))
    assert written == {
        "resultType": "complete",
        "_meta": {SUBSCRIPTION_ID: "4", SERVER_INFO: {"name": "emceepee", "version": "1"}},
    }
    parse_server_result("subscriptions/listen", "2026-07-28", written)


def test_our_own_wish_is_one_that_we_would_read_ourselves() -> None:
    interest = Interest(frozenset({"tools", "resources"}), frozenset({"b", "a"}))
    params = write_listen(interest, "2026-07-28", raw({"name": "emceepee", "version": "1"}))
    request = Request(1, "subscriptions/listen", raw(read_value(params)))
    assert check(request, None) is None
    assert read_listen(request) == interest
    assert read_value(params)["notifications"]["resourceSubscriptions"] == ["a", "b"]


def test_what_a_backend_honours_is_read_and_rubbish_is_nothing() -> None:
    acknowledged = read_value(write_acknowledged(1, Interest(frozenset({"prompts"}), frozenset({"a"}))))["params"]
    assert read_acknowledged(raw(acknowledged)) == Interest(frozenset({"prompts"}), frozenset({"a"}))
    assert read_acknowledged(raw({"notifications": 5})) == read_acknowledged(None) == Interest()


@pytest.mark.parametrize("listen_id", IDS)
def test_a_notification_is_traced_to_its_stream_by_exact_type(listen_id: Any) -> None:
    found = listen_id_of(raw({"_meta": {SUBSCRIPTION_ID: listen_id}}))
    assert (type(found), found) == (type(listen_id), listen_id)
    assert listen_id_of(raw({})) is None
    assert listen_id_of(raw({"_meta": {SUBSCRIPTION_ID: 1.5}})) is None
    assert listen_id_of(None) is None
