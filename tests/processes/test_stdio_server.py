"""The stdio server of the tests against the SDK's client, over our transport: the two must agree before either is used
to judge something else."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import mcp
import pytest

from emceepee.backends.children import Children
from emceepee.backends.definition import StdioLaunch
from emceepee.backends.in_memory import InMemoryTransport
from emceepee.backends.stdio import StdioTransport
from emceepee.protocol.messages import Failure, Result, write_request
from emceepee.runtime.clock import SystemClock
from tests.support.inbox import RecordingInbox
from tests.support.processes import STDIO_SERVER
from tests.support.scripted_backend import Era, ScriptedBackend
from tests.support.sdk_wire import sdk_over

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
PROBE = b'{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}'


@pytest.fixture
async def family() -> AsyncIterator[Children]:
    family = Children(SystemClock())
    yield family
    await family.close()


def transport_to(family: Children, *flags: str) -> StdioTransport:
    return StdioTransport("x", StdioLaunch(sys.executable, (STDIO_SERVER, *flags)), SystemClock(), family)


@pytest.mark.parametrize(
    ("era", "mode", "spoken"),
    [
        ("legacy", "legacy", LEGACY),
        ("legacy", "auto", LEGACY),
        ("modern", "auto", MODERN),
        ("modern", MODERN, MODERN),
        ("both", "legacy", LEGACY),
        ("both", "auto", MODERN),
    ],
)
async def test_the_sdks_client_uses_it_in_each_era(family: Children, era: str, mode: str, spoken: str) -> None:
    told: list[float] = []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        told.append(done)

    transport = transport_to(family, "--era", era)
    async with asyncio.timeout(20), mcp.Client(sdk_over(transport), mode=mode) as client:
        assert client.protocol_version == spoken
        assert "echo" in [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("slow", {"seconds": 0.01}, progress_callback=on_progress)
        assert [block.type for block in result.content] == ["text"]
        assert told == [1]


@pytest.mark.parametrize(("era", "mode"), [("legacy", "legacy"), ("legacy", "auto"), ("modern", "auto")])
async def test_the_sdks_client_uses_the_scripted_backend_in_each_era(era: Era, mode: str) -> None:
    backend = ScriptedBackend(era, {"prompts/list": {"prompts": [{"name": "p"}]}})
    transport = InMemoryTransport("x", backend.connection())
    async with asyncio.timeout(20), mcp.Client(sdk_over(transport), mode=mode) as client:
        assert client.protocol_version == (MODERN if era == "modern" else LEGACY)
        assert [tool.name for tool in (await client.list_tools()).tools] == ["echo"]
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["p"]
        assert (await client.call_tool("echo", {"text": "a"})).content


async def test_it_exits_on_a_probe_when_told_to(family: Children) -> None:
    transport, inbox = transport_to(family, "--exit-on-probe"), RecordingInbox()
    await transport.start(inbox)
    await transport.send(write_request("p", "server/discover", PROBE))
    assert "expected initialize, got server/discover" in (await inbox.fault()).detail
    await transport.close()


async def test_it_keeps_silent_on_what_it_does_not_know_when_told_to(family: Children, tmp_path: Path) -> None:
    wire = tmp_path / "wire"
    transport, inbox = transport_to(family, "--silent-on-unknown", "--wire", str(wire)), RecordingInbox()
    await transport.start(inbox)
    await transport.send(write_request("p", "server/discover", PROBE))
    await transport.send(write_request("q", "ping", None))
    answer = await inbox.next()
    assert isinstance(answer, Result)
    assert answer.id == "q"
    assert "server/discover" in wire.read_text()
    await transport.close()


async def test_a_modern_one_refuses_the_handshake_naming_what_it_speaks(family: Children) -> None:
    transport, inbox = transport_to(family, "--era", "modern"), RecordingInbox()
    await transport.start(inbox)
    await transport.send(write_request("i", "initialize", b"{}"))
    answer = await inbox.next()
    assert isinstance(answer, Failure)
    assert answer.error.code == -32022
    await transport.close()
