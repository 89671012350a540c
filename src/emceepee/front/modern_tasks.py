"""What a modern client asks about tasks, answered from the task room of its surface.

The words are the era's (`eras/modern/tasks.py`). The one rule: each request says itself that its client knows tasks.
"""

from __future__ import annotations

from msgspec import Raw

from emceepee.eras.modern import tasks as words
from emceepee.protocol.messages import Request, write_result
from emceepee.relay.task_room import TaskRoom
from emceepee.vocabulary.calls import Caller


async def answer_task_request(room: TaskRoom, request: Request, caller: Caller, server_info: Raw) -> bytes:
    """The response to one of `words.METHODS`. Raises `ClientFault` and `BackendFault`."""
    asked = words.read_task_request(request, caller.capabilities)
    match request.method:
        case words.GET:
            return write_result(request.id, words.write_task(room.get(caller, asked.task_id), server_info))
        case words.UPDATE:
            await room.answer(caller, asked.task_id, asked.answers)
        case words.CANCEL:
            room.cancel(caller, asked.task_id)
    return write_result(request.id, words.write_acknowledgement(server_info))
