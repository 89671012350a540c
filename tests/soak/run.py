"""One soak: a gateway in its own process, four kinds of servers behind it, warmed up by a tenth of the same load, then
loaded twice in full, and left alone and counted after each.

The one rule: figures are taken only when nothing goes on any more, before and after alike; what is then more than
before has leaked.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.soak.gateway import EVENT
from tests.soak.load import OWN, Load, Size
from tests.support.http_wire import HttpWire, Json, ask_health
from tests.support.processes import until
from tests.support.real_gateway import Pids, Program, serving, stdio_entry, write_config

GATEWAY = (sys.executable, "-m", "tests.soak.gateway")
HTTP_SERVER = str(Path(__file__).with_name("http_server.py"))
IDLE = 4.0
"""After so many seconds an abandoned session is idle; none in use is ever silent for so long."""
QUIET_SECONDS = 60.0
LONGEST_IDLE = 7.0
"""A kept connection to a server lies idle for four seconds, and is looked after every two."""
AT_REST = ("sessions", "calls", "pending", "cleaning", "listens", "listeners")
"""What has to be nothing at all when nobody is there."""


@dataclass
class Figures:
    """What a process holds. `counts` may not grow at all. `held` may, within bounds: Python objects that can be in
    circles, Python's small blocks, and bytes by malloc. `memory` is what is resident as it lies, before the collector
    was called and freed memory given back; `trimmed` is what is resident after that."""

    counts: dict[str, int]
    memory: int
    trimmed: int = 0
    held: dict[str, int] = field(default_factory=dict)

    def more_than(self, before: Figures) -> dict[str, tuple[int, int]]:
        return {
            name: (before.counts[name], now) for name, now in self.counts.items() if now > before.counts.get(name, 0)
        }


@dataclass
class Report:
    size: Size
    seed: int
    done: dict[str, int]
    seconds: float
    before: Figures
    between: Figures
    after: Figures
    behind: dict[str, Json]
    events: dict[str, int]
    errors: list[str]

    @property
    def grown(self) -> int:
        """By how much resident memory rose over both rounds."""
        return self.after.memory - self.before.memory

    @property
    def still_growing(self) -> int:
        """By how much the second round raised what is resident and in use: the first may fill what is kept for good."""
        return self.after.trimmed - self.between.trimmed

    def more(self, what: str) -> int:
        return self.after.held[what] - self.before.held[what]

    def lines(self) -> list[str]:
        counts = {name: f"{self.before.counts[name]} → {now}" for name, now in sorted(self.after.counts.items())}
        steps = (self.before, self.between, self.after)
        resident = " → ".join(f"{step.memory / 2**20:.1f}" for step in steps)
        trimmed = " → ".join(f"{step.trimmed / 2**20:.1f}" for step in steps)
        return [
            f"seed {self.seed}; {self.size.sessions} sessions, {self.size.calls} calls, {self.size.at_once} at once, "
            "twice, after a tenth of it to warm up",
            f"done in {self.seconds:.1f} s: "
            + ", ".join(f"{name} {count}" for name, count in sorted(self.done.items())),
            f"resident memory: {resident} MiB ({self.grown / 2**20:+.1f})",
            f"of it in use: {trimmed} MiB",
            *(
                f"{what} held: {self.before.held[what]} → {now} ({self.more(what):+d})"
                for what, now in self.after.held.items()
            ),
            *(f"{name}: {count}" for name, count in counts.items()),
            *(f"left at {name}: {left}" for name, left in self.behind.items()),
            f"log events: {self.events}",
            *self.errors[:5],
        ]


async def soak(size: Size, seed: int, folder: Path) -> Report:
    async with AsyncExitStack() as stack:
        ports = {era: await stack.enter_async_context(http_server(era)) for era in ("legacy", "modern")}
        pids = Pids(folder / "pids")
        config = configured(folder, ports, pids)
        gateway = await stack.enter_async_context(serving(config, *options(), pids=pids, command=GATEWAY))
        warm_up = Size(max(1, size.sessions // 10), max(1, size.calls // 10), size.at_once)
        chance = random.Random(seed)  # noqa: S311 -- repeatable, not secret
        warming = Load(gateway.port, warm_up, chance)
        await warming.touch_everything()
        await loaded(warming, gateway, seed)
        before = await held(gateway, pids)
        began = time.monotonic()
        done = Counter(await loaded(Load(gateway.port, size, chance), gateway, seed))
        seconds = time.monotonic() - began
        between = await held(gateway, pids)
        began = time.monotonic()
        done.update(await loaded(Load(gateway.port, size, chance), gateway, seed))
        seconds += time.monotonic() - began
        after = await held(gateway, pids)
        behind = {era: await left_at(port) for era, port in ports.items()}
        events = [event for event in gateway.events() if event not in ROUTINE]
        told = {event: events.count(event) for event in sorted(set(events))}
        rounds = (before, between, after)
        return Report(size, seed, dict(done), seconds, *rounds, behind, told, errors_in(gateway))


async def loaded(load: Load, gateway: Program, seed: int) -> dict[str, int]:
    """The load to its end. What fails is told together with what the gateway said of it."""
    try:
        return await load.run()
    except ExceptionGroup as failed:
        what = f"seed {seed}: {failed.exceptions[0]!r}; the gateway said: {''.join(errors_in(gateway)[-5:])}"
        raise AssertionError(what) from failed


def errors_in(gateway: Program) -> list[str]:
    return [line.strip() for line in gateway.log if '"level":"error"' in line]


ROUTINE = {
    EVENT,
    "config_loaded",
    "server_config_added",
    "listening",
    "session_created",
    "session_destroying",
    "session_destroyed",
    "session_timeout_cleanup",
    "server_connected",
    "server_disconnected",
}


def options() -> list[str]:
    limits = {"session_idle": IDLE, "session_sweep": 0.5, "shutdown": 1}
    return [word for name, value in limits.items() for word in ("--timeout", f"{name}={value}")]


def configured(folder: Path, ports: dict[str, int], pids: Pids) -> Path:
    shared = {"emceepee": {"affinity": "shared"}}
    servers = {f"http-{era}": {"url": f"http://127.0.0.1:{port}/mcp"} for era, port in ports.items()}
    servers["pipe-legacy"] = stdio_entry(pids, "pipe-legacy") | shared
    servers["pipe-modern"] = stdio_entry(pids, "pipe-modern", "--era", "modern")
    servers[OWN] = stdio_entry(pids, OWN)
    return write_config(folder, servers)


@asynccontextmanager
async def http_server(era: str) -> AsyncIterator[int]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, HTTP_SERVER, era, stdout=asyncio.subprocess.PIPE, limit=2**20
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(20):
            port = int(await process.stdout.readline())
        yield port
    finally:
        process.kill()
        await process.wait()


async def left_at(port: int) -> Json:
    wire = HttpWire(port)
    await wire.begin("GET", "/left", {})
    found: Json = json.loads(await wire.body())
    wire.leave()
    return found


async def held(gateway: Program, pids: Pids) -> Figures:
    """What is still there when nothing goes on, and what nobody holds has been given back."""
    resting = await at_rest(gateway, pids)
    told = gateway.events().count(EVENT)
    gateway.process.send_signal(signal.SIGUSR1)
    assert await until(lambda: gateway.events().count(EVENT) > told, 10)
    now = await figures(gateway, pids)
    line = next(line for line in reversed(gateway.log) if EVENT in line)
    now.held = json.loads(line)["data"]
    now.memory, now.trimmed = resting.memory, now.memory
    return now


async def at_rest(gateway: Program, pids: Pids) -> Figures:
    """The figures once they have stopped falling, with nothing going on. What never comes to rest is shown as it is."""
    deadline = time.monotonic() + QUIET_SECONDS
    last, since = await figures(gateway, pids), time.monotonic()
    while time.monotonic() < deadline:
        await asyncio.sleep(0.25)
        now = await figures(gateway, pids)
        if now.counts != last.counts:
            last, since = now, time.monotonic()
        elif not any(now.counts[name] for name in AT_REST) and time.monotonic() - since > LONGEST_IDLE:
            return now
    return await figures(gateway, pids)


async def figures(gateway: Program, pids: Pids) -> Figures:
    health = await ask_health(gateway.port)
    counts = {name: health[name] for name in ("sessions", "connections", "servers")} | health["load"]
    proc = Path(f"/proc/{gateway.pid}")
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    counts["open files"] = len(list((proc / "fd").iterdir()))
    counts["threads"] = int(status["Threads"])
    counts["children"] = len((proc / "task" / str(gateway.pid) / "children").read_text().split())
    return Figures(counts, int(status["VmRSS"].split()[0]) * 1024)
