"""Tasks that a backend of 2025-11-25 makes of our calls: how one is asked for, told, and asked about.

Not here: tasks that clients are told of (`tasks.py`), and when a backend is asked (`backends.required_tasks`). The one
rule: nothing of this is said to a server that did not declare it.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from emceepee.eras.meta import RELATED_TASK
from emceepee.eras.peek import is_object
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.raw_json import (
    Fields,
    NotThatShape,
    Payload,
    read_fields,
    read_items,
    read_text,
    to_raw,
    write,
)

GET, RESULT, CANCEL = "tasks/get", "tasks/result", "tasks/cancel"
_whole = msgspec.json.Decoder(int)


@dataclass(slots=True, frozen=True)
class FarTask:
    id: str
    message: str | None = None
    ttl_ms: int | None = None


def task_named(meta: Fields) -> str:
    """The task that a message of its server belongs to; empty where it names none."""
    related = meta.get(RELATED_TASK)
    named = None if related is None or not is_object(related) else read_text(read_fields(related).get("taskId"))
    return named or ""


def runs_tools_as_tasks(about: About) -> bool:
    """Whether it declared `tasks.requests.tools.call`."""
    inside = about.capabilities.get("tasks")
    for key in ("requests", "tools", "call"):
        if inside is None or not is_object(inside):
            return False
        inside = read_fields(inside).get(key)
    return inside is not None


def run_as_tasks_only(payload: Payload) -> set[str]:
    """Of a list of tools, those that say so."""
    try:
        tools = [read_fields(tool) for tool in read_items(payload.get("tools") or b"[]")]
    except NotThatShape:
        return set()
    return {name for tool in tools if _requires(tool) and (name := read_text(tool.get("name"))) is not None}


def _requires(tool: Fields) -> bool:
    execution = tool.get("execution")
    if execution is None or not is_object(execution):
        return False
    return read_text(read_fields(execution).get("taskSupport")) == "required"


def as_task(call: Call, ttl_ms: int) -> Call:
    """The same, to be run as a task."""
    return replace(call, params={**call.params, "task": to_raw({"ttl": ttl_ms})})


def about(call: Call, task_id: str) -> Call:
    """What is asked about its task, in its place."""
    return replace(call, params={"taskId": to_raw(task_id)}, meta={})


def write_cancel(task_id: str) -> bytes:
    return write({"taskId": task_id})


def read_created(result: Raw) -> FarTask | None:
    """The task that a call was answered with; None for any other result."""
    try:
        inside = read_fields(result).get("task")
        fields = {} if inside is None else read_fields(inside)
    except NotThatShape:
        return None
    task_id = read_text(fields.get("taskId"))
    return (
        None if task_id is None else FarTask(task_id, read_text(fields.get("statusMessage")), _ttl(fields.get("ttl")))
    )


def _ttl(raw: Raw | None) -> int | None:
    try:
        return None if raw is None else _whole.decode(raw)
    except msgspec.DecodeError:
        return None
