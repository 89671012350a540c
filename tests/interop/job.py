"""A whole job with nothing but `tools/call`, one call at a time: one is slow, one asks the person, one asks the model.

    python -m tests.interop.job --write     plays it, and writes what was said into docs/eight-calls.md

The server is server-everything of npm, the client plain HTTP. Each step is made of what was answered before, as a model
would make it. The one rule: what the document shows is what was said; only the fields of a long form are counted
instead of shown.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.interop.servers import npm_server, write_config
from tests.support.http_wire import LegacyWire, ModernWire
from tests.support.real_gateway import serving
from tests.support.third_party import ROOT, CannotInstall
from tools.transcripts import broken, timeless

Json = dict[str, Any]

DOCUMENT = ROOT / "docs" / "eight-calls.md"
MOST_CALLS = 8
_PLAYED = re.compile(r"(?<=<!-- played -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)
_CALL = re.compile(r"^### \d+\. `(\w+)`\n\n```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
_EVENT = re.compile(r'"type": "([a-z]+_[a-z]+|notification)"')
_SERVER = "everything"
_PERSON = {"name": "Ada Lovelace", "check": True, "integer": 7}


class Job:
    """The calls that were made, each with the blocks of its answer, decoded where they are JSON."""

    def __init__(self, client: LegacyWire | ModernWire) -> None:
        self._client = client
        self.calls: list[tuple[str, Json, list[Any]]] = []

    async def use(self, tool: str, /, **arguments: Any) -> list[Any]:
        answer = await self._client.call("tools/call", {"name": tool, "arguments": arguments})
        blocks = [_decoded(block["text"]) for block in answer["result"]["content"]]
        self.calls.append((tool, arguments, blocks))
        return blocks

    async def result_of(self, task: str) -> str:
        said = await self.use("get_task_result", task_id=task, timeout_ms=20_000)
        return "\n".join(block for block in said if isinstance(block, str))


async def play(job: Job) -> list[str]:
    """The three results."""
    slow = {"duration": 3, "steps": 3}
    told = await job.use(
        "execute_tool", server=_SERVER, tool="trigger-long-running-operation", args=slow, timeout_ms=1000
    )
    operation = told[0]["task"]["taskId"]
    told = await job.use("execute_tool", server=_SERVER, tool="trigger-elicitation-request", args={})
    form = told[0]["task"]["taskId"]
    question = found(told, "pending_client_action")["elicitations"][0]["requestId"]
    await job.use("respond_to_elicitation", request_id=question, action="accept", content=_PERSON)
    asked = {"prompt": "What is the capital of France?", "maxTokens": 20}
    told = await job.use("execute_tool", server=_SERVER, tool="trigger-sampling-request", args=asked)
    sampled = told[0]["task"]["taskId"]
    events = found(told, "events_since_last_response")
    question = next(event["data"]["requestId"] for event in events if event["type"] == "sampling_request")
    await job.use("respond_to_sampling", request_id=question, content="Paris.", model="the-model-that-calls")
    return [await job.result_of(task) for task in (operation, form, sampled)]


def found(blocks: list[Any], name: str) -> Any:
    return next(block[name] for block in blocks if isinstance(block, dict) and name in block)


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


async def played(era: str, folder: Path) -> tuple[Job, list[str]]:
    program, *words = npm_server(_SERVER)
    config = write_config(folder, {_SERVER: {"command": program, "args": words}})
    async with serving(config) as gateway:
        client: LegacyWire | ModernWire = ModernWire(gateway.port, "/mcp")
        if era == "legacy":
            client = await LegacyWire.arrive(gateway.port, "/mcp")
        job = Job(client)
        results = await play(job)
        client.wire.leave()
    return job, results


# -- the document


def written(job: Job) -> str:
    parts = []
    for number, (tool, arguments, blocks) in enumerate(job.calls, 1):
        said = "\n".join(block if isinstance(block, str) else broken(_short(block)) for block in blocks)
        parts.append(
            f"\n### {number}. `{tool}`\n\n```json\n{broken(arguments)}\n```\n\nis answered\n\n```\n{said}\n```\n"
        )
    return "".join(parts) + "\n"


def _short(value: Any) -> Any:
    """A form's fields but for the first are counted."""
    if isinstance(value, list):
        return [_short(item) for item in value]
    if not isinstance(value, dict):
        return value
    fields = value.get("properties")
    if isinstance(fields, dict) and len(fields) > 1:
        first = next(iter(fields))
        value = value | {"properties": {first: fields[first], "…": f"{len(fields) - 1} more fields"}}
    return {key: _short(item) for key, item in value.items()}


def shown(document: str, job: Job) -> str:
    return _PLAYED.sub(lambda _: written(job), document)


def outline(document: str) -> tuple[list[str], list[str]]:
    """What is the same in every run: which calls were made with what, and what happened; with which answer an event
    comes is the machine's haste."""
    calls = _CALL.findall(timeless(document))
    return ["\n".join(call) for call in calls], sorted(set(_EVENT.findall(document)))


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        try:
            job, _ = asyncio.run(played("legacy", Path(folder)))
        except CannotInstall as error:
            sys.stderr.write(f"{DOCUMENT.name} is left as it is: {error}\n")
            return 0 if error.unreachable else 1
    after = shown(DOCUMENT.read_text(encoding="utf-8"), job)
    if "--write" in sys.argv:
        DOCUMENT.write_text(after, encoding="utf-8")
    else:
        sys.stdout.write(after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
