"""A server's task is looked at soon, then as often as the server wishes, and through short absences."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Raw

from emceepee.backends.far_task import FIRST_PAUSE, LONGEST_PAUSE, FollowedTask
from emceepee.eras.modern.far_tasks import FarTask
from emceepee.errors import BackendFault, BackendTimeout, BackendUnavailable, BackendViolation, OutcomeUnknown
from emceepee.protocol.messages import Failure, Result
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.notices import MadeTask
from tests.support.fake_clock import FakeClock, settle

Told = Result | Failure | BackendFault


class Carried:
    """What `backends.carried.Carried` is to it."""

    def __init__(self, timeout: float = 600.0) -> None:
        self.call = Call("tools/call", {}, Caller())
        self.timeout = timeout
        self.heard: list[Any] = []
        self.told: list[Told] = []
        self.on_notice = self.heard.append

    def __call__(self, answer: Told) -> None:
        self.told.append(answer)


class Server:
    def __init__(self, *states: dict[str, Any] | BackendFault) -> None:
        self.states = list(states)
        self.at: list[float] = []
        self.now: Callable[[], float] = lambda: 0.0

    async def __call__(self, method: str, task_id: str, answers: Any = None) -> Result | Failure:
        self.at.append(self.now())
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if isinstance(state, BackendFault):
            raise state
        return Result("", Raw(json.dumps({"taskId": task_id, **state}).encode()))


WORKING: dict[str, Any] = {"status": "working"}
DONE: dict[str, Any] = {"status": "completed", "result": {"content": []}}
AWAY = BackendUnavailable("far", "no route")


def followed(
    server: Server, poll_ms: int | None = None, carried: Carried | None = None
) -> tuple[FakeClock, Carried, FollowedTask]:
    clock, carried = FakeClock(), carried or Carried()
    server.now = clock.now
    made = FarTask("t", "working", 60_000, poll_ms)
    return clock, carried, FollowedTask("far", made, carried, server, clock)  # type: ignore[arg-type]


async def test_it_is_asked_soon_and_then_ever_less_often_down_to_what_the_server_wishes() -> None:
    server = Server(WORKING)
    clock, carried, task = followed(server, poll_ms=2_000)
    following = asyncio.ensure_future(task.follow())
    await clock.advance(10)
    began = server.at[0] - FIRST_PAUSE
    pauses = [later - sooner for sooner, later in zip([began, *server.at], server.at, strict=False)]
    assert pauses[:5] == pytest.approx([0.2, 0.4, 0.8, 1.6, 2.0])
    assert all(isinstance(one, MadeTask) for one in carried.heard)
    following.cancel()
    await settle()


async def test_a_server_that_wishes_to_be_asked_once_an_hour_is_asked_a_little_more_often() -> None:
    server = Server(WORKING)
    clock, _, task = followed(server, poll_ms=3_600_000)
    following = asyncio.ensure_future(task.follow())
    await clock.advance(60)
    assert server.at[-1] - server.at[-2] == pytest.approx(LONGEST_PAUSE)
    following.cancel()
    await settle()


async def test_a_short_absence_is_waited_out_and_a_long_one_is_not() -> None:
    for faults, outcome in ((2, Result), (3, BackendUnavailable)):
        server = Server(*[AWAY] * faults, DONE)
        clock, carried, task = followed(server)
        following = asyncio.ensure_future(task.follow())
        await clock.advance(30)
        await following
        (told,) = carried.told
        assert isinstance(told, outcome)
        assert task.known_to_be_over == (outcome is Result)


async def test_the_calls_own_time_is_its_time() -> None:
    clock, carried, task = followed(Server(WORKING), carried=Carried(timeout=3.0))
    following = asyncio.ensure_future(task.follow())
    await clock.advance(10)
    await following
    (told,) = carried.told
    assert isinstance(told, BackendTimeout)
    assert not task.known_to_be_over


async def test_rubbish_about_a_task_is_the_servers_violation() -> None:
    clock, carried, task = followed(Server({"status": "thinking"}))
    following = asyncio.ensure_future(task.follow())
    await clock.advance(1)
    await following
    assert isinstance(carried.told[0], BackendViolation)


async def test_whoever_waits_when_the_connection_is_closed_is_told_that_nobody_knows() -> None:
    clock, carried, task = followed(Server(WORKING))
    following = asyncio.ensure_future(task.follow())
    await clock.advance(1)
    following.cancel()
    await asyncio.wait((following,))
    assert isinstance(carried.told[0], OutcomeUnknown)


@pytest.mark.parametrize("ended", [{"status": "cancelled"}, {"status": "failed"}, {"status": "completed"}])
async def test_an_end_without_a_word_is_a_failure_that_says_so(ended: dict[str, Any]) -> None:
    clock, carried, task = followed(Server(ended))
    following = asyncio.ensure_future(task.follow())
    await clock.advance(1)
    await following
    (told,) = carried.told
    assert isinstance(told, Failure)
    assert ended["status"] in told.error.message
