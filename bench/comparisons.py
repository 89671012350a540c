"""Calls over several hops, in rounds: each hop has its turn in each round, so that all of them see the same machine.

It prints nothing and judges nothing. The one rule: CPU is read when no call is under way, so what is divided by the
calls is what these calls cost.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.figures import Measured, Sample
from bench.hops import STDIO_BACKEND, SURFACES, Hop, Missing, Street
from bench.load import as_arguments
from bench.processes import ROOT, CannotMeasure, Program, confine
from bench.wire import Errand


@dataclass(slots=True, frozen=True)
class Pace:
    """Rounds, and seconds of each hop's turn. Many short turns compare better than few long ones: what else the machine
    does comes and goes within seconds, and has to strike both sides of a ratio."""

    rounds: int
    seconds: float


class _Generator:
    """The load generator's process, doing one errand over one hop."""

    def __init__(self, hop: Hop, errand: Errand) -> None:
        self.hop = hop
        self.errand = errand
        self.samples: list[Sample] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.load", *as_arguments(errand, hop.place)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def take_turn(self, seconds: float) -> None:
        self._tell("prepare")
        before = self.hop.cpu()
        said = self._tell(f"run {seconds}")
        cpu = self.hop.cpu() - before
        self.hop.program.must_be_running()
        if not said["calls"]:
            raise CannotMeasure(f"{self.hop.name}: no call was answered: {said['complaints']}")
        said["complaints"] = tuple(said["complaints"])
        self.samples.append(Sample(cpu=cpu, **said))

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _tell(self, command: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(command + "\n")
        said: dict[str, Any] = json.loads(self._process.stdout.readline() or '{"failed": "it ended"}')
        if "failed" in said:
            name = f"{self.hop.name} ({self.errand.era}, {self.errand.tool})"
            raise CannotMeasure(f"{name}: {said['failed']}\nits last words:\n{self.hop.program.last_words()}")
        return said


def measure(ways: Iterable[tuple[Hop, Errand]], pace: Pace, ends: Program | None = None) -> list[Measured]:
    """Each hop with its errand, in turns. With the backend as `ends`, hops have a core of their own."""
    generators = [_Generator(hop, errand) for hop, errand in ways]
    try:
        if ends is not None:
            _set_apart(ends, generators)
        for number in range(pace.rounds):
            # Who is first in a round is last in the next: no hop always follows the same one.
            for generator in generators if number % 2 == 0 else reversed(generators):
                generator.take_turn(pace.seconds)
    finally:
        for generator in generators:
            generator.stop()
        if ends is not None:
            confine(ends.pid, os.sched_getaffinity(0))
    return [Measured(g.hop.name, g.errand, tuple(g.samples)) for g in generators]


def _set_apart(ends: Program, generators: Iterable[_Generator]) -> None:
    """Load and backend on one core, what is between them on the others.

    One call after another keeps one process busy at a time. Left to itself the system puts them on one core in one
    second and on two in the next, and whether a crossing wakes another core is most of what is measured then. A hop
    apart is woken each time, as it is on a machine of its own.
    """
    first, *others = sorted(os.sched_getaffinity(0))
    for generator in generators:
        if generator.hop.program is not ends:
            confine(generator.hop.program.pid, others or [first])
        confine(generator.pid, [first])
    confine(ends.pid, [first])


class Comparison:
    """Hops put together for one errand; what is missing is remembered and left out."""

    def __init__(self, street: Street, errand: Errand) -> None:
        self._street = street
        self._errand = errand
        self.ways: list[tuple[Hop, Errand]] = []
        self.missing: list[Missing] = []

    @property
    def _path(self) -> str:
        return f"/{self._errand.era}" + ("-sse" if self._errand.answers == "sse" else "")

    def direct(self) -> Comparison:
        return self._add(self._street.direct(self._path))

    def nginx(self) -> Comparison:
        return self._add(self._street.nginx(self._path))

    def haproxy(self) -> Comparison:
        return self._add(self._street.haproxy(self._path))

    def fastmcp(self) -> Comparison:
        return self._add(self._street.fastmcp(self._errand.era))

    def emceepee(self, surfaces: Sequence[str] = tuple(SURFACES), under: Sequence[str] = ()) -> Comparison:
        """The gateway in front of one server, on some of its surfaces; all of them are one process."""
        street, errand = self._street, self._errand
        stdio = errand.backend == "stdio"
        server = street.stdio_server(errand.era) if stdio else street.http_server(self._path)
        program, port = street.gateway({"bench": server}, under)
        for surface in surfaces:
            hop = Hop(surface, program, replace(SURFACES[surface], port=port), STDIO_BACKEND if stdio else "")
            self._add(hop, replace(errand, via="execute_tool") if surface == "emceepee /mcp" else errand)
        return self

    def also(self, other: Comparison) -> Comparison:
        """Takes turns with these too: for work that differs in one thing."""
        self.ways.extend(other.ways)
        self.missing.extend(other.missing)
        return self

    def measure(self, pace: Pace, apart: bool = False) -> list[Measured]:
        return measure(self.ways, pace, self._street.backend if apart else None)

    def _add(self, hop: Hop | Missing, errand: Errand | None = None) -> Comparison:
        if isinstance(hop, Missing):
            self.missing.append(hop)
        else:
            self.ways.append((hop, errand or self._errand))
        return self
