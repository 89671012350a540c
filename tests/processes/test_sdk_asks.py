"""The official SDK's client, unmodified, in front of a legacy server that asks in the middle of its calls: over real
sockets on both sides of a gateway that is a process of its own.

The client speaks 2026-07-28 and comes back by itself with what its callbacks say; it knows nothing of held calls.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import mcp
import mcp_types

from tests.support.asking_server import AskingServer, Json, event
from tests.support.http_backend import Asked, HttpBackend, Reply
from tests.support.real_gateway import serving, write_config

ROUNDS, AT_ONCE = int(os.environ.get("ASK_ROUNDS", "20")), 5


class ManyQuestions(AskingServer):
    """Each call asks under its own id, on its own stream, and answers with its number and what it heard."""

    def __init__(self) -> None:
        super().__init__("post")
        self._ids = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[Json]] = {}

    async def answer(self, asked: Asked) -> Reply:
        message = asked.json if asked.method == "POST" else {}
        if asked.method == "POST" and "method" not in message:
            self._waiting.pop(message["id"]).set_result(message.get("result") or message["error"])
            return Reply(202)
        return await super().answer(asked)

    async def _on_its_own_stream(self, message: Json) -> AsyncIterator[bytes]:
        number = message["params"]["arguments"]["n"]
        ask_id = f"ask-{next(self._ids)}"
        heard = self._waiting[ask_id] = asyncio.get_running_loop().create_future()
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        params = {"message": f"number {number}?", "requestedSchema": schema}
        yield event({"jsonrpc": "2.0", "id": ask_id, "method": "elicitation/create", "params": params})
        said = {"n": number, "heard": await heard}
        result = {"content": [{"type": "text", "text": json.dumps(said)}], "structuredContent": said}
        yield event({"jsonrpc": "2.0", "id": message["id"], "result": result})


async def person(context: Any, params: Any) -> mcp_types.ElicitResult:
    """Takes a while, another one each time, and says the number that is asked for."""
    await asyncio.sleep(random.random() / 50)  # noqa: S311 -- any delay will do
    number = int(params.message.split()[1].rstrip("?"))
    return mcp_types.ElicitResult(action="accept", content={"n": number})


async def test_the_sdks_client_answers_what_a_legacy_server_asks_and_no_answer_goes_astray(tmp_path: Path) -> None:
    async with HttpBackend(ManyQuestions().answer) as backend:
        config = write_config(tmp_path, {"far": {"url": backend.url}})
        async with serving(config) as gateway:
            url = f"http://127.0.0.1:{gateway.port}/servers/far/mcp"
            async with mcp.Client(url, mode="auto", elicitation_callback=person) as client:
                for one in range(ROUNDS):
                    numbers = [one * AT_ONCE + place for place in range(AT_ONCE)]
                    results = await asyncio.gather(*(client.call_tool("ask", {"n": number}) for number in numbers))
                    said = [json.loads(result.content[0].text) for result in results]  # type: ignore[union-attr]
                    answers = [{"action": "accept", "content": {"n": number}} for number in numbers]
                    assert said == [{"n": n, "heard": answer} for n, answer in zip(numbers, answers, strict=True)]
        greeted = [one.json["params"]["capabilities"] for one in backend.requests if one.says == "initialize"]
        assert len([capabilities for capabilities in greeted if "elicitation" in capabilities]) == 1, "one session"
