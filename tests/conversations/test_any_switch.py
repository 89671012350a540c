"""The same race, with the loop's ready work in a different order each time: whoever is first, one end is told."""

from __future__ import annotations

import ast
import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from emceepee import state
from tests.conversations.house import House, let_run
from tests.conversations.meta_client import meta
from tests.support.scripted_backend import Late, ScriptedBackend

DONE = {"content": [{"type": "text", "text": "done"}]}
ENDS = {"task_completed", "task_cancelled"}


class ShuffledLoop(asyncio.SelectorEventLoop):
    """Runs what is ready in an order of its own: at each await, anybody may be next."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._chance = random.Random(seed)  # noqa: S311 -- repeatable, not secret

    def _run_once(self) -> None:
        ready = list(self._ready)  # type: ignore[attr-defined]
        self._chance.shuffle(ready)
        self._ready.clear()  # type: ignore[attr-defined]
        self._ready.extend(ready)  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


async def race() -> tuple[list[str], Any]:
    """A task is cancelled while its server answers and others look: the ends that were told, and how it stands."""
    go = asyncio.Event()
    house = House({"files": ScriptedBackend(answers={"tools/call": Late(DONE, go)})})
    client = await meta(house)
    promoted = await client.use("execute_tool", server="files", tool="slow", timeout_ms=0)
    task_id = promoted.said["task"]["taskId"]
    asked = [
        client.start("await_activity", timeout_ms=0),
        client.start("cancel_task", task_id=task_id),
        client.start("get_task_result", task_id=task_id),
        client.start("list_tasks", include_completed=True),
    ]
    asyncio.get_running_loop().call_soon(go.set)
    for answer in asked:
        await client.told(answer)
    await let_run()
    status = (await client.use("get_task", task_id=task_id)).said["task"]["status"]
    workspace = house.gateway.workspaces.at(client.scope)
    told = [event.type for event in workspace.events.all() if event.type in ENDS]
    await house.close()
    return list(told), status


@pytest.mark.shows("X-PY-09")
@pytest.mark.parametrize("seed", range(25))
def test_a_cancellation_and_an_answer_end_a_task_once_in_whatever_order_they_run(seed: int) -> None:
    with asyncio.Runner(loop_factory=lambda: ShuffledLoop(seed)) as runner:
        told, status = runner.run(race())
    assert told == [f"task_{status}"]


@pytest.mark.shows("X-PY-09")
def test_no_table_of_state_awaits_between_a_check_and_what_it_does() -> None:
    room = Path(state.__file__).parent
    awaiting = {
        path.stem
        for path in room.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncWith | ast.AsyncFor)
    }
    assert awaiting == {"waiting"}, "it changes nothing but who waits"
