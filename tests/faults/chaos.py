"""Chaos in real time: the real gateway, real servers, and somebody who kills, freezes and starts them at random under
the load of 32 clients.

    python -m tests.faults.chaos [--seconds N] [--clients N] [--seed N]

Each call has a key, which its server writes into a ledger before it does anything. At the end: each call had an answer
within its deadline; no key stands twice in the ledgers; one that was said not to have been reached stands nowhere; the
gateway holds no more than before; and when it has ended, no process that it started is left.

The one rule: what is expected is checked against what the servers wrote down, not against what the gateway says.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.conversations.meta_client import read_told
from tests.faults.backends import HttpProcess
from tests.faults.cell import outcome_of, outcome_of_told
from tests.soak.run import GATEWAY, Figures, held
from tests.support.http_wire import Json, LegacyWire, ModernWire
from tests.support.processes import alive, all_gone
from tests.support.real_gateway import Pids, Program, serving, write_config

PIPE_PROGRAM = str(Path(__file__).with_name("pipe_server.py"))
HTTP = {"http-legacy": "legacy", "http-modern": "modern", "http-sse": "sse"}
PIPES = {"pipe-shared": "shared", "pipe-own": "workspace"}
SERVERS = (*HTTP, *PIPES)
CALL_SECONDS = 6.0
DEADLINE = 25.0
"""Of a call as its client counts: it may be made a second time, and connects before each."""
ENDINGS = {"ok", "unknown", "unavailable", "timeout", "task", "violation"}
ROUNDS = 3
GROWTH = {"objects": 500, "blocks": 5_000, "malloc": 2 * 2**20}
"""By how much what is held after the last round may exceed what was held after the first, which fills what is kept for
good: lists, and logs of workspaces that all sessions of a principal share."""
MAY_STAY = {"open files": 8, "threads": 8}
"""Of the loop and its helpers."""


@dataclass
class Report:
    seed: int
    seconds: float
    endings: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    longest: float = 0.0
    steps: list[Figures] = field(default_factory=list)
    """What the gateway held before the chaos, and after each round of it."""

    def lines(self) -> list[str]:
        first, last = self.steps[0], self.steps[-1]
        counts = {name: f"{first.counts[name]} → {now}" for name, now in sorted(last.counts.items())}
        memory = " → ".join(f"{step.trimmed / 2**20:.1f}" for step in self.steps)
        held = {name: " → ".join(str(step.held[name]) for step in self.steps) for name in first.held}
        return [
            f"seed {self.seed}; {self.seconds:.0f} s",
            f"calls: {self.endings.total()}: {dict(sorted(self.endings.items()))}; the longest {self.longest:.1f} s",
            f"to servers: {dict(sorted(self.kills.items()))}",
            f"memory in use: {memory} MiB",
            *(f"{name} held: {numbers}" for name, numbers in held.items()),
            f"{counts}",
            *(f"WRONG: {what}" for what in self.wrong[:20]),
        ]


class Pipes:
    """The children of one stdio server, as they wrote themselves down."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def pids(self) -> list[int]:
        file = self.folder / "pids"
        return [int(line) for line in file.read_text().split()] if file.exists() else []


