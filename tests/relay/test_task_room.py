"""The tasks of whoever calls: none but his own, each as it stands, followed until it ends."""

from __future__ import annotations

import pytest

from emceepee.errors import BackendTimeout, ClientFault, LimitReached
from emceepee.relay.task_room import TaskRoom, as_failed
from emceepee.runtime.ids import Ulids
from emceepee.sessions.workspaces import Workspaces
from emceepee.vocabulary.calls import Caller
from emceepee.vocabulary.notices import Notice, TaskChanged
from emceepee.vocabulary.raw_json import read_value, to_raw
from tests.support.fake_clock import FakeClock

ME, OTHER = Caller("me", "me"), Caller("other", "other")


def rooms() -> tuple[TaskRoom, Workspaces]:
    clock = FakeClock()
    workspaces = Workspaces(clock, Ulids(clock, "slot0000"))
    return TaskRoom(workspaces), workspaces


def begin(workspaces: Workspaces) -> str:
    return workspaces.at("me").begin_task(("files", "grep", None), None).id


async def test_a_task_of_somebody_else_does_not_exist() -> None:
    room, workspaces = rooms()
    task_id = begin(workspaces)
    workspaces.at("other")
    for caller in (OTHER, Caller("nobody")):
        with pytest.raises(ClientFault):
            room.get(caller, task_id)
        with pytest.raises(ClientFault):
            room.cancel(caller, task_id)
        with pytest.raises(ClientFault):
            await room.answer(caller, task_id, {})
        with pytest.raises(ClientFault):
            await room.ended(caller, task_id)
        assert room.all(caller) == []
        assert room.follow(caller, [task_id], lambda notice: None).honoured == frozenset()
    assert [task.id for task in room.all(ME)] == [task_id]
    await workspaces.close()


async def test_who_follows_hears_each_change_once_until_he_closes() -> None:
    room, workspaces = rooms()
    task_id, tasks, now = begin(workspaces), workspaces.at("me").tasks, workspaces.at("me").now
    heard: list[Notice] = []
    following = room.follow(ME, [task_id, task_id, "unknown"], heard.append)
    assert following.honoured == {task_id}
    tasks.note(task_id, now(), "half")
    tasks.note(task_id, now(), "half")
    tasks.note(task_id, now(), asks={"a": to_raw(1)})
    tasks.note(task_id, now())
    told = [(one.task.status, one.task.message) for one in heard if isinstance(one, TaskChanged)]
    assert told == [("working", "half"), ("input_required", "half"), ("working", "half")]
    following.close()
    following.close()
    tasks.cancel(task_id, now())
    assert len(heard) == 3
    await workspaces.close()


async def test_what_ended_before_it_was_waited_for_is_there_at_once() -> None:
    room, workspaces = rooms()
    task_id = begin(workspaces)
    assert room.cancel(ME, task_id)[1] is True
    task, again = room.cancel(ME, task_id)
    assert (again, task.status) == (False, "cancelled")
    assert await room.ended(ME, task_id) == task
    assert task.fault is not None
    assert task.fault.message == f"Task '{task_id}' was cancelled"
    await workspaces.close()


def test_a_failure_of_ours_says_what_the_call_would_have_been_told() -> None:
    timeout = as_failed(BackendTimeout("files", "silent"))
    assert (timeout.code, read_value(timeout.data or b"")) == (-32603, {"reason": "backend_timeout", "server": "files"})
    assert as_failed(ClientFault(-32602, "no")).data is None
    assert as_failed(LimitReached("calls", 3)).message == "Too many calls: the limit is 3"


async def test_a_task_in_a_workspace_that_has_a_name_is_found_by_its_owner_wherever_he_asks() -> None:
    room, workspaces = rooms()
    named = workspaces.open("me")
    task_id = named.begin_task(("files", "grep", None), None).id
    assert room.get(ME, task_id).id == task_id
    assert room.all(ME) == []
    assert [task.id for task in room.placed(lambda caller: Caller(named.scope, "me")).all(ME)] == [task_id]
    with pytest.raises(ClientFault):
        room.get(OTHER, task_id)
    await workspaces.close()
