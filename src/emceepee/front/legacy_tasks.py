"""What a client of 2025-11-25 asks about tasks, answered from the task room of its surface.

The words are the era's (`eras/legacy/tasks.py`). The one rule: a session hears of the tasks that it asked for, and of
no others.
"""

from __future__ import annotations

from emceepee.eras.legacy import tasks as words
from emceepee.eras.legacy.towards_client import write_error
from emceepee.front.asked_meanwhile import AskedMeanwhile
from emceepee.front.asking import Voice
from emceepee.front.shop import Shop
from emceepee.front.standing import Standing
from emceepee.protocol.messages import Request, write_failure, write_result
from emceepee.relay.task_room import TaskRoom
from emceepee.sessions.session import Session
from emceepee.vocabulary.outcomes import Failed
from emceepee.vocabulary.tasks import GoesOn


async def answer_task_request(
    room: TaskRoom, session: Session, request: Request, shop: Shop, voice: Voice | None = None
) -> bytes:
    """The response to one of `words.METHODS`; to `tasks/result` when the task has ended. Raises `ClientFault`."""
    words.check_revision(request.method, session.revision)
    caller = session.caller
    if request.method == words.LIST:
        words.check_list(request)
        return write_result(request.id, words.write_tasks(room.all(caller)))
    task_id = words.read_task_id(request)
    match request.method:
        case words.RESULT:
            with AskedMeanwhile(room, session, task_id, shop, voice):
                return await _result(room, session, request, task_id)
        case words.CANCEL:
            task, cancelled = room.cancel(caller, task_id)
            if not cancelled:
                raise words.already_ended(task)
        case _:
            task = room.get(caller, task_id)
    return write_result(request.id, words.write_task(task))


async def _result(room: TaskRoom, session: Session, request: Request, task_id: str) -> bytes:
    task = await room.ended(session.caller, task_id)
    result = words.write_result_of(task, session.revision)
    if result is not None:
        return write_result(request.id, result)
    fault = task.fault or Failed(-32603, f"Task '{task_id}' has no result")
    told = write_error(fault, "tools/call", session.revision)
    return write_failure(request.id, told.code, told.message, told.data)


def answer_created(room: TaskRoom, session: Session, request: Request, gone_on: GoesOn) -> bytes:
    """The response to a call that has become a task; its session hears of it from now on."""
    room.follow(session.caller, (gone_on.task.id,), Standing.of(session).hear)
    return write_result(request.id, words.write_created(gone_on.task))
