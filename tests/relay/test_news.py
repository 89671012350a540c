"""What servers do reaches the workspaces it concerns, and makes none."""

from __future__ import annotations

import pytest
from msgspec import Raw

from emceepee.backends.connection import Connection
from emceepee.relay.news import News
from emceepee.runtime.ids import Ulids
from emceepee.sessions.workspaces import Workspaces
from emceepee.vocabulary.notices import ListChanged, LogLine, Notice, OtherNotice, Progress, ResourceUpdated
from emceepee.vocabulary.raw_json import read_value
from tests.support.fake_clock import FakeClock


@pytest.fixture
def workspaces() -> Workspaces:
    clock = FakeClock()
    return Workspaces(clock, Ulids(clock, "0n0de001"))


@pytest.mark.shows("A-CON-09", "A-EVT-01", "A-BUF-05", "X-GAP-17", "A-EVT-16")
@pytest.mark.parametrize(
    ("notice", "method", "params"),
    [
        (ListChanged("tools"), "notifications/tools/list_changed", None),
        (ResourceUpdated("a:b", {}), "notifications/resources/updated", {"uri": "a:b"}),
        (OtherNotice("notifications/x/y", {"n": Raw(b"1")}), "notifications/x/y", {"n": 1}),
        (Progress(1.0, {}), None, None),
        (LogLine("error", {"data": Raw(b'"full"')}), None, None),
    ],
)
def test_a_notice_becomes_a_notification_of_its_own_scope_unless_it_is_progress_or_a_log_line(
    workspaces: Workspaces, notice: Notice, method: str | None, params: object
) -> None:
    here, there = workspaces.at("a"), workspaces.at("b")
    News(workspaces).told("files", "a", notice)
    told = [read_value(event.data) for event in here.events.all()]
    assert [one["method"] for one in told] == ([method] if method else [])
    assert [one.get("params") for one in told] == ([params] if method else [])
    assert len(here.notifications) == len(told)
    assert len(here.logs) == isinstance(notice, LogLine)
    assert len(there.events) == 0


@pytest.mark.shows("X-CON-09")
def test_a_connection_that_comes_or_goes_is_told_to_its_own_scope_only(workspaces: Workspaces) -> None:
    here, there = workspaces.at("a"), workspaces.at("b")
    news = News(workspaces)
    news.connected(Connection("files", "a"))
    news.lost("files", "a")
    assert [event.type for event in here.events.all()] == ["server_connected", "server_disconnected"]
    assert len(there.events) == 0


def test_a_server_that_is_silent_and_one_that_answers_again_are_in_its_logs(workspaces: Workspaces) -> None:
    here, news = workspaces.at("a"), News(workspaces)
    news.health("files", "a", "no answer to ping within 10 s")
    news.health("files", "a", None)
    news.health("files", "nobody", None)
    assert len(here.logs) == 2
    assert len(here.events) == 0
    assert len(workspaces) == 1


def test_a_scope_without_a_workspace_gets_none(workspaces: Workspaces) -> None:
    news = News(workspaces)
    news.connected(Connection("files", "a"))
    news.lost("files", "a")
    news.told("files", "a", ListChanged("tools"))
    news.removed("files", None)
    assert len(workspaces) == 0


@pytest.mark.shows("X-BUG-46")
def test_a_changed_server_loses_what_its_connections_carried(workspaces: Workspaces) -> None:
    here = workspaces.at("a")
    task = here.begin_task(("files", "t", None), None)
    News(workspaces).changed("files")
    assert here.tasks.get(task.id).status == "failed"
