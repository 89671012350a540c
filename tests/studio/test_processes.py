"""The studio as a process of its own, used by the official SDK's client in both eras, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp_types import CreateMessageRequestParams, CreateMessageResult, TextContent

ROOT = Path(__file__).parents[2]
STUDIO = ("-m", "examples.studio")
SECONDS = 60
BASS = {"part": "bass", "key": "D minor", "tempo": 72, "bars": 4, "seed": 3}


class Person:
    """A client with a model, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[CreateMessageRequestParams] = []

    async def sample(self, context: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        self.asked.append(params)
        text = TextContent(type="text", text="melancholic, atmospheric, sparse")
        return CreateMessageResult(role="assistant", content=text, model="m-1", stop_reason="endTurn")


@asynccontextmanager
async def over_http(*options: str) -> AsyncIterator[str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *STUDIO, "--http", "0", *options, cwd=ROOT, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(SECONDS):
            while not (found := re.search(rb"http://127\.0\.0\.1:\d+", await process.stderr.readline())):
                assert process.returncode is None
        yield f"{found.group().decode()}/servers/studio/mcp"
    finally:
        process.terminate()
        await asyncio.wait_for(process.communicate(), SECONDS)


@asynccontextmanager
async def over_stdio(*options: str) -> AsyncIterator[Any]:
    yield mcp.StdioServerParameters(
        command=sys.executable, args=[*STUDIO, *options], cwd=str(ROOT), env=dict(os.environ)
    )


@pytest.mark.shows("D-TST-03", "D-TST-04", "D-SMP-10", "D-USE-01", "B-REQ-02", "X-CON-58")
@pytest.mark.parametrize("way", [over_http, over_stdio])
@pytest.mark.parametrize(("mode", "revision"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
async def test_the_sdks_client_is_asked_by_a_generation_and_its_keywords_are_kept(
    way: Any, mode: Any, revision: str
) -> None:
    person = Person()
    async with (
        asyncio.timeout(SECONDS),
        way() as server,
        mcp.Client(server, mode=mode, sampling_callback=person.sample) as client,
    ):
        assert client.protocol_version == revision
        made = await client.call_tool("make_clip", BASS)
        assert made.structured_content is not None
        assert made.structured_content["vibe"] == ["melancholic", "atmospheric", "sparse"]
        listed = await client.call_tool("list_clips", {})
        (clip,) = json.loads(listed.content[0].text)["clips"]
        read = await client.read_resource(clip["uri"])
    assert clip["annotations"] == {"vibe": "melancholic, atmospheric, sparse"}
    assert read.contents[0].mime_type == "audio/midi"
    (params,) = person.asked
    assert params.max_tokens == 40
    assert "D | Bb | F | C" in params.messages[0].content.text  # type: ignore[union-attr]


@pytest.mark.shows("D-USE-02")
async def test_a_client_without_a_model_has_its_clips_all_the_same() -> None:
    async with asyncio.timeout(SECONDS), over_stdio() as server, mcp.Client(server, mode="legacy") as client:
        made = await client.call_tool("make_clip", BASS)
        assert made.structured_content is not None
        assert made.structured_content["vibe"] is None
