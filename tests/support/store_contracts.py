"""What every implementation of a store promises, whatever it keeps things in.

A suite is a class whose tests take the store as a fixture; the tests of each implementation give it theirs.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import Raw

from emceepee.backends.definition import HttpEndpoint, InProcess, Launch, ServerDefinition, StdioLaunch
from emceepee.backends.kept_servers import ServerStore
from emceepee.sessions.kept_handles import HandleStore
from emceepee.state.kept_tasks import KeptTask, Owner, TaskStore, broken_off
from emceepee.state.tasks import TaskView
from emceepee.vocabulary.outcomes import Failed

BEGAN = datetime(2026, 11, 1, 12, tzinfo=UTC)
LATER = BEGAN + timedelta(minutes=5)
OWNER = Owner("local", "place")

WORKING = TaskView("T1", "files", "grep", Raw(b'{"q": "x"}'), "working", 300_000, BEGAN, BEGAN)
COMPLETED = replace(WORKING, status="completed", updated_at=LATER, result=Raw(b'{"content":[1, 2.50]}'), wrapped=True)
FAILED = replace(
    WORKING, status="failed", error="no", message="half way", cause=Failed(-32603, "no", Raw(b'{"reason":"r"}'))
)

SERVERS: list[Launch] = [
    StdioLaunch("npx", ("-y", "x"), {"TOKEN": "secret"}, "/tmp"),
    StdioLaunch("x"),
    HttpEndpoint("https://x.test/mcp?key=1", (("Authorization", "Bearer secret"), ("X", "1")), "sse"),
    InProcess("demo"),
]


class TaskStoreContract:
    def test_it_is_empty_at_first(self, tasks: TaskStore) -> None:
        assert tasks.all() == []

    @pytest.mark.parametrize("view", [WORKING, COMPLETED, FAILED, broken_off(WORKING, LATER)])
    def test_a_task_comes_back_as_it_was_put(self, tasks: TaskStore, view: TaskView) -> None:
        for owner in (OWNER, Owner("local")):
            tasks.put(KeptTask(owner, view, LATER))
            assert tasks.all() == [KeptTask(owner, view, LATER)]

    def test_what_is_put_later_is_what_is_known(self, tasks: TaskStore) -> None:
        tasks.put(KeptTask(OWNER, WORKING, BEGAN))
        tasks.put(KeptTask(OWNER, COMPLETED, LATER))
        assert tasks.all() == [KeptTask(OWNER, COMPLETED, LATER)]

    def test_that_its_end_was_told_is_remembered_with_the_new_date(self, tasks: TaskStore) -> None:
        tasks.put(KeptTask(OWNER, COMPLETED, LATER))
        tasks.told("T1", BEGAN)
        assert tasks.all() == [KeptTask(OWNER, COMPLETED, BEGAN, told=True)]

    def test_what_is_not_there_can_be_told_and_forgotten(self, tasks: TaskStore) -> None:
        tasks.told("T9", BEGAN)
        tasks.forget(["T9"])
        tasks.forget([])
        assert tasks.all() == []

    def test_they_come_oldest_first_without_the_forgotten(self, tasks: TaskStore) -> None:
        for name in ("T3", "T1", "T2", "T4"):
            tasks.put(KeptTask(OWNER, replace(COMPLETED, id=name), LATER))
        tasks.forget(iter(["T2", "T4"]))
        assert [task.view.id for task in tasks.all()] == ["T1", "T3"]


class ServerStoreContract:
    def test_it_is_empty_at_first(self, servers: ServerStore) -> None:
        assert servers.all() == []

    @pytest.mark.parametrize("launch", SERVERS)
    def test_a_server_comes_back_as_it_was_put(self, servers: ServerStore, launch: Launch) -> None:
        definition = ServerDefinition("a", launch, "shared", True, {"theirs": [1]}, 3.5, 60.0)
        servers.put(definition, "2026-11-01T00:00:00.000Z", "1234abcd")
        assert servers.all() == [(definition, "2026-11-01T00:00:00.000Z", "1234abcd")]

    def test_one_name_is_one_server_and_they_come_by_name(self, servers: ServerStore) -> None:
        for name, command in (("b", "1"), ("a", "1"), ("b", "2")):
            servers.put(ServerDefinition(name, StdioLaunch(command)), "then", None)
        found = [(one.name, one.launch, by) for one, _, by in servers.all()]
        assert found == [("a", StdioLaunch("1"), None), ("b", StdioLaunch("2"), None)]

    def test_a_removed_one_is_gone_and_an_unknown_one_may_be_removed(self, servers: ServerStore) -> None:
        servers.put(ServerDefinition("a", StdioLaunch("x")), "then", None)
        servers.remove("a")
        servers.remove("a")
        assert servers.all() == []


class HandleStoreContract:
    def test_what_was_put_is_known_by_its_place_until_it_is_removed(self, handles: HandleStore) -> None:
        assert handles.all() == {}
        handles.put("p1", "ann")
        handles.put("p2", "bob")
        handles.put("p1", "cy")
        assert handles.all() == {"p1": "cy", "p2": "bob"}
        handles.remove("p1")
        handles.remove("p1")
        assert handles.all() == {"p2": "bob"}