class Chaos:
    def __init__(self, seed: int, seconds: float, clients: int, folder: Path, rounds: int = ROUNDS) -> None:
        self.rounds = rounds
        self.report = Report(seed, seconds)
        self.chance = random.Random(seed)  # noqa: S311 -- repeatable, not secret
        self.clients = clients
        self.folder = folder
        self.over = asyncio.Event()
        self.keys = 0
        self.told: dict[str, str] = {}
        self.http: dict[str, HttpProcess] = {}
        self.pipes: dict[str, Pipes] = {}

    async def run(self) -> Report:
        async with AsyncExitStack() as stack:
            config = await self._servers(stack)
            limits = {"relay_call": CALL_SECONDS, "execute": CALL_SECONDS, "task": 10, "session_idle": 8, "shutdown": 1}
            options = [word for name, value in limits.items() for word in ("--timeout", f"{name}={value}")]
            gateway = await stack.enter_async_context(serving(config, *options, command=GATEWAY))
            nobody = Pids(self.folder / "nobody")
            await self._load(gateway, 1.0)
            await self._all_answer(gateway)
            self.report.steps.append(await held(gateway, nobody))
            for _ in range(self.rounds):
                self.over.clear()
                async with self._monkeys():
                    await self._load(gateway, self.report.seconds / self.rounds)
                await self._all_answer(gateway)
                self.report.steps.append(await held(gateway, nobody))
            self._no_growth()
            gateway.process.send_signal(signal.SIGTERM)
            await gateway.ended(20)
            await self._nobody_left()
            self._ledgers()
            self._log(gateway)
        return self.report

    async def _servers(self, stack: AsyncExitStack) -> Path:
        entries: dict[str, Json] = {}
        for name, kind in HTTP.items():
            folder = self.folder / name
            folder.mkdir()
            server = self.http[name] = HttpProcess(kind, folder)
            launch = await server.start()
            stack.push_async_callback(server.close)
            entries[name] = {"url": getattr(launch, "url", ""), "type": "sse" if kind == "sse" else "http"}
        for name, affinity in PIPES.items():
            pipes = self.pipes[name] = Pipes(self.folder / name)
            command = {"command": sys.executable, "args": ["-I", "-S", PIPE_PROGRAM, str(pipes.folder)]}
            entries[name] = command | {"emceepee": {"affinity": affinity}}
        return write_config(self.folder, entries)

    # -- clients

    async def _load(self, gateway: Program, seconds: float) -> None:
        end = time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            for number in range(self.clients):
                group.create_task(self._client(gateway.port, number, end))
        self.over.set()

    async def _client(self, port: int, number: int, end: float) -> None:
        while time.monotonic() < end:
            server = self.chance.choice(SERVERS)
            meta = number % 3 == 0
            path = "/mcp" if meta else f"/servers/{server}/mcp"
            client = ModernWire(port, path) if number % 3 == 1 else await LegacyWire.arrive(port, path)
            for _ in range(self.chance.randint(1, 8)):
                if time.monotonic() < end:
                    await self._call(client, self.chance.choice(SERVERS) if meta else server, meta)
            if isinstance(client, LegacyWire):
                await client.end()
            client.wire.leave()

    async def _call(self, client: LegacyWire | ModernWire, server: str, meta: bool) -> None:
        self.keys += 1
        key = f"{server}-{self.keys}"
        arguments = {"key": key, "seconds": self.chance.choice((0.0, 0.0, 0.05, 0.3))}
        asked: Json = {"name": "slow", "arguments": arguments}
        if meta:
            asked = {"name": "execute_tool", "arguments": {"server": server, "tool": "slow", "args": arguments}}
        began = time.monotonic()
        try:
            async with asyncio.timeout(DEADLINE):
                response = await client.call("tools/call", asked)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is no answer
            self.report.wrong.append(f"{key}: no answer: {error!r}")
            client.wire.leave()
            return
        self.report.longest = max(self.report.longest, time.monotonic() - began)
        ending = outcome_of_told(read_told(response)) if meta and "result" in response else outcome_of(response)
        self.report.endings[ending] += 1
        self.told[key] = ending
        if ending not in ENDINGS:
            self.report.wrong.append(f"{key}: {response}")
        if ending == "ok" and key not in str(response):
            self.report.wrong.append(f"{key} was answered what was another's: {response}")

    # -- trouble

    @asynccontextmanager
    async def _monkeys(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self._trouble(name)) for name in SERVERS]
        try:
            yield
        finally:
            self.over.set()
            await asyncio.gather(*tasks)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.over.wait()

    async def _trouble(self, name: str) -> None:
        while not self.over.is_set():
            await self._pause(self.chance.uniform(0.5, 6.0))
            if self.over.is_set():
                return
            fault = self.chance.choice(("SIGKILL", "SIGKILL", "SIGSTOP"))
            self.report.kills[f"{name} {fault}"] += 1
            if name in self.http:
                await self.http[name].break_(fault)
                await self._pause(self.chance.uniform(0.0, 3.0))
                await self.http[name].heal()
            else:
                await self._trouble_a_child(self.pipes[name], fault)

    async def _trouble_a_child(self, pipes: Pipes, fault: str) -> None:
        living = [pid for pid in pipes.pids() if alive(pid)]
        if not living:
            return
        pid = self.chance.choice(living)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, getattr(signal, fault))
        if fault == "SIGSTOP":
            await self._pause(self.chance.uniform(0.0, 3.0))
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    # -- afterwards

    async def _all_answer(self, gateway: Program) -> None:
        """To a session that ends, and to modern clients, whose connections are kept for all of them."""
        for name in SERVERS:
            path = f"/servers/{name}/mcp"
            await self._answers(name, ModernWire(gateway.port, path))
            client = await LegacyWire.arrive(gateway.port, path)
            await self._answers(name, client)
            await client.end()

    async def _answers(self, name: str, client: LegacyWire | ModernWire) -> None:
        began, ending = time.monotonic(), ""
        while ending != "ok" and time.monotonic() - began < DEADLINE:
            asked = {"name": "slow", "arguments": {"key": f"last-{name}-{time.monotonic()}", "seconds": 0}}
            ending = outcome_of(await client.call("tools/call", asked))
        if ending != "ok":
            self.report.wrong.append(f"{name} did not come back: {ending}")
        if isinstance(client, ModernWire):
            client.wire.leave()

    def _no_growth(self) -> None:
        before, settled, after = self.report.steps[0], self.report.steps[1], self.report.steps[-1]
        for name, (was, now) in after.more_than(before).items():
            # Shared connections are kept; what each needs is the same before and after.
            if now - was > MAY_STAY.get(name, 0):
                self.report.wrong.append(f"{name}: {was} before, {now} after")
        for name, bound in GROWTH.items():
            if after.held[name] - settled.held[name] > bound:
                self.report.wrong.append(f"{name} held: {settled.held[name]} after a round, {after.held[name]} at last")

    async def _nobody_left(self) -> None:
        pids = [pid for pipes in self.pipes.values() for pid in pipes.pids()]
        if not await all_gone(pids, 5):
            self.report.wrong.append(f"orphans: {[pid for pid in pids if alive(pid)]}")

    def _ledgers(self) -> None:
        ledger: Counter[str] = Counter()
        for server in self.http.values():
            ledger += server.taken()
        for pipes in self.pipes.values():
            file = pipes.folder / "ledger"
            ledger.update(file.read_text().split() if file.exists() else ())
        self.report.wrong += [f"{key} ran {times} times" for key, times in ledger.items() if times > 1]
        for key, ending in self.told.items():
            if ending == "ok" and ledger[key] != 1:
                self.report.wrong.append(f"{key} was answered and ran {ledger[key]} times")
            if ending == "unavailable" and ledger[key]:
                self.report.wrong.append(f"{key} was said not to have been reached, and ran")

    def _log(self, gateway: Program) -> None:
        bad = {"internal_error", "task_failed_unexpectedly", "task_ignored_cancellation"} & set(gateway.events())
        if bad or "Traceback" in "".join(gateway.log):
            said = [line for line in gateway.log if any(event in line for event in (*bad, "Traceback"))]
            self.report.wrong.append(f"the gateway logged {sorted(bad)}: {''.join(said[:3])}")


async def chaos(seed: int, seconds: float, clients: int, folder: Path, rounds: int = ROUNDS) -> Report:
    return await Chaos(seed, seconds, clients, folder, rounds).run()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.chaos")
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seed", type=int, help="default: another one each time")
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.seed is None else options.seed  # noqa: S311 -- repeatable, not secret
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(chaos(seed, options.seconds, options.clients, Path(folder)))
    sys.stdout.write("\n".join(report.lines()) + "\n")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
