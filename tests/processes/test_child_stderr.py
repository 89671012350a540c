"""What a stdio server writes to its standard error, as whoever uses it reads it: by `get_logs`, with its source, and
nobody else's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_wire import LegacyWire
from tests.support.real_gateway import serving, stdio_entry, write_config


async def use(client: LegacyWire, tool: str, **arguments: Any) -> Any:
    answer = await client.call("tools/call", {"name": tool, "arguments": arguments})
    return json.loads(answer["result"]["content"][0]["text"])


async def say(client: LegacyWire, server: str, text: str) -> None:
    asked = {"server": server, "tool": "say_on_stderr", "args": {"text": text}}
    await client.call("tools/call", {"name": "execute_tool", "arguments": asked})


async def stderr_of(client: LegacyWire) -> list[str]:
    """Read until it is there: it comes on another pipe than the answer."""
    for _ in range(50):
        logs = (await use(client, "get_logs", source="stderr"))["logs"]
        if logs:
            assert {line["source"] for line in logs} == {"stderr"}
            return [f"{line['server']}: {line['message']}" for line in logs]
    return []


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_line_on_stderr_is_in_the_logs_of_whoever_uses_the_program(era: str, tmp_path: Path) -> None:
    config = write_config(tmp_path, {"loud": stdio_entry(None, "loud", "--era", era)})
    async with serving(config) as gateway:
        mine = await LegacyWire.arrive(gateway.port, "/mcp")
        await say(mine, "loud", "disk is nearly full")
        assert await stderr_of(mine) == ["loud: disk is nearly full"]
        assert await stderr_of(mine) == [], "each once"
        assert any("disk is nearly full" in line and "backend_stderr" in line for line in gateway.log)


async def test_another_sessions_program_is_its_own_business(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"loud": stdio_entry(None, "loud")})
    async with serving(config) as gateway:
        mine, other = [await LegacyWire.arrive(gateway.port, "/mcp") for _ in range(2)]
        await say(other, "loud", "not for everybody")
        assert await stderr_of(other) == ["loud: not for everybody"]
        assert await stderr_of(mine) == []


async def test_why_a_program_cannot_start_is_in_the_logs(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"broken": stdio_entry(None, "broken", "--exit-with", "3")})
    async with serving(config) as gateway:
        client = await LegacyWire.arrive(gateway.port, "/mcp")
        await say(client, "broken", "")
        assert set(await stderr_of(client)) == {"broken: told to exit"}
