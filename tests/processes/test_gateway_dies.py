"""The real gateway, told to end or killed in the middle of calls: no process behind it survives, and the way out is in
order where there is one. Each test prints how long it took."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_wire import Gone, HttpWire, LegacyWire
from tests.support.processes import alive, all_gone, until
from tests.support.real_gateway import Pids, Program, on_pipes, serving, stdio_entry, write_config

LIMIT = 5.0
"""Seconds from the death of the gateway to that of the last of its children."""
ORDERLY = 12.0
"""Half a second of grace for calls, then what a stubborn child takes: 2 s after its input ended, 2 s after SIGTERM."""

STUBBORN = ("--ignore-eof", "--ignore-sigterm", "--grandchildren", "2")
BEHIND = {"polite": 1, "modern": 2, "stubborn": 3, "silent": 3}
"""How many processes each server is."""

PROMPT = ("polite", "modern")

Mode = Callable[[Path, Pids], Any]


@pytest.fixture
def pids(tmp_path: Path) -> Pids:
    return Pids(tmp_path / "pids")


def configured(folder: Path, pids: Pids) -> Path:
    flags = {
        "polite": (),
        "modern": ("--era", "modern", "--grandchildren", "1"),
        "stubborn": STUBBORN,
        "silent": ("--silent-on-unknown", "--grandchildren", "2", "--era", "both"),
    }
    return write_config(folder, {name: stdio_entry(pids, name, *more) for name, more in flags.items()})


@asynccontextmanager
async def busy_http(
    folder: Path, pids: Pids, seconds: float = 60, servers: Iterable[str] = BEHIND, grace: float = 0.5
) -> AsyncIterator[tuple[Program, list[HttpWire]]]:
    """A gateway with a call on its way to each server."""
    async with serving(configured(folder, pids), "--timeout", f"shutdown={grace}", pids=pids) as gateway:
        client = await LegacyWire.arrive(gateway.port, "/mcp")
        wires = []
        for server in servers:
            _, headers, body = client.request("tools/call", slow_on(server, seconds))
            wires.append(HttpWire(gateway.port))
            await wires[-1].send("POST", "/mcp", headers, body)
        await all_busy(pids, servers)
        for wire in wires:
            await asyncio.wait_for(wire.head(), 10)
        yield gateway, wires


@asynccontextmanager
async def busy_pipes(folder: Path, pids: Pids) -> AsyncIterator[tuple[Program, None]]:
    async with on_pipes(configured(folder, pids), pids=pids) as gateway:
        await gateway.greet()
        for number, server in enumerate(BEHIND, 1):
            gateway.say({"id": number, "method": "tools/call", "params": slow_on(server, 60)})
        await all_busy(pids, BEHIND)
        for _ in BEHIND:
            heard = await gateway.hear()
            assert heard is not None
            assert heard["method"] == "notifications/progress"
        yield gateway, None


BUSY: dict[str, Mode] = {"serve": busy_http, "stdio": busy_pipes}


def slow_on(server: str, seconds: float) -> dict[str, Any]:
    asked = {"server": server, "tool": "slow", "arguments": {"seconds": seconds}}
    return {"name": "execute_tool", "arguments": asked, "_meta": {"progressToken": server}}


async def all_busy(pids: Pids, servers: Iterable[str]) -> None:
    def started() -> bool:
        return all(len(pids.of(server)) >= BEHIND[server] for server in servers)

    assert await until(started, 30), {server: pids.of(server) for server in servers}


async def time_until_all_are_gone(pids: Pids, began: float, what: str) -> float:
    everybody = pids.all()
    assert len(everybody) >= sum(BEHIND.values())
    gone = await all_gone(everybody, 30)
    took = time.monotonic() - began
    print(f"{what}: {len(everybody)} processes gone after {took:.2f} s")  # noqa: T201
    assert gone, [pid for pid in everybody if alive(pid)]
    return took


@pytest.mark.parametrize("mode", ["serve", "stdio"])
async def test_killed_in_the_middle_of_calls_it_leaves_nobody(mode: str, tmp_path: Path, pids: Pids) -> None:
    async with BUSY[mode](tmp_path, pids) as (gateway, _):
        began = time.monotonic()
        gateway.process.kill()
        assert await time_until_all_are_gone(pids, began, f"SIGKILL, {mode}") < LIMIT
        assert await gateway.ended(1) == -signal.SIGKILL


@pytest.mark.shows("A-SHD-04")
@pytest.mark.parametrize("mode", ["serve", "stdio"])
async def test_told_to_end_in_the_middle_of_calls_it_goes_in_order(mode: str, tmp_path: Path) -> None:
    """Both signals at the same time, to a gateway each, because most of it is waiting."""
    async with asyncio.TaskGroup() as both:
        for number in (signal.SIGTERM, signal.SIGINT):
            folder = tmp_path / number.name
            folder.mkdir()
            both.create_task(goes_in_order(mode, number, folder, Pids(folder / "pids")))


async def goes_in_order(mode: str, number: signal.Signals, folder: Path, pids: Pids) -> None:
    async with BUSY[mode](folder, pids) as (gateway, _):
        began = time.monotonic()
        gateway.process.send_signal(number)
        code = await gateway.ended(ORDERLY)
        took = await time_until_all_are_gone(pids, began, f"{number.name}, {mode}")
        assert code == 0, "".join(gateway.log)
        assert took < ORDERLY
        assert not {"internal_error", "task_failed_unexpectedly", "task_ignored_cancellation"} & set(gateway.events())
        assert "Traceback" not in "".join(gateway.log)


async def test_a_client_that_closes_its_end_ends_everything(tmp_path: Path, pids: Pids) -> None:
    async with busy_pipes(tmp_path, pids) as (gateway, _):
        began = time.monotonic()
        assert gateway.process.stdin is not None
        gateway.process.stdin.close()
        code = await gateway.ended(ORDERLY)
        await time_until_all_are_gone(pids, began, "stdin closed, stdio")
        assert code == 0
        assert await gateway.hear() is None, "nothing after the end"


async def test_calls_that_end_within_the_grace_are_answered(tmp_path: Path, pids: Pids) -> None:
    async with busy_http(tmp_path, pids, 0.8, PROMPT, grace=5) as (gateway, wires):
        gateway.process.send_signal(signal.SIGTERM)
        for wire in wires:
            events = [event async for event in wire.events()]
            assert events[-1]["result"]["content"][0]["text"] == "done", events
        assert await gateway.ended(ORDERLY) == 0


async def test_calls_that_do_not_end_are_answered_that_we_go_down_or_their_connection_is_closed(
    tmp_path: Path, pids: Pids
) -> None:
    async with busy_http(tmp_path, pids, 60, PROMPT) as (gateway, wires):
        gateway.process.send_signal(signal.SIGTERM)
        for wire in wires:
            try:
                async with asyncio.timeout(ORDERLY):
                    events = [event async for event in wire.events()]
            except Gone:
                continue
            assert "error" in events[-1] or events[-1]["result"].get("isError"), events
        assert await gateway.ended(ORDERLY) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("mode", ["serve", "stdio"])
async def test_ended_while_a_child_is_starting_it_leaves_nobody(
    mode: str, number: signal.Signals, tmp_path: Path, pids: Pids
) -> None:
    entry = stdio_entry(pids, "late", "--slow-start", "60", *STUBBORN)
    config = write_config(tmp_path, {"late": entry})
    asked = {"name": "execute_tool", "arguments": {"server": "late", "tool": "echo", "arguments": {}}}
    async with _waiting(mode, config, asked, pids) as gateway:
        assert await until(lambda: len(pids.of("late")) >= 3, 20)
        began = time.monotonic()
        gateway.process.send_signal(number)
        code = await gateway.ended(ORDERLY)
        gone = await all_gone(pids.all(), LIMIT)
        print(f"{number.name}, {mode}, while starting: gone after {time.monotonic() - began:.2f} s")  # noqa: T201
        assert gone
        assert code == (-number if number == signal.SIGKILL else 0), "".join(gateway.log)


@asynccontextmanager
async def _waiting(mode: str, config: Path, asked: dict[str, Any], pids: Pids) -> AsyncIterator[Program]:
    if mode == "stdio":
        async with on_pipes(config, pids=pids) as gateway:
            await gateway.greet()
            gateway.say({"id": 1, "method": "tools/call", "params": asked})
            yield gateway
        return
    async with serving(config, "--timeout", "shutdown=0.5", pids=pids) as gateway:
        client = await LegacyWire.arrive(gateway.port, "/mcp")
        _, headers, body = client.request("tools/call", asked)
        await client.wire.send("POST", "/mcp", headers, body)
        yield gateway


@pytest.mark.parametrize("mode", ["serve", "stdio"])
async def test_a_signal_to_its_whole_process_group_leaves_nobody(mode: str, tmp_path: Path, pids: Pids) -> None:
    """What a terminal or a supervisor sends."""
    async with BUSY[mode](tmp_path, pids) as (gateway, _):
        began = time.monotonic()
        os.killpg(gateway.pid, signal.SIGKILL)
        assert await time_until_all_are_gone(pids, began, f"SIGKILL to the group, {mode}") < LIMIT


async def test_a_second_signal_does_not_wait_for_calls_and_leaves_nobody(tmp_path: Path, pids: Pids) -> None:
    async with serving(configured(tmp_path, pids), "--timeout", "shutdown=30", pids=pids) as gateway:
        client = await LegacyWire.arrive(gateway.port, "/mcp")
        _, headers, body = client.request("tools/call", slow_on("polite", 60))
        await client.wire.send("POST", "/mcp", headers, body)
        await client.wire.head()
        gateway.process.send_signal(signal.SIGINT)
        assert await until(lambda: "draining" in gateway.events(), 5)
        began = time.monotonic()
        gateway.process.send_signal(signal.SIGINT)
        await gateway.ended(LIMIT)
        assert await all_gone(pids.all(), LIMIT)
        print(f"two SIGINT: all over after {time.monotonic() - began:.2f} s")  # noqa: T201
