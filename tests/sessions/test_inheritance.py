"""What earlier runs left: who is given it, once, and who is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from emceepee.sessions.inheritance import Inheritance
from emceepee.state.kept_tasks import InMemoryTasks, KeptTask, Owner
from emceepee.state.settings import TaskSettings
from emceepee.state.tasks import TaskView
from tests.support.store_contracts import BEGAN, COMPLETED, LATER, WORKING

NAMED, SESSION, OTHER = Owner("ann", "place"), Owner("ann"), Owner("bob")


def left(*tasks: KeptTask, of_sessions: bool = True, now=BEGAN) -> tuple[Inheritance, InMemoryTasks]:
    store = InMemoryTasks()
    for task in tasks:
        store.put(task)
    return Inheritance(store, TaskSettings(), now, of_sessions), store


def kept(name: str, owner: Owner, view: TaskView = COMPLETED, told: bool = False) -> KeptTask:
    return KeptTask(owner, replace(view, id=name), LATER, told)


def names(tasks: list[KeptTask]) -> list[str]:
    return [task.view.id for task in tasks]


def test_a_named_place_takes_what_is_its_own() -> None:
    estate, _ = left(kept("a", NAMED), kept("b", SESSION), kept("c", OTHER), kept("d", Owner("ann", "elsewhere")))
    assert names(estate.take(NAMED, "place-again")) == ["a"]
    assert names(estate.take(NAMED, "place-again")) == []
    assert len(estate) == 3


def test_the_first_session_of_the_same_principal_takes_what_sessions_left() -> None:
    estate, _ = left(kept("a", NAMED), kept("b", SESSION))
    assert names(estate.take(OTHER, "s0")) == []
    assert names(estate.take(SESSION, "s1")) == ["b"]
    assert names(estate.take(SESSION, "s2")) == []


def test_a_task_is_found_by_its_id_by_its_principal_only() -> None:
    estate, _ = left(kept("a", NAMED), kept("b", SESSION))
    assert estate.claim("bob", "a", "s1") is None
    assert estate.claim("ann", "nothing", "s1") is None
    assert names([task for task in [estate.claim("ann", "a", "s1")] if task]) == ["a"]
    assert estate.heir_of("ann", "a") == "s1"
    assert estate.heir_of("bob", "a") is None
    assert estate.heir_of("ann", "b") is None


def test_where_a_principal_is_not_one_person_nobody_has_what_sessions_left() -> None:
    estate, store = left(kept("a", NAMED), kept("b", SESSION), of_sessions=False)
    assert names(estate.take(SESSION, "s1")) == []
    assert estate.claim("ann", "b", "s1") is None
    assert names(store.all()) == ["a"]


def test_what_was_running_has_failed_since_and_is_known_to_have() -> None:
    estate, store = left(kept("a", SESSION, WORKING))
    (task,) = estate.take(SESSION, "s1")
    assert (task.view.status, task.view.reason, task.told) == ("failed", "outcome_unknown", False)
    assert store.all() == [task]
    assert task.keep_until == BEGAN + timedelta(minutes=30)


@pytest.mark.parametrize(("told", "there"), [(True, []), (False, ["a"])])
def test_after_a_long_night_what_nobody_was_told_is_still_there(told: bool, there: list[str]) -> None:
    morning = LATER + timedelta(hours=8)
    estate, store = left(kept("a", SESSION, told=told), now=morning)
    assert names(store.all()) == there
    assert all(task.keep_until == morning + timedelta(minutes=5) for task in estate.take(SESSION, "s1"))


def test_what_nobody_comes_for_is_forgotten_in_time() -> None:
    estate, store = left(kept("a", SESSION), kept("b", SESSION))
    estate.claim("ann", "b", "s1")
    estate.expire(LATER - timedelta(seconds=1))
    assert len(estate) == 1
    estate.expire(LATER)
    assert len(estate) == 0
    assert names(store.all()) == ["b"]
    assert estate.heir_of("ann", "b") is None


def test_what_its_new_workspace_ended_without_telling_waits_again() -> None:
    estate, store = left(kept("a", SESSION), kept("b", SESSION), kept("c", NAMED))
    estate.take(SESSION, "s1")
    estate.take(NAMED, "s2")
    store.forget(["a", "b"])
    estate.give_back("s1", ["b", "never heard of"])
    assert names(estate.take(SESSION, "s3")) == ["b"]
    assert names(store.all()) == ["b", "c"]


def test_what_is_kept_from_now_on_is_kept_for_its_owner() -> None:
    estate, store = left()
    estate.keep_for(OTHER).begun(WORKING)
    assert store.all() == [KeptTask(OTHER, WORKING, WORKING.created_at)]
