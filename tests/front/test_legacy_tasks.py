"""What a session of 2025-11-25 asks about tasks, at the desk."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from emceepee.front.legacy_tasks import answer_created, answer_task_request
from emceepee.front.shop import Shop
from emceepee.front.standing import Standing
from emceepee.protocol.messages import Request
from emceepee.sessions.in_flight import InFlight
from emceepee.sessions.session import Session
from emceepee.vocabulary.calls import Caller
from emceepee.vocabulary.raw_json import to_raw
from emceepee.vocabulary.tasks import GoesOn
from tests.support.fake_clock import settle
from tests.support.fake_surface import FakeSurface
from tests.support.front_bench import SERVER_INFO


class Outlet:
    def __init__(self) -> None:
        self.said: list[Any] = []

    def notice(self, message: bytes, key: str | None) -> None:
        self.said.append((json.loads(message)["method"], key))

    def end(self) -> None:
        """Nothing ends here."""


def begun(surface: FakeSurface) -> tuple[Session, str]:
    session = Session("/mcp", Caller("s"), "2025-11-25", InFlight(9), 0.0)
    session.step("initialized")
    return session, surface.workspaces.at("s").begin_task(("files", "grep", None), None).id


async def answered(surface: FakeSurface, session: Session, method: str, **params: Any) -> Any:
    request, shop = Request(1, method, to_raw(params)), Shop(surface.clock, SERVER_INFO)
    return json.loads(await answer_task_request(surface.tasks, session, request, shop))


async def test_a_session_is_told_of_a_task_from_its_creation_to_its_end() -> None:
    surface = FakeSurface()
    session, task_id = begun(surface)
    outlet, workspace = Outlet(), surface.workspaces.at("s")
    Standing.of(session).open(outlet)
    gone_on = GoesOn(surface.tasks.get(session.caller, task_id))
    created = json.loads(answer_created(surface.tasks, session, Request(3, "tools/call", None), gone_on))
    assert (created["id"], created["result"]["task"]["taskId"]) == (3, task_id)
    workspace.tasks.note(task_id, workspace.now(), "half")
    workspace.tasks.fail(task_id, "broke", workspace.now())
    assert outlet.said == [("notifications/tasks/status", f"task {task_id}")] * 2
    await workspace.close()


async def test_a_result_is_waited_for_and_a_wait_that_is_given_up_leaves_nothing() -> None:
    surface = FakeSurface()
    session, task_id = begun(surface)
    workspace = surface.workspaces.at("s")
    first, second = (
        asyncio.ensure_future(answered(surface, session, "tasks/result", taskId=task_id)) for _ in range(2)
    )
    await settle()
    first.cancel()
    await settle()
    workspace.tasks.fail(task_id, "broke", workspace.now())
    error = (await second)["error"]
    assert (error["code"], error["message"]) == (-32603, "broke")
    assert error["data"] == {"reason": "task_failed", "taskId": task_id}
    await workspace.close()
